/* Tests of answers in pages: Query and Scan, item by item or with a cursor. Run by operations. */
#include "operations.h"

#include <stdio.h>

static struct gramme_request *query(const char *pk)
{
    struct gramme_request *request = gramme_request_create("Query", table);
    gramme_request_key_condition(request, "pk = :pk");
    gramme_set_string(gramme_request_values(request), ":pk", pk);
    return request;
}

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

int page_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pages),
        cmocka_unit_test(test_scan_and_errors_of_pages),
        cmocka_unit_test(test_cursor),
    };
    return cmocka_run_group_tests_name("pages", tests, NULL, NULL);
}
