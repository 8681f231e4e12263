/* What the library does with a DynamoDB, through its header alone. The same program runs against a
 * server, the engine in this process, and other implementations: operations URL [local]. `local`:
 * the other side is DynamoDB Local, which has no tags and fails on broken JSON. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <gramme/gramme.h>

static struct gramme_db *db;
static char table[64]; /* pk (S), sk (N), and an index on owner (S), sk */
static bool is_local;

/* The error of a call that should have gone well. */
static void require_ok(const struct gramme_error *error)
{
    if (error != NULL) {
        fail_msg("%s: %s", gramme_error_code(error), gramme_error_message(error));
    }
}

static void run(struct gramme_request *request)
{
    struct gramme_error *error = NULL;
    gramme_run(db, request, &error);
    require_ok(error);
    gramme_request_destroy(request);
}

static struct gramme_answer *ask(struct gramme_request *request)
{
    struct gramme_error *error = NULL;
    struct gramme_answer *answer = gramme_send(db, request, &error);
    require_ok(error);
    gramme_request_destroy(request);
    return answer;
}

/* The error that the request must fail with; the caller destroys it. */
static struct gramme_error *refuse(struct gramme_request *request, const char *code)
{
    struct gramme_error *error = NULL;
    assert_false(gramme_run(db, request, &error));
    assert_string_equal(gramme_error_code(error), code);
    gramme_request_destroy(request);
    return error;
}

static void set_key(struct gramme_value *map, const char *pk, int sk)
{
    gramme_set_string(map, "pk", pk);
    gramme_set_int(map, "sk", sk);
}

static void put(const char *pk, int sk, const char *owner)
{
    struct gramme_request *request = gramme_request_create("PutItem", table);
    set_key(gramme_request_item(request), pk, sk);
    gramme_set_string(gramme_request_item(request), "owner", owner);
    run(request);
}

static struct gramme_request *query(const char *pk)
{
    struct gramme_request *request = gramme_request_create("Query", table);
    gramme_request_key_condition(request, "pk = :pk");
    gramme_set_string(gramme_request_values(request), ":pk", pk);
    return request;
}

static struct gramme_answer *get(const char *pk, int sk)
{
    struct gramme_request *request = gramme_request_create("GetItem", table);
    set_key(gramme_request_key(request), pk, sk);
    gramme_request_consistent(request);
    return ask(request);
}

static bool exists(const char *pk, int sk)
{
    struct gramme_answer *answer = get(pk, sk);
    bool there = gramme_answer_item(answer) != NULL;
    gramme_answer_destroy(answer);
    return there;
}

/* --- tables and raw calls --- */

static void test_tables(void **state)
{
    (void)state;
    struct gramme_error *error = NULL;
    struct gramme_answer *answer = ask(gramme_request_create("DescribeTable", table));
    const struct gramme_value *description = gramme_get(gramme_answer_root(answer), "Table");
    assert_string_equal(gramme_get_string(description, "TableStatus"), "ACTIVE");
    const struct gramme_value *keys = gramme_get(description, "KeySchema");
    assert_int_equal(gramme_value_count(keys), 2);
    assert_string_equal(gramme_get_string(gramme_value_at(keys, 1), "AttributeName"), "sk");
    gramme_answer_destroy(answer);
    assert_false(gramme_wait_table(db, "gramme-no-such-table", 50, &error));
    assert_true(gramme_error_is(error, GRAMME_TIMED_OUT));
    gramme_error_destroy(error);
}

/* Tags are changed with empty answers. */
static void test_tags(void **state)
{
    (void)state;
    if (is_local) {
        return;
    }
    char json[512];
    struct gramme_error *error = NULL;
    struct gramme_answer *answer = ask(gramme_request_create("DescribeTable", table));
    const char *arn =
        gramme_get_string(gramme_get(gramme_answer_root(answer), "Table"), "TableArn");
    snprintf(json, sizeof(json),
             "{\"ResourceArn\":\"%s\",\"Tags\":[{\"Key\":\"k\",\"Value\":\"v\"}]}", arn);
    struct gramme_answer *tagged = gramme_call(db, "TagResource", json, strlen(json), &error);
    require_ok(error);
    assert_int_equal(gramme_value_count(gramme_answer_root(tagged)), 0);
    gramme_answer_destroy(tagged);
    snprintf(json, sizeof(json), "{\"ResourceArn\":\"%s\",\"TagKeys\":[\"k\"]}", arn);
    gramme_answer_destroy(gramme_call(db, "UntagResource", json, strlen(json), &error));
    require_ok(error);
    gramme_answer_destroy(answer);
}

