#include "server/route.h"

#include "api/api.h"
#include "base/mem.h"
#include "base/random.h"
#include "json/writer.h"
#include "server/ready.h"
#include "server/set_clock.h"

#define REQUEST_ID_LEN 52
/* To check and decode a larger body may take more than half a millisecond: slow threads do it. */
#define BODY_HERE_MAX ((size_t)64 * 1024)
#define CORS_HEADERS                                                                               \
    "Access-Control-Allow-Origin: *\r\n"                                                           \
    "Access-Control-Expose-Headers: x-amzn-RequestId,x-amzn-errortype,x-amz-crc32,Date\r\n"

struct route_thread {
    struct api_thread *api;
    struct random random;
};

struct router {
    struct engine *engine;
    struct router_options options;
    struct ready ready;
    struct route_thread threads[];
};

/* One operation under way. */
struct routed_call {
    struct http_exchange *exchange;
    struct router *router;
    struct api_call api;
};

struct router *router_create(struct engine *engine, const struct router_options *options)
{
    struct router *router =
        mem_zalloc(sizeof(*router) + (size_t)options->thread_count * sizeof(router->threads[0]));
    router->engine = engine;
    router->options = *options;
    ready_init(&router->ready, engine, options->memory, options->store);
    for (int i = 0; i < options->thread_count; i++) {
        router->threads[i].api = api_thread_create(engine);
        random_init(&router->threads[i].random);
    }
    return router;
}

void router_destroy(struct router *router)
{
    if (router == NULL) {
        return;
    }
    for (int i = 0; i < router->options.thread_count; i++) {
        api_thread_destroy(router->threads[i].api);
    }
    ready_finish(&router->ready);
    mem_free(router);
}

/* 52 letters and digits, as the service's ids look; five bits of a random number each. */
static void write_request_id(struct random *random, char out[REQUEST_ID_LEN])
{
    static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ012345";
    uint64_t bits = 0;
    int left = 0;
    for (int i = 0; i < REQUEST_ID_LEN; i++) {
        if (left < 5) {
            bits = random_next(random);
            left = 64;
        }
        out[i] = alphabet[bits & 31];
        bits >>= 5;
        left -= 5;
    }
}

static struct str answer_headers(struct router *router, struct http_exchange *exchange)
{
    static const char name[] = "x-amzn-RequestId: ";
    bool cors = !str_is_null(http_header(exchange, STR("origin")));
    size_t len = sizeof(name) - 1 + REQUEST_ID_LEN + 2;
    char *text = arena_bytes(exchange->arena, len + sizeof(CORS_HEADERS));
    memcpy(text, name, sizeof(name) - 1);
    write_request_id(&router->threads[exchange->thread].random, text + sizeof(name) - 1);
    memcpy(text + len - 2, "\r\n", 2);
    if (cors) {
        memcpy(text + len, CORS_HEADERS, sizeof(CORS_HEADERS) - 1);
        len += sizeof(CORS_HEADERS) - 1;
    }
    return str_make(text, len);
}

static void reply(struct router *router, struct http_exchange *exchange, int status)
{
    http_reply(exchange, &(struct http_answer){
                             .status = status,
                             .content_type = STR("application/x-amz-json-1.0"),
                             .headers = answer_headers(router, exchange),
                             .crc32_header = STR("x-amz-crc32"),
                         });
}

static void call_done(struct api_call *api)
{
    struct routed_call *call = CONTAINER_OF(api, struct routed_call, api);
    reply(call->router, call->exchange, api->status);
}

/* An error from before the operation. */
static void refuse(struct router *router, struct http_exchange *exchange, const struct err *err)
{
    buf_format(exchange->out, "{\"__type\":\"%s\"", err_wire_type(err->code));
    if (err->message.len > 0) {
        JSON_PUT(exchange->out, ",\"message\":");
        json_write_string(exchange->out, err->message);
    }
    buf_add_char(exchange->out, '}');
    reply(router, exchange, err_http_status(err->code));
}

