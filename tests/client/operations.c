/* What the library does with a DynamoDB, through its header alone. The same program runs against a
 * server, the engine in this process, and other implementations: operations URL [local]. `local`:
 * the other side is DynamoDB Local, which has no tags and fails on broken JSON. The tests are in
 * the files *_cases.c. */
#include "operations.h"

#include <stdio.h>

struct gramme_db *db;
char table[64];
bool is_local;

void require_ok(const struct gramme_error *error)
{
    if (error != NULL) {
        fail_msg("%s: %s", gramme_error_code(error), gramme_error_message(error));
    }
}

void run(struct gramme_request *request)
{
    struct gramme_error *error = NULL;
    gramme_run(db, request, &error);
    require_ok(error);
    gramme_request_destroy(request);
}

struct gramme_answer *ask(struct gramme_request *request)
{
    struct gramme_error *error = NULL;
    struct gramme_answer *answer = gramme_send(db, request, &error);
    require_ok(error);
    gramme_request_destroy(request);
    return answer;
}

struct gramme_error *refuse(struct gramme_request *request, const char *code)
{
    struct gramme_error *error = NULL;
    assert_false(gramme_run(db, request, &error));
    assert_string_equal(gramme_error_code(error), code);
    gramme_request_destroy(request);
    return error;
}

void set_key(struct gramme_value *map, const char *pk, int sk)
{
    gramme_set_string(map, "pk", pk);
    gramme_set_int(map, "sk", sk);
}

void put(const char *pk, int sk, const char *owner)
{
    struct gramme_request *request = gramme_request_create("PutItem", table);
    set_key(gramme_request_item(request), pk, sk);
    gramme_set_string(gramme_request_item(request), "owner", owner);
    run(request);
}

struct gramme_answer *get(const char *pk, int sk)
{
    struct gramme_request *request = gramme_request_create("GetItem", table);
    set_key(gramme_request_key(request), pk, sk);
    gramme_request_consistent(request);
    return ask(request);
}

bool exists(const char *pk, int sk)
{
    struct gramme_answer *answer = get(pk, sk);
    bool there = gramme_answer_item(answer) != NULL;
    gramme_answer_destroy(answer);
    return there;
}

/* --- setting up --- */

static bool make_table(void)
{
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
    return made;
}

static bool drop_table(void)
{
    struct gramme_request *request = gramme_request_create("DeleteTable", table);
    bool dropped = gramme_run(db, request, NULL);
    gramme_request_destroy(request);
    return dropped;
}

/* Returns the number of tests that failed. */
static int run_all(void)
{
    static int (*const groups[])(void) = {table_tests, item_tests, error_tests, page_tests,
                                          batch_tests};
    if (!make_table()) {
        return 1;
    }
    int failed = 0;
    for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++) {
        failed += groups[i]();
    }
    return failed + !drop_table();
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
    int failed = run_all();
    gramme_close(db);
    return failed;
}