static void test_raw_call(void **state)
{
    (void)state;
    char json[256];
    struct gramme_error *error = NULL;
    snprintf(json, sizeof(json),
             "{\"TableName\":\"%s\",\"Item\":{\"pk\":{\"S\":\"raw\"},\"sk\":{\"N\":\"1\"},"
             "\"text\":{\"S\":\"a \\\"quoted\\\" one\"}}}",
             table);
    struct gramme_answer *answer = gramme_call(db, "PutItem", json, strlen(json), &error);
    require_ok(error);
    size_t len = 99;
    assert_string_equal(gramme_answer_json(answer, &len), "{}");
    assert_int_equal(len, 2);
    gramme_answer_destroy(answer);
    answer = get("raw", 1);
    assert_string_equal(gramme_get_string(gramme_answer_item(answer), "text"), "a \"quoted\" one");
    gramme_answer_destroy(answer);
    answer = gramme_call(db, "ListTables", "{}", 2, NULL);
    bool found = false;
    const struct gramme_value *names = gramme_get(gramme_answer_root(answer), "TableNames");
    for (size_t i = 0; i < gramme_value_count(names); i++) {
        found = found || strcmp(gramme_value_string(gramme_value_at(names, i)), table) == 0;
    }
    assert_true(found);
    gramme_answer_destroy(answer);
}

/* --- items --- */

static void test_every_type_comes_back(void **state)
{
    (void)state;
    struct gramme_request *request = gramme_request_create("PutItem", table);
    struct gramme_value *item = gramme_request_item(request);
    set_key(item, "types", 1);
    gramme_set_string(item, "string", "caf\xc3\xa9 \"x\" \\ \n\t\x01");
    gramme_set_string(item, "empty", "");
    gramme_set_int(item, "int", INT64_MAX);
    gramme_set_double(item, "double", -0.1);
    gramme_set_number(item, "number", "123456789012345678901234567890.12345678");
    gramme_set_bool(item, "bool", true);
    gramme_set_null(item, "null");
    gramme_set_binary(item, "binary", "\0\xff\x80", 3);
    struct gramme_value *strings = gramme_set_string_set(item, "strings");
    gramme_add_string(strings, "b");
    gramme_add_string(strings, "a");
    struct gramme_value *numbers = gramme_set_number_set(item, "numbers");
    gramme_add_int(numbers, 3);
    gramme_add_number(numbers, "1.5");
    gramme_add_binary(gramme_set_binary_set(item, "binaries"), "x", 1);
    struct gramme_value *list = gramme_set_list(item, "list");
    gramme_add_int(list, 1);
    gramme_set_string(gramme_add_map(list), "deep", "yes");
    gramme_add_null(gramme_add_list(list));
    gramme_set_list(gramme_set_map(item, "map"), "empty list");
    struct gramme_value *sent = gramme_value_copy(item);
    run(request);

    struct gramme_answer *answer = get("types", 1);
    const struct gramme_value *got = gramme_answer_item(answer);
    assert_true(gramme_value_equal(got, sent));
    assert_int_equal(gramme_get_int(got, "int", 0), INT64_MAX);
    assert_true(gramme_get_double(got, "double", 0) == -0.1);
    assert_string_equal(gramme_get_string(gramme_value_at(gramme_get(got, "list"), 1), "deep"),
                        "yes");
    size_t len;
    assert_memory_equal(gramme_get_binary(got, "binary", &len), "\0\xff\x80", 3);
    gramme_answer_destroy(answer);
    gramme_value_destroy(sent);
}