/* "GetItem" of "DynamoDB_20120810.GetItem", and whose it is; anything else is no operation. */
static struct str operation_of(struct str target, enum api_service *out_service)
{
    static const char *const prefixes[] = {
        [API_DYNAMODB] = "DynamoDB_20120810.",
        [API_STREAMS] = "DynamoDBStreams_20120810.",
    };
    for (size_t i = 0; i < COUNT_OF(prefixes); i++) {
        struct str prefix = str_from_c(prefixes[i]);
        if (str_starts_with(target, prefix)) {
            *out_service = (enum api_service)i;
            return str_skip(target, prefix.len);
        }
    }
    return STR_NULL;
}

static void handle_operation(struct router *router, struct http_exchange *exchange);

static void handle_on_slow_thread(void *context, struct http_exchange *exchange)
{
    handle_operation(context, exchange);
}

static void move_call(struct api_call *api)
{
    struct routed_call *call = CONTAINER_OF(api, struct routed_call, api);
    http_run_slowly(call->exchange, handle_on_slow_thread, call->router);
}

static void handle_operation(struct router *router, struct http_exchange *exchange)
{
    struct err err = ERR_INIT(exchange->arena);
    enum api_service service = API_DYNAMODB;
    struct str target = http_header(exchange, STR("x-amz-target"));
    struct str operation = operation_of(target, &service);
    bool sets_clock = router->options.test_clock && str_eq(target, STR(SET_CLOCK_TARGET));
    if (str_is_null(operation) && !sets_clock) {
        err_set(&err, ERR_UNKNOWN_OPERATION, "%s", "");
    } else if (!auth_check(router->options.auth, http_header(exchange, STR("authorization")),
                           &err)) {
        /* said */
    } else if (sets_clock && set_clock(router->engine, exchange, &err)) {
        reply(router, exchange, 200);
        return;
    }
    if (err.code != ERR_NONE) {
        refuse(router, exchange, &err);
        return;
    }
    struct routed_call *call = ARENA_NEW(exchange->arena, struct routed_call);
    call->exchange = exchange;
    call->router = router;
    call->api = (struct api_call){
        .thread = router->threads[exchange->thread].api,
        .service = service,
        .operation = operation,
        .body = exchange->body,
        .host = http_header(exchange, STR("host")),
        .arena = exchange->arena,
        .home = exchange->mailbox,
        .out = exchange->out,
        .done = call_done,
        .move = exchange->thread < router->options.loop_count ? move_call : NULL,
    };
    api_run(&call->api);
}

static void handle_health(struct router *router, struct http_exchange *exchange)
{
    struct str region = engine_region(router->engine);
    buf_format(exchange->out, "healthy: dynamodb.%.*s.amazonaws.com ", STR_ARG(region));
    http_reply(exchange, &(struct http_answer){
                             .status = 200,
                             .content_type = STR("text/plain"),
                             .headers = answer_headers(router, exchange),
                         });
}

/* A browser asks before it sends. */
static void handle_preflight(struct http_exchange *exchange)
{
    struct str wanted = http_header(exchange, STR("access-control-request-headers"));
    struct str headers = arena_format(exchange->arena,
                                      "Access-Control-Allow-Origin: *\r\n"
                                      "Access-Control-Allow-Methods: GET, POST, OPTIONS\r\n"
                                      "Access-Control-Allow-Headers: %.*s\r\n"
                                      "Access-Control-Max-Age: 172800\r\n",
                                      STR_ARG(str_is_null(wanted) ? STR("*") : wanted));
    http_reply(exchange, &(struct http_answer){.status = 200, .headers = headers});
}

void router_handle(void *context, struct http_exchange *exchange)
{
    struct router *router = context;
    bool is_get = str_eq(exchange->method, STR("GET")) || str_eq(exchange->method, STR("HEAD"));
    if (str_eq(exchange->method, STR("POST")) && exchange->body.len > BODY_HERE_MAX) {
        http_run_slowly(exchange, handle_on_slow_thread, router);
    } else if (str_eq(exchange->method, STR("POST"))) {
        handle_operation(router, exchange);
    } else if (str_eq(exchange->method, STR("OPTIONS"))) {
        handle_preflight(exchange);
    } else if (is_get && str_eq(exchange->target, STR("/"))) {
        handle_health(router, exchange);
    } else if (is_get && str_eq(exchange->target, STR(READY_TARGET))) {
        ready_handle(&router->ready, exchange);
    } else {
        buf_add(exchange->out, STR("not found\n"));
        http_reply(exchange,
                   &(struct http_answer){.status = 404, .content_type = STR("text/plain")});
    }
}
