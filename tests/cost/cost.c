/* What requests cost, in instructions, without a clock: a fixed set of them goes through the api
 * layer on one thread, on a store in memory, one at a time. Callgrind counts what happens between
 * the marks, on this thread and on the committer's. cost.py runs it. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <valgrind/callgrind.h>

#include "api/api.h"
#include "base/mem.h"

/* In place of the system's, so that hashes, and with them the order of rows, are the same in each
 * run. */
ssize_t getrandom(void *bytes, size_t count, unsigned flags)
{
    (void)flags;
    memset(bytes, 7, count);
    return (ssize_t)count;
}

/* Items from WIDE on have the same partition key, the others share it by hundreds. */
enum { ITEMS = 2000, WIDE = 900000, FIELDS = 10, FIELD_LEN = 90 };

struct client {
    struct store *store;
    struct engine *engine;
    struct api_thread *thread;
    struct waiting_mailbox *box;
    struct arena arena;
    struct buf out;
};

struct call {
    struct api_call api;
    bool over;
};

static void finish(struct api_call *api)
{
    CONTAINER_OF(api, struct call, api)->over = true;
}

static void run(struct client *client, const char *operation, struct str body)
{
    client->out.len = 0;
    struct call call = {.api = {.thread = client->thread,
                                .operation = str_from_c(operation),
                                .body = body,
                                .arena = &client->arena,
                                .home = waiting_mailbox_box(client->box),
                                .out = &client->out,
                                .out_is_exclusive = true,
                                .done = finish}};
    api_run(&call.api);
    waiting_mailbox_run(client->box, &call.over);
    if (call.api.status != 200) {
        fprintf(stderr, "%s: %d %.*s\n", operation, call.api.status,
                STR_ARG(buf_str(&client->out)));
        exit(1);
    }
    arena_reset(&client->arena);
}

static void client_open(struct client *client)
{
    *client = (struct client){0};
    arena_init(&client->arena);
    struct err err = ERR_INIT(&client->arena);
    struct store_options store_options = {.cache_bytes = 64 << 20, .worker_count = 1};
    struct engine_options engine_options = {.region = STR("local"), .account = STR("000000000000")};
    if (!store_open(STR("memory:"), &store_options, &client->store, &err) ||
        !engine_open(client->store, &engine_options, &client->engine, &err)) {
        fprintf(stderr, "%.*s\n", STR_ARG(err.message));
        exit(1);
    }
    client->thread = api_thread_create(client->engine);
    client->box = waiting_mailbox_create();
}

static void client_close(struct client *client)
{
    api_thread_destroy(client->thread);
    engine_close(client->engine);
    store_close(client->store);
    waiting_mailbox_destroy(client->box);
    buf_finish(&client->out);
    arena_finish(&client->arena);
}

/* Requests ------------------------------------------------------------------------------------ */

static const char create_table[] =
    "{\"TableName\":\"cost\",\"BillingMode\":\"PAY_PER_REQUEST\","
    "\"AttributeDefinitions\":[{\"AttributeName\":\"pk\",\"AttributeType\":\"S\"},"
    "{\"AttributeName\":\"sk\",\"AttributeType\":\"S\"},"
    "{\"AttributeName\":\"owner\",\"AttributeType\":\"S\"},"
    "{\"AttributeName\":\"made\",\"AttributeType\":\"N\"}],"
    "\"KeySchema\":[{\"AttributeName\":\"pk\",\"KeyType\":\"HASH\"},"
    "{\"AttributeName\":\"sk\",\"KeyType\":\"RANGE\"}],"
    "\"GlobalSecondaryIndexes\":[{\"IndexName\":\"byOwner\",\"KeySchema\":["
    "{\"AttributeName\":\"owner\",\"KeyType\":\"HASH\"},"
    "{\"AttributeName\":\"made\",\"KeyType\":\"RANGE\"}],"
    "\"Projection\":{\"ProjectionType\":\"ALL\"}}]}";

static void add_key(struct buf *out, int item)
{
    int part = item < WIDE ? item / 100 : WIDE / 100;
    buf_format(out, "\"pk\":{\"S\":\"part%04d\"},\"sk\":{\"S\":\"item%04d\"}", part,
               item - part * 100);
}

/* 1 KB in ten fields. */
static void add_item(struct buf *out, int item)
{
    buf_format(out, "{");
    add_key(out, item);
    buf_format(out,
               ",\"owner\":{\"S\":\"owner%03d\"},\"made\":{\"N\":\"%d\"},\"count\":{\"N\":\"0\"}",
               item % 20, 1000000 + item);
    for (int i = 0; i < FIELDS; i++) {
        buf_format(out, ",\"field%d\":{\"S\":\"", i);
        memset(buf_reserve(out, FIELD_LEN), 'a' + (item + i) % 26, FIELD_LEN);
        buf_added(out, FIELD_LEN);
        buf_format(out, "\"}");
    }
    buf_format(out, "}");
}

static void put_item(struct buf *out, int number)
{
    buf_format(out, "{\"TableName\":\"cost\",\"Item\":");
    add_item(out, number);
    buf_format(out, "}");
}

static void get_item(struct buf *out, int number)
{
    buf_format(out, "{\"TableName\":\"cost\",\"Key\":{");
    add_key(out, number * 7 % ITEMS);
    buf_format(out, "}}");
}