/* An item that was read can be changed and put back. */
static void test_read_change_put(void **state)
{
    (void)state;
    put("change", 1, "ann");
    struct gramme_answer *answer = get("change", 1);
    struct gramme_value *item = gramme_value_copy(gramme_answer_item(answer));
    gramme_answer_destroy(answer);
    gramme_set_string(item, "owner", "bob");
    gramme_set_int(item, "version", 2);
    struct gramme_request *request = gramme_request_create("PutItem", table);
    gramme_request_set_item(request, item);
    run(request);
    answer = get("change", 1);
    assert_true(gramme_value_equal(gramme_answer_item(answer), item));
    gramme_answer_destroy(answer);
    gramme_value_destroy(item);
}

static void test_update_and_delete(void **state)
{
    (void)state;
    put("update", 1, "ann");
    struct gramme_request *update = gramme_request_create("UpdateItem", table);
    set_key(gramme_request_key(update), "update", 1);
    gramme_request_update(update, "SET #o = :o ADD version :one");
    gramme_request_condition(update, "#o = :old");
    gramme_request_name(update, "#o", "owner");
    gramme_set_string(gramme_request_values(update), ":o", "bob");
    gramme_set_string(gramme_request_values(update), ":old", "ann");
    gramme_set_int(gramme_request_values(update), ":one", 1);
    gramme_request_return(update, "ALL_NEW");
    struct gramme_answer *answer = ask(update);
    assert_string_equal(gramme_get_string(gramme_answer_attributes(answer), "owner"), "bob");
    assert_int_equal(gramme_get_int(gramme_answer_attributes(answer), "version", 0), 1);
    gramme_answer_destroy(answer);

    struct gramme_request *delete = gramme_request_create("DeleteItem", table);
    set_key(gramme_request_key(delete), "update", 1);
    gramme_request_return(delete, "ALL_OLD");
    answer = ask(delete);
    assert_string_equal(gramme_get_string(gramme_answer_attributes(answer), "owner"), "bob");
    gramme_answer_destroy(answer);
    answer = get("update", 1);
    assert_null(gramme_answer_item(answer));
    gramme_answer_destroy(answer);
}

/* --- errors --- */

static void test_failed_condition(void **state)
{
    (void)state;
    put("condition", 1, "ann");
    struct gramme_request *request = gramme_request_create("PutItem", table);
    set_key(gramme_request_item(request), "condition", 1);
    gramme_request_condition(request, "attribute_not_exists(pk)");
    gramme_request_return_on_failure(request);
    struct gramme_error *error = refuse(request, GRAMME_CONDITION_FAILED);
    assert_int_equal(gramme_error_status(error), 400);
    assert_false(gramme_error_retryable(error));
    assert_int_equal(gramme_error_attempts(error), 1);
    assert_string_equal(gramme_error_message(error), "The conditional request failed");
    assert_string_equal(gramme_get_string(gramme_error_item(error), "owner"), "ann");
    gramme_error_destroy(error);
}

static void test_errors(void **state)
{
    (void)state;
    gramme_error_destroy(
        refuse(gramme_request_create("DescribeTable", "gramme-no-such-table"), GRAMME_NOT_FOUND));
    struct gramme_request *bad = gramme_request_create("GetItem", table);
    gramme_set_string(gramme_request_key(bad), "pk", "only half of it");
    struct gramme_error *error = refuse(bad, GRAMME_VALIDATION);
    assert_true(strlen(gramme_error_message(error)) > 0);

    /* One variable serves for many calls: a good one leaves it empty. */
    struct gramme_request *list = gramme_request_create("ListTables", NULL);
    assert_true(gramme_run(db, list, &error));
    assert_null(error);
    gramme_request_destroy(list);

    assert_null(gramme_call(db, "NoSuchOperation", "{}", 2, &error));
    assert_int_equal(gramme_error_status(error), 400);
    assert_null(gramme_call(db, "List\r\nTables: x", "{}", 2, &error));
    assert_true(gramme_error_is(error, GRAMME_BAD_REQUEST));
    assert_null(gramme_call(db, "ListTables", "{", 1, &error));
    if (!is_local) {
        assert_string_equal(gramme_error_code(error), "SerializationException");
    }
    gramme_error_destroy(error);
}

