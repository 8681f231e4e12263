/* Fuzzes whole requests, on two tables in memory. Input: a line with the operation's name (with
 * "streams." before stream operations), then the body. Properties: every request gets a response,
 * and every response is JSON. */
#include <stdlib.h>

#include "api/api.h"
#include "json/reader.h"

static const struct {
    const char *operation;
    const char *body;
} setup[] = {
    {"CreateTable",
     "{\"TableName\":\"one\",\"KeySchema\":[{\"AttributeName\":\"p\",\"KeyType\":\"HASH\"}],"
     "\"AttributeDefinitions\":[{\"AttributeName\":\"p\",\"AttributeType\":\"S\"}],"
     "\"BillingMode\":\"PAY_PER_REQUEST\",\"StreamSpecification\":{\"StreamEnabled\":true,"
     "\"StreamViewType\":\"NEW_AND_OLD_IMAGES\"}}"},
    {"CreateTable",
     "{\"TableName\":\"two\",\"KeySchema\":[{\"AttributeName\":\"p\",\"KeyType\":\"HASH\"},"
     "{\"AttributeName\":\"s\",\"KeyType\":\"RANGE\"}],"
     "\"AttributeDefinitions\":[{\"AttributeName\":\"p\",\"AttributeType\":\"S\"},"
     "{\"AttributeName\":\"s\",\"AttributeType\":\"N\"},{\"AttributeName\":\"g\",\"AttributeType\":"
     "\"B\"}],\"BillingMode\":\"PAY_PER_REQUEST\",\"GlobalSecondaryIndexes\":[{\"IndexName\":"
     "\"gsi\","
     "\"KeySchema\":[{\"AttributeName\":\"g\",\"KeyType\":\"HASH\"}],\"Projection\":"
     "{\"ProjectionType\":\"KEYS_ONLY\"}}],\"LocalSecondaryIndexes\":[{\"IndexName\":\"lsi\","
     "\"KeySchema\":[{\"AttributeName\":\"p\",\"KeyType\":\"HASH\"},{\"AttributeName\":\"g\","
     "\"KeyType\":\"RANGE\"}],\"Projection\":{\"ProjectionType\":\"ALL\"}}]}"},
    {"PutItem", "{\"TableName\":\"one\",\"Item\":{\"p\":{\"S\":\"a\"},\"n\":{\"N\":\"1\"}}}"},
    {"PutItem", "{\"TableName\":\"two\",\"Item\":{\"p\":{\"S\":\"a\"},\"s\":{\"N\":\"1\"},"
                "\"g\":{\"B\":\"YQ==\"},\"m\":{\"M\":{\"l\":{\"L\":[{\"SS\":[\"x\"]}]}}}}}"},
};

static struct api_thread *thread;
static struct waiting_mailbox *mailbox;

static void require(bool truth)
{
    if (!truth) {
        abort();
    }
}

struct request {
    struct api_call call;
    bool done;
};

static void finish(struct api_call *call)
{
    CONTAINER_OF(call, struct request, call)->done = true;
}

static void run(struct str operation, struct str body)
{
    struct arena arena;
    arena_init(&arena);
    struct buf out = {0};
    struct str streams = STR("streams.");
    bool of_streams = str_starts_with(operation, streams);
    struct request request = {
        .call = {
            .thread = thread,
            .family = of_streams ? API_STREAMS : API_DYNAMODB,
            .operation = of_streams ? str_skip(operation, streams.len) : operation,
            .body = body,
            .arena = &arena,
            .home = waiting_mailbox_box(mailbox),
            .out = &out,
            .done = finish,
        }};
    api_run(&request.call);
    waiting_mailbox_run(mailbox, &request.done);
    struct json_reader reader;
    json_reader_init(&reader, &arena, buf_str(&out));
    require(json_skip(&reader) && json_at_end(&reader));
    require(request.call.status == 200 || request.call.status == 400);
    buf_finish(&out);
    arena_finish(&arena);
}

static void open_world(void)
{
    static struct arena arena;
    arena_init(&arena);
    struct err err = ERR_INIT(&arena);
    struct store *store;
    struct engine *engine;
    struct store_options store_options = {.cache_bytes = 1 << 20, .worker_count = 1};
    struct engine_options options = {.region = STR("r"), .account = STR("000000000000")};
    require(store_open(STR("memory:"), &store_options, &store, &err) &&
            engine_open(store, &options, &engine, &err));
    thread = api_thread_create(engine);
    mailbox = waiting_mailbox_create();
}

/* Creates the tables that requests may have deleted. */
static void set_up(void)
{
    for (size_t i = 0; i < COUNT_OF(setup); i++) {
        run(str_from_c(setup[i].operation), str_from_c(setup[i].body));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static int count;
    if (thread == NULL) {
        open_world();
    }
    if (count++ % 64 == 0) {
        set_up();
    }
    const uint8_t *end = memchr(data, '\n', size);
    if (end != NULL) {
        size_t line = (size_t)(end - data);
        run(str_make(data, line), str_make(end + 1, size - line - 1));
    }
    return 0;
}
