/* Many threads on one handle: threads URL. Each writes and reads items of its own, all add to one
 * counter, some in transactions; nothing may be lost, mixed up or, under ThreadSanitizer, raced. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <gramme/gramme.h>

enum { THREADS = 16, ROUNDS = 40 };

static struct gramme_db *db;
static const char table[] = "threads";

static void die(const char *what, const struct gramme_error *error)
{
    fprintf(stderr, "%s: %s: %s\n", what, gramme_error_code(error), gramme_error_message(error));
    exit(1);
}

static void must_run(const char *what, struct gramme_request *request)
{
    struct gramme_error *error = NULL;
    /* Two transactions on one item may get into each other's way: that is for the caller. */
    while (!gramme_run(db, request, &error)) {
        if (!gramme_error_retryable(error)) {
            die(what, error);
        }
    }
    gramme_request_destroy(request);
}

static void add_one(bool in_transaction)
{
    struct gramme_request *transaction =
        in_transaction ? gramme_request_create("TransactWriteItems", NULL) : NULL;
    struct gramme_request *update = in_transaction ? gramme_transact_update(transaction, table)
                                                   : gramme_request_create("UpdateItem", table);
    gramme_set_string(gramme_request_key(update), "pk", "counter");
    gramme_request_update(update, "ADD n :one");
    gramme_set_int(gramme_request_values(update), ":one", 1);
    must_run("add", in_transaction ? transaction : update);
}

static void put_and_get(int thread, int round)
{
    struct gramme_request *put = gramme_request_create("PutItem", table);
    gramme_set_format(gramme_request_item(put), "pk", "%d/%d", thread, round);
    gramme_set_format(gramme_request_item(put), "text", "text of %d/%d", thread, round);
    must_run("put", put);
    struct gramme_error *error = NULL;
    struct gramme_request *get = gramme_request_create("GetItem", table);
    gramme_set_format(gramme_request_key(get), "pk", "%d/%d", thread, round);
    gramme_request_consistent(get);
    struct gramme_answer *answer = gramme_send(db, get, &error);
    char expected[64];
    snprintf(expected, sizeof(expected), "text of %d/%d", thread, round);
    const char *text = gramme_get_string(gramme_answer_item(answer), "text");
    if (text == NULL || strcmp(text, expected) != 0) {
        die("get", error);
    }
    gramme_answer_destroy(answer);
    gramme_request_destroy(get);
}

static void *work(void *argument)
{
    int thread = (int)(intptr_t)argument;
    for (int round = 0; round < ROUNDS; round++) {
        put_and_get(thread, round);
        add_one(thread % 4 == 0);
    }
    return NULL;
}

static int64_t count_items(void)
{
    struct gramme_error *error = NULL;
    struct gramme_request *scan = gramme_request_create("Scan", table);
    gramme_request_limit(scan, 100);
    struct gramme_items *items = gramme_items_open(db, scan);
    int64_t count = 0;
    while (gramme_items_next(items, &error) != NULL) {
        count++;
    }
    if (error != NULL) {
        die("scan", error);
    }
    gramme_items_close(items);
    gramme_request_destroy(scan);
    return count;
}

static int64_t read_counter(void)
{
    struct gramme_error *error = NULL;
    struct gramme_request *get = gramme_request_create("GetItem", table);
    gramme_set_string(gramme_request_key(get), "pk", "counter");
    gramme_request_consistent(get);
    struct gramme_answer *answer = gramme_send(db, get, &error);
    int64_t counter = gramme_get_int(gramme_answer_item(answer), "n", -1);
    gramme_answer_destroy(answer);
    gramme_request_destroy(get);
    gramme_error_destroy(error);
    return counter;
}

int main(int argc, char **argv)
{
    static const char schema[] =
        "{\"TableName\":\"threads\",\"BillingMode\":\"PAY_PER_REQUEST\","
        "\"AttributeDefinitions\":[{\"AttributeName\":\"pk\",\"AttributeType\":\"S\"}],"
        "\"KeySchema\":[{\"AttributeName\":\"pk\",\"KeyType\":\"HASH\"}]}";
    struct gramme_error *error = NULL;
    db = argc > 1 ? gramme_open(argv[1], NULL, &error) : NULL;
    if (db == NULL || !gramme_create_table(db, schema, sizeof(schema) - 1, 10000, &error)) {
        die("open", error);
    }
    pthread_t threads[THREADS];
    for (intptr_t i = 0; i < THREADS; i++) {
        pthread_create(&threads[i], NULL, work, (void *)i);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    int64_t counter = read_counter();
    int64_t items = count_items();
    gramme_close(db);
    printf("%lld added, %lld items\n", (long long)counter, (long long)items);
    return counter == THREADS * ROUNDS && items == THREADS * ROUNDS + 1 ? 0 : 1;
}