static void test_mistakes_in_building(void **state)
{
    (void)state;
    struct gramme_request *request = gramme_request_create("PutItem", table);
    set_key(gramme_request_item(request), "mistake", 1);
    gramme_set_string(gramme_request_item(request), "name", NULL);
    struct gramme_error *error = refuse(request, GRAMME_BAD_REQUEST);
    assert_string_equal(gramme_error_message(error), "PutItem: a string is NULL");
    assert_int_equal(gramme_error_status(error), 0);
    gramme_error_destroy(error);
    assert_false(exists("mistake", 1));
}

/* 17 MB: no DynamoDB takes that much at once. */
static void test_request_that_is_too_large(void **state)
{
    (void)state;
    size_t len = 17 * 1024 * 1024;
    char *text = malloc(len);
    memset(text, 'x', len);
    struct gramme_request *request = gramme_request_create("PutItem", table);
    set_key(gramme_request_item(request), "large", 1);
    gramme_set_text(gramme_request_item(request), "text", text, len);
    free(text);
    struct gramme_error *error = NULL;
    assert_false(gramme_run(db, request, &error));
    assert_string_not_equal(gramme_error_message(error), "");
    gramme_error_destroy(error);
    gramme_request_destroy(request);
    assert_false(exists("large", 1));
}

/* --- pages --- */

static void test_pages(void **state)
{
    (void)state;
    struct gramme_request *batch = gramme_request_create("BatchWriteItem", NULL);
    for (int i = 0; i < 60; i++) {
        struct gramme_value *item = gramme_batch_put(batch, table);
        set_key(item, "pages", i);
        gramme_set_string(item, "owner", i % 2 == 0 ? "even" : "odd");
    }
    struct gramme_error *error = NULL;
    gramme_batch_write(db, batch, &error);
    require_ok(error);
    gramme_request_destroy(batch);

    struct gramme_request *request = query("pages");
    gramme_request_limit(request, 7);
    struct gramme_items *items = gramme_items_open(db, request);
    gramme_request_destroy(request);
    assert_null(gramme_items_page(items));
    int next = 0;
    const struct gramme_value *item;
    while ((item = gramme_items_next(items, &error)) != NULL) {
        assert_int_equal(gramme_get_int(item, "sk", -1), next++);
    }
    require_ok(error);
    assert_int_equal(next, 60);
    assert_null(gramme_items_next(items, &error)); /* the end stays the end */
    assert_int_equal(gramme_get_int(gramme_answer_root(gramme_items_page(items)), "Count", -1),
                     60 % 7);
    gramme_items_close(items);

    /* Pages on which the filter leaves nothing are passed over. */
    request = query("pages");
    gramme_request_limit(request, 1);
    gramme_request_filter(request, "#o = :o");
    gramme_request_name(request, "#o", "owner");
    gramme_set_string(gramme_request_values(request), ":o", "odd");
    items = gramme_items_open(db, request);
    gramme_request_destroy(request);
    for (next = 0; (item = gramme_items_next(items, &error)) != NULL; next++) {
        assert_int_equal(gramme_get_int(item, "sk", -1), 2 * next + 1);
    }
    require_ok(error);
    assert_int_equal(next, 30);
    gramme_items_close(items);
}

static void test_scan_and_errors_of_pages(void **state)
{
    (void)state;
    put("scan", 1, "scanned");
    struct gramme_error *error = NULL;
    struct gramme_request *scan = gramme_request_create("Scan", table);
    gramme_request_filter(scan, "#o = :o");
    gramme_request_name(scan, "#o", "owner");
    gramme_set_string(gramme_request_values(scan), ":o", "scanned");
    struct gramme_items *items = gramme_items_open(db, scan);
    assert_non_null(gramme_items_next(items, &error));
    assert_null(gramme_items_next(items, &error));
    require_ok(error);
    gramme_items_close(items);
    gramme_request_destroy(scan);

    scan = gramme_request_create("Scan", "gramme-no-such-table");
    items = gramme_items_open(db, scan);
    assert_null(gramme_items_next(items, &error));
    assert_true(gramme_error_is(error, GRAMME_NOT_FOUND));
    gramme_items_close(items);
    gramme_request_destroy(scan);

    struct gramme_request *get_request = gramme_request_create("GetItem", table);
    items = gramme_items_open(db, get_request);
    assert_null(gramme_items_next(items, &error));
    assert_true(gramme_error_is(error, GRAMME_BAD_REQUEST));
    gramme_items_close(items);
    gramme_request_destroy(get_request);
    gramme_error_destroy(error);
}