static void update_item(struct buf *out, int number)
{
    buf_format(out, "{\"TableName\":\"cost\",\"Key\":{");
    add_key(out, number * 7 % ITEMS);
    buf_format(out, "},\"UpdateExpression\":\"SET #c = #c + :one\",\"ConditionExpression\":"
                    "\"attribute_exists(pk)\",\"ExpressionAttributeNames\":{\"#c\":\"count\"},"
                    "\"ExpressionAttributeValues\":{\":one\":{\"N\":\"1\"}}}");
}

static void query(struct buf *out, int number)
{
    buf_format(out,
               "{\"TableName\":\"cost\",\"KeyConditionExpression\":\"pk = :p AND sk >= :s\","
               "\"ExpressionAttributeValues\":{\":p\":{\"S\":\"part%04d\"},"
               "\":s\":{\"S\":\"item%04d\"}},\"Limit\":10}",
               number % (ITEMS / 100), number % 90);
}

static void query_index(struct buf *out, int number)
{
    buf_format(out,
               "{\"TableName\":\"cost\",\"IndexName\":\"byOwner\",\"KeyConditionExpression\":"
               "\"#o = :o\",\"ExpressionAttributeNames\":{\"#o\":\"owner\"},"
               "\"ExpressionAttributeValues\":{\":o\":{\"S\":\"owner%03d\"}},"
               "\"ScanIndexForward\":false,\"Limit\":10}",
               number % 20);
}

static void batch_write(struct buf *out, int number)
{
    buf_format(out, "{\"RequestItems\":{\"cost\":[");
    for (int i = 0; i < 25; i++) {
        buf_format(out, "%s{\"PutRequest\":{\"Item\":", i == 0 ? "" : ",");
        add_item(out, ITEMS + number * 25 + i);
        buf_format(out, "}}");
    }
    buf_format(out, "]}}");
}

static void transact_write(struct buf *out, int number)
{
    buf_format(out, "{\"TransactItems\":[");
    for (int i = 0; i < 3; i++) {
        buf_format(out, "{\"Put\":{\"TableName\":\"cost\",\"Item\":");
        add_item(out, 100000 + number * 3 + i);
        buf_format(out, "}},");
    }
    buf_format(out, "{\"Update\":");
    update_item(out, number);
    buf_format(out, "}]}");
}

static void transact_write_100(struct buf *out, int number)
{
    buf_format(out, "{\"TransactItems\":[");
    for (int i = 0; i < 100; i++) {
        buf_format(out, "%s{\"Put\":{\"TableName\":\"cost\",\"Item\":", i == 0 ? "" : ",");
        add_item(out, WIDE + number * 100 + i);
        buf_format(out, "}}");
    }
    buf_format(out, "]}");
}

static void query_wide(struct buf *out, int number)
{
    (void)number;
    buf_format(out,
               "{\"TableName\":\"cost\",\"KeyConditionExpression\":\"pk = :p\","
               "\"ExpressionAttributeValues\":{\":p\":{\"S\":\"part%04d\"}}}",
               WIDE / 100);
}

static void batch_get(struct buf *out, int number)
{
    buf_format(out, "{\"RequestItems\":{\"cost\":{\"Keys\":[");
    for (int i = 0; i < 100; i++) {
        buf_format(out, "%s{", i == 0 ? "" : ",");
        add_key(out, (number + i * 7) % ITEMS);
        buf_format(out, "}");
    }
    buf_format(out, "]}}}");
}

static void scan(struct buf *out, int number)
{
    (void)number;
    buf_format(out, "{\"TableName\":\"cost\"}");
}

/* In this order: puts make what the others read. */
static const struct measure {
    const char *name;
    const char *operation;
    void (*make)(struct buf *out, int number);
    int count;
} measures[] = {
    {"PutItem", "PutItem", put_item, ITEMS},
    {"GetItem", "GetItem", get_item, 2000},
    {"UpdateItem", "UpdateItem", update_item, 1000},
    {"Query 10", "Query", query, 500},
    {"Query 10 of a GSI", "Query", query_index, 500},
    {"Scan 1 MB", "Scan", scan, 10},
    {"BatchWriteItem 25", "BatchWriteItem", batch_write, 20},
    {"TransactWriteItems 4", "TransactWriteItems", transact_write, 100},
    {"TransactWriteItems 100", "TransactWriteItems", transact_write_100, 12},
    {"Query 1 MB", "Query", query_wide, 10},
    {"BatchGetItem 100", "BatchGetItem", batch_get, 50},
};

/* The first tenth warms caches up and is not counted. Bodies are made before the count begins. A
 * dump holds what was counted since the one before. */
static void measure(struct client *client, const struct measure *measure)
{
    int first = measure->count / 10;
    struct buf *bodies = mem_zalloc((size_t)measure->count * sizeof(*bodies));
    for (int i = 0; i < measure->count; i++) {
        measure->make(&bodies[i], i);
    }
    for (int i = 0; i < measure->count; i++) {
        if (i == first) {
            CALLGRIND_DUMP_STATS_AT("not counted");
        }
        run(client, measure->operation, buf_str(&bodies[i]));
    }
    CALLGRIND_DUMP_STATS_AT(measure->name);
    printf("%s\t%d\n", measure->name, measure->count - first);
    for (int i = 0; i < measure->count; i++) {
        buf_finish(&bodies[i]);
    }
    mem_free(bodies);
}

int main(void)
{
    struct client client;
#ifdef __clang__
    printf("compiler\t%s\n", __VERSION__);
#else
    printf("compiler\tGCC %s\n", __VERSION__);
#endif
    client_open(&client);
    run(&client, "CreateTable", STR(create_table));
    for (size_t i = 0; i < COUNT_OF(measures); i++) {
        measure(&client, &measures[i]);
    }
    client_close(&client);
    return 0;
}