/* Newest first on an index, one page at a time, as a web page would. */
static void test_cursor(void **state)
{
    (void)state;
    for (int i = 0; i < 5; i++) {
        char pk[16];
        snprintf(pk, sizeof(pk), "cursor %d", i);
        put(pk, i, "cursors");
    }
    char *cursor = NULL;
    int expected = 4;
    int pages = 0;
    do {
        struct gramme_request *request = gramme_request_create("Query", table);
        gramme_request_index(request, "byOwner");
        gramme_request_key_condition(request, "#o = :o");
        gramme_request_name(request, "#o", "owner");
        gramme_set_string(gramme_request_values(request), ":o", "cursors");
        gramme_request_descending(request);
        gramme_request_limit(request, 2);
        if (cursor != NULL) {
            assert_true(gramme_request_cursor(request, cursor));
            gramme_free(cursor);
        }
        struct gramme_answer *answer = ask(request);
        const struct gramme_value *items = gramme_answer_items(answer);
        for (size_t i = 0; i < gramme_value_count(items); i++) {
            assert_int_equal(gramme_get_int(gramme_value_at(items, i), "sk", -1), expected--);
        }
        cursor = gramme_answer_cursor(answer);
        gramme_answer_destroy(answer);
        pages++;
    } while (cursor != NULL);
    assert_int_equal(expected, -1);
    assert_int_equal(pages, 3);
}

/* --- batches --- */

static void test_batches(void **state)
{
    (void)state;
    struct gramme_error *error = NULL;
    struct gramme_request *write = gramme_request_create("BatchWriteItem", NULL);
    struct gramme_request *read = gramme_request_create("BatchGetItem", NULL);
    for (int i = 0; i < 230; i++) {
        set_key(gramme_batch_put(write, table), "batch", i);
        set_key(gramme_batch_get(read, table), "batch", i);
    }
    set_key(gramme_batch_get(read, table), "batch", 9999); /* is not there */
    gramme_set_bool(gramme_batch_table(read, table), "ConsistentRead", true);
    gramme_set_string(gramme_batch_table(read, table), "ProjectionExpression", "sk");
    gramme_batch_write(db, write, &error);
    require_ok(error);
    struct gramme_answer *answer = gramme_batch_read(db, read, &error);
    require_ok(error);
    const struct gramme_value *items = gramme_answer_table_items(answer, table);
    assert_int_equal(gramme_value_count(items), 230);
    int64_t sum = 0;
    for (size_t i = 0; i < 230; i++) {
        assert_int_equal(gramme_value_count(gramme_value_at(items, i)), 1);
        sum += gramme_get_int(gramme_value_at(items, i), "sk", -1);
    }
    assert_int_equal(sum, 229 * 230 / 2);
    assert_null(gramme_answer_table_items(answer, "another"));
    assert_non_null(strstr(gramme_answer_json(answer, NULL), "\"Responses\""));
    gramme_answer_destroy(answer);
    gramme_request_destroy(write);

    write = gramme_request_create("BatchWriteItem", NULL);
    for (int i = 0; i < 230; i++) {
        set_key(gramme_batch_delete(write, table), "batch", i);
    }
    gramme_batch_write(db, write, &error);
    require_ok(error);
    answer = gramme_batch_read(db, read, &error);
    require_ok(error);
    assert_int_equal(gramme_value_count(gramme_answer_table_items(answer, table)), 0);
    gramme_answer_destroy(answer);
    gramme_request_destroy(write);
    gramme_request_destroy(read);
}

static void test_refused_batches(void **state)
{
    (void)state;
    struct gramme_error *error = NULL;
    struct gramme_request *write = gramme_request_create("BatchWriteItem", NULL);
    set_key(gramme_batch_put(write, "gramme-no-such-table"), "x", 1);
    assert_false(gramme_batch_write(db, write, &error));
    assert_true(gramme_error_is(error, GRAMME_NOT_FOUND));
    assert_null(gramme_batch_read(db, write, &error));
    assert_true(gramme_error_is(error, GRAMME_BAD_REQUEST));
    gramme_error_destroy(error);
    gramme_request_destroy(write);
}

/* --- transactions --- */

static void test_transaction(void **state)
{
    (void)state;
    put("tx", 1, "ann");
    put("tx", 2, "bob");
    put("tx", 3, "carl");
    struct gramme_request *all = gramme_request_create("TransactWriteItems", NULL);
    struct gramme_request *put_part = gramme_transact_put(all, table);
    set_key(gramme_request_item(put_part), "tx", 4);
    gramme_request_condition(put_part, "attribute_not_exists(pk)");
    struct gramme_request *update = gramme_transact_update(all, table);
    set_key(gramme_request_key(update), "tx", 1);
    gramme_request_update(update, "SET #o = :o");
    gramme_request_name(update, "#o", "owner");
    gramme_set_string(gramme_request_values(update), ":o", "dora");
    set_key(gramme_request_key(gramme_transact_delete(all, table)), "tx", 2);
    struct gramme_request *checked = gramme_transact_check(all, table);
    set_key(gramme_request_key(checked), "tx", 3);
    gramme_request_condition(checked, "attribute_exists(pk)");
    run(all);

    struct gramme_request *read = gramme_request_create("TransactGetItems", NULL);
    for (int i = 1; i <= 4; i++) {
        set_key(gramme_request_key(gramme_transact_get(read, table)), "tx", i);
    }
    struct gramme_answer *answer = ask(read);
    assert_string_equal(gramme_get_string(gramme_answer_response(answer, 0), "owner"), "dora");
    assert_null(gramme_answer_response(answer, 1));
    assert_string_equal(gramme_get_string(gramme_answer_response(answer, 2), "owner"), "carl");
    assert_int_equal(gramme_get_int(gramme_answer_response(answer, 3), "sk", 0), 4);
    assert_null(gramme_answer_response(answer, 4));
    gramme_answer_destroy(answer);
}

static void test_canceled_transaction(void **state)
{
    (void)state;
    put("canceled", 1, "ann");
    struct gramme_request *all = gramme_request_create("TransactWriteItems", NULL);
    set_key(gramme_request_item(gramme_transact_put(all, table)), "canceled", 2);
    struct gramme_request *put_part = gramme_transact_put(all, table);
    set_key(gramme_request_item(put_part), "canceled", 1);
    gramme_request_condition(put_part, "attribute_not_exists(pk)");
    gramme_request_return_on_failure(put_part);
    struct gramme_error *error = refuse(all, GRAMME_TRANSACTION_CANCELED);
    assert_int_equal(gramme_error_reason_count(error), 2);
    assert_true(gramme_error_reason_is(error, 0, GRAMME_REASON_NONE));
    assert_string_equal(gramme_error_reason_message(error, 0), "");
    assert_null(gramme_error_reason_item(error, 0));
    assert_true(gramme_error_reason_is(error, 1, GRAMME_REASON_CONDITION_FAILED));
    assert_string_equal(gramme_error_reason_message(error, 1), "The conditional request failed");
    assert_string_equal(gramme_get_string(gramme_error_reason_item(error, 1), "owner"), "ann");
    assert_false(gramme_error_reason_is(error, 2, GRAMME_REASON_NONE));
    assert_false(gramme_error_retryable(error));
    gramme_error_destroy(error);
    assert_false(exists("canceled", 2));
}

/* The same request twice adds twice, with a token of its own just once. */
static void test_token(void **state)
{
    (void)state;
    put("token", 1, "ann");
    struct gramme_request *all = gramme_request_create("TransactWriteItems", NULL);
    struct gramme_request *update = gramme_transact_update(all, table);
    set_key(gramme_request_key(update), "token", 1);
    gramme_request_update(update, "ADD n :one");
    gramme_set_int(gramme_request_values(update), ":one", 1);
    struct gramme_error *error = NULL;
    assert_true(gramme_run(db, all, &error));
    assert_true(gramme_run(db, all, &error));
    char token[GRAMME_UUID_SIZE];
    gramme_uuid(token);
    gramme_transact_token(all, token);
    assert_true(gramme_run(db, all, &error));
    assert_true(gramme_run(db, all, &error));
    gramme_request_destroy(all);
    struct gramme_answer *answer = get("token", 1);
    assert_int_equal(gramme_get_int(gramme_answer_item(answer), "n", 0), 3);
    gramme_answer_destroy(answer);
}

static void test_statement(void **state)
{
    (void)state;
    put("statement", 1, "ann");
    struct gramme_request *request = gramme_request_create("ExecuteStatement", NULL);
    gramme_set_format(gramme_request_root(request), "Statement",
                      "SELECT * FROM \"%s\" WHERE pk = ? AND sk = ?", table);
    struct gramme_value *parameters = gramme_set_list(gramme_request_root(request), "Parameters");
    gramme_add_string(parameters, "statement");
    gramme_add_int(parameters, 1);
    struct gramme_answer *answer = ask(request);
    const struct gramme_value *items = gramme_answer_items(answer);
    assert_int_equal(gramme_value_count(items), 1);
    assert_string_equal(gramme_get_string(gramme_value_at(items, 0), "owner"), "ann");
    gramme_answer_destroy(answer);
}

/* All records of a stream's shards so far that have this key; the newest image of the last. */
static struct gramme_value *find_image(const char *stream, const char *pk)
{
    struct gramme_value *image = NULL;
    struct gramme_request *describe = gramme_request_create("DescribeStream", NULL);
    gramme_set_string(gramme_request_root(describe), "StreamArn", stream);
    struct gramme_answer *answer = ask(describe);
    const struct gramme_value *shards =
        gramme_get(gramme_get(gramme_answer_root(answer), "StreamDescription"), "Shards");
    for (size_t i = 0; i < gramme_value_count(shards); i++) {
        struct gramme_request *request = gramme_request_create("GetShardIterator", NULL);
        gramme_set_string(gramme_request_root(request), "StreamArn", stream);
        gramme_set_string(gramme_request_root(request), "ShardId",
                          gramme_get_string(gramme_value_at(shards, i), "ShardId"));
        gramme_set_string(gramme_request_root(request), "ShardIteratorType", "TRIM_HORIZON");
        struct gramme_answer *iterator = ask(request);
        request = gramme_request_create("GetRecords", NULL);
        gramme_set_string(gramme_request_root(request), "ShardIterator",
                          gramme_get_string(gramme_answer_root(iterator), "ShardIterator"));
        gramme_answer_destroy(iterator);
        struct gramme_answer *got = ask(request);
        const struct gramme_value *records = gramme_get(gramme_answer_root(got), "Records");
        for (size_t j = 0; j < gramme_value_count(records); j++) {
            const struct gramme_value *change = gramme_get(gramme_value_at(records, j), "dynamodb");
            if (strcmp(gramme_get_string(gramme_get(change, "Keys"), "pk"), pk) == 0) {
                gramme_value_destroy(image);
                image = gramme_value_copy(gramme_get(change, "NewImage"));
            }
        }
        gramme_answer_destroy(got);
    }
    gramme_answer_destroy(answer);
    return image;
}

/* Streams are another service at the same address. */
static void test_stream(void **state)
{
    (void)state;
    put("stream", 1, "ann");
    struct gramme_answer *answer = ask(gramme_request_create("DescribeTable", table));
    struct gramme_value *image = find_image(
        gramme_get_string(gramme_get(gramme_answer_root(answer), "Table"), "LatestStreamArn"),
        "stream");
    assert_string_equal(gramme_get_string(image, "owner"), "ann");
    assert_int_equal(gramme_get_int(image, "sk", 0), 1);
    gramme_value_destroy(image);
    gramme_answer_destroy(answer);
}

static void test_units(void **state)
{
    (void)state;
    put("units", 1, "ann");
    struct gramme_request *request = gramme_request_create("GetItem", table);
    set_key(gramme_request_key(request), "units", 1);
    gramme_request_consistent(request);
    gramme_request_return_capacity(request);
    struct gramme_answer *answer = ask(request);
    assert_true(gramme_answer_units(answer) == 1.0);
    gramme_answer_destroy(answer);
    struct gramme_request *read = gramme_request_create("BatchGetItem", NULL);
    set_key(gramme_batch_get(read, table), "units", 1);
    set_key(gramme_batch_get(read, table), "units", 2);
    gramme_request_return_capacity(read);
    struct gramme_error *error = NULL;
    answer = gramme_batch_read(db, read, &error);
    require_ok(error);
    assert_true(gramme_answer_units(answer) > 0);
    gramme_answer_destroy(answer);
    gramme_request_destroy(read);
}

/* --- setting up --- */

static int make_table(void **state)
{
    (void)state;
    char uuid[GRAMME_UUID_SIZE];
    gramme_uuid(uuid);
    snprintf(table, sizeof(table), "operations-%s", uuid);
    char schema[1024];
    int len = snprintf(
        schema, sizeof(schema),
        "{\"TableName\":\"%s\",\"BillingMode\":\"PAY_PER_REQUEST\",\"AttributeDefinitions\":["
        "{\"AttributeName\":\"pk\",\"AttributeType\":\"S\"},"
        "{\"AttributeName\":\"sk\",\"AttributeType\":\"N\"},"
        "{\"AttributeName\":\"owner\",\"AttributeType\":\"S\"}],"
        "\"KeySchema\":[{\"AttributeName\":\"pk\",\"KeyType\":\"HASH\"},"
        "{\"AttributeName\":\"sk\",\"KeyType\":\"RANGE\"}],"
        "\"GlobalSecondaryIndexes\":[{\"IndexName\":\"byOwner\",\"KeySchema\":["
        "{\"AttributeName\":\"owner\",\"KeyType\":\"HASH\"},"
        "{\"AttributeName\":\"sk\",\"KeyType\":\"RANGE\"}],"
        "\"Projection\":{\"ProjectionType\":\"ALL\"}}],\"StreamSpecification\":{"
        "\"StreamEnabled\":true,\"StreamViewType\":\"NEW_AND_OLD_IMAGES\"}}",
        table);
    struct gramme_error *error = NULL;
    /* Twice: one that is there will do. */
    bool made = gramme_create_table(db, schema, (size_t)len, 10000, &error) &&
                gramme_create_table(db, schema, (size_t)len, 10000, &error);
    if (!made) {
        fprintf(stderr, "%s: %s\n", gramme_error_code(error), gramme_error_message(error));
    }
    gramme_error_destroy(error);
    return made ? 0 : -1;
}

static int drop_table(void **state)
{
    (void)state;
    struct gramme_request *request = gramme_request_create("DeleteTable", table);
    bool dropped = gramme_run(db, request, NULL);
    gramme_request_destroy(request);
    return dropped ? 0 : -1;
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        fprintf(stderr, "usage: operations URL [local]\n");
        return 2;
    }
    is_local = argc > 2;
    struct gramme_error *error = NULL;
    db = gramme_open(argv[1], NULL, &error);
    if (db == NULL) {
        fprintf(stderr, "%s: %s\n", gramme_error_code(error), gramme_error_message(error));
        gramme_error_destroy(error);
        return 1;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tables),
        cmocka_unit_test(test_tags),
        cmocka_unit_test(test_raw_call),
        cmocka_unit_test(test_every_type_comes_back),
        cmocka_unit_test(test_read_change_put),
        cmocka_unit_test(test_update_and_delete),
        cmocka_unit_test(test_failed_condition),
        cmocka_unit_test(test_errors),
        cmocka_unit_test(test_mistakes_in_building),
        cmocka_unit_test(test_request_that_is_too_large),
        cmocka_unit_test(test_pages),
        cmocka_unit_test(test_scan_and_errors_of_pages),
        cmocka_unit_test(test_cursor),
        cmocka_unit_test(test_batches),
        cmocka_unit_test(test_refused_batches),
        cmocka_unit_test(test_transaction),
        cmocka_unit_test(test_canceled_transaction),
        cmocka_unit_test(test_token),
        cmocka_unit_test(test_statement),
        cmocka_unit_test(test_stream),
        cmocka_unit_test(test_units),
    };
    int failed = cmocka_run_group_tests(tests, make_table, drop_table);
    gramme_close(db);
    return failed;
}
