/* Routes HTTP requests to operations and pages, and sends their answers. Runs on the thread of each
 * exchange. */
#include "base/clock.h"
#include "base/mem.h"
#include "err/messages.h"
#include "json/reader.h"
#include "json/writer.h"
#include "server/admin.h"
#include "server/console.h"
#include "server/route_internal.h"
#include "server/set_clock.h"

#define REQUEST_ID_LEN 52
/* Larger bodies are handled by slow threads: checking and decoding one takes more than 0.5 ms. */
#define BODY_HERE_MAX ((size_t)64 * 1024)
/* Larger bodies, and long ranges, together get one slice in each round of events of a network
 * thread. */
#define BODY_SHORT_MAX ((size_t)4 * 1024)
/* Requests of this size are always begun by the network thread. Larger ones, which may name many
 * keys, are passed to a slow thread if earlier ones of the connection were expensive. */
#define BODY_TINY_MAX ((size_t)1024)
#define SLICE_NS      ((int64_t)2 * 1000 * 1000)
#define AMZ_JSON      "application/x-amz-json-1.0"

/* One operation under way. */
struct routed_call {
    struct http_exchange *exchange;
    struct router *router;
    struct auth_caller caller;    /* .directory NULL: requests are not checked */
    struct guarded_call *guarded; /* or NULL, likewise */
    struct guard_entry entry;     /* in the limits of the caller's key */
    struct api_call api;
};

struct router *router_create(struct engine *engine, const struct router_options *options)
{
    struct router *router =
        mem_zalloc(sizeof(*router) + (size_t)options->thread_count * sizeof(router->threads[0]));
    router->engine = engine;
    router->options = *options;
    ready_init(&router->ready, engine, options->memory, options->store);
    router->insight.meter = options->meter;
    router->insight.kinesis = options->kinesis;
    router->insight.engine = engine;
    router->insight.guard = options->guard;
    for (int i = 0; i < options->thread_count; i++) {
        router->threads[i].api = api_thread_create(engine);
        if (options->meter != NULL) {
            api_thread_set_meter(router->threads[i].api, meter_thread(options->meter, i));
        }
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

/* Writes a request id in the form of the service: 52 letters and digits, five random bits each. */
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

static enum cors_verdict judge_origin(const struct router *router,
                                      const struct http_exchange *exchange, struct str *out_origin)
{
    *out_origin = http_header(exchange, STR("origin"));
    return str_is_null(*out_origin)
               ? CORS_NONE
               : cors_judge(&router->options.cors, *out_origin, http_header(exchange, STR("host")));
}

/* Returns the header line with a new request id, which is *out_id. */
static struct str request_id_line(struct router *router, struct http_exchange *exchange,
                                  struct str *out_id)
{
    static const char name[] = "x-amzn-RequestId: ";
    size_t len = sizeof(name) - 1 + REQUEST_ID_LEN + 2;
    char *text = arena_bytes(exchange->arena, len);
    memcpy(text, name, sizeof(name) - 1);
    write_request_id(&router->threads[exchange->thread].random, text + sizeof(name) - 1);
    memcpy(text + len - 2, "\r\n", 2);
    *out_id = str_make(text + sizeof(name) - 1, REQUEST_ID_LEN);
    return str_make(text, len);
}

struct str route_headers(struct router *router, struct http_exchange *exchange, struct str *out_id)
{
    struct str line = request_id_line(router, exchange, out_id);
    struct str origin;
    if (judge_origin(router, exchange, &origin) != CORS_ALLOWED) {
        return line;
    }
    struct buf headers = {0};
    buf_add(&headers, line);
    cors_write(&router->options.cors, origin, &headers);
    struct str kept = arena_copy(exchange->arena, buf_str(&headers));
    buf_finish(&headers);
    return kept;
}

static struct str answer_headers(struct router *router, struct http_exchange *exchange)
{
    struct str ignored;
    return route_headers(router, exchange, &ignored);
}

/* Returns the content type of the answer: application/json if the request has that type, else that
 * of the protocol, also if the request has none. STR_NULL: the request has another type. */
static struct str answer_type(const struct http_exchange *exchange)
{
    struct str type = http_header(exchange, STR("content-type"));
    const char *end = type.len == 0 ? NULL : memchr(type.data, ';', type.len);
    if (end != NULL) { /* parameters are ignored */
        type.len = (size_t)(end - type.data);
    }
    while (type.len > 0 && type.data[type.len - 1] == ' ') {
        type.len--;
    }
    if (type.len == 0 || str_eq_nocase(type, STR(AMZ_JSON))) {
        return STR(AMZ_JSON);
    }
    return str_eq_nocase(type, STR("application/json")) ? STR("application/json") : STR_NULL;
}

/* Sends the body in exchange->out. */
static void send_answer(struct http_exchange *exchange, int status, struct str headers)
{
    struct str type = answer_type(exchange);
    http_reply(exchange, &(struct http_answer){
                             .status = status,
                             .content_type = str_is_null(type) ? STR(AMZ_JSON) : type,
                             .headers = headers,
                             .crc32_header = STR("x-amz-crc32"),
                         });
}

void route_reply(struct router *router, struct http_exchange *exchange, int status,
                 const struct route_audit *facts)
{
    struct str id;
    struct str headers = route_headers(router, exchange, &id);
    if (UNLIKELY(facts != NULL && router->options.audit != NULL)) {
        route_audit(router, exchange, facts, status, id);
    }
    send_answer(exchange, status, headers);
}

/* Answers a request for an unknown path or method. */
static void reply_not_found(struct router *router, struct http_exchange *exchange)
{
    buf_add(exchange->out, STR("<UnknownOperationException/>\n"));
    http_reply(exchange, &(struct http_answer){
                             .status = 404,
                             .headers = answer_headers(router, exchange),
                             .crc32_header = STR("x-amz-crc32"),
                         });
}

/* A denied statement of BatchExecuteStatement fails alone, so the call may succeed nevertheless. */
static void audit_call(const struct routed_call *call, struct str request_id)
{
    const struct api_call *api = &call->api;
    bool is_denied = api->denied.count > 0;
    bool is_refused = is_denied && call->caller.warning == ERR_NONE;
    struct route_audit facts = {
        .service = "dynamodb",
        .operation = api->operation,
        .resource = is_denied ? api->denied.arns[0] : api->resource,
        .resources = api->resources,
        .denied = api->denied,
        .error = is_refused ? ERR_ACCESS_DENIED : api->err.code,
        .is_change = api_is_administrative(api->op),
    };
    route_audit_caller(&facts, &call->caller);
    route_audit(call->router, call->exchange, &facts, api->status, request_id);
}

static void call_done(struct api_call *api)
{
    struct routed_call *call = CONTAINER_OF(api, struct routed_call, api);
    struct router *router = call->router;
    struct str id;
    struct str headers = route_headers(router, call->exchange, &id);
    if (UNLIKELY(router->options.audit != NULL)) {
        audit_call(call, id);
    }
    if (call->caller.directory != NULL) {
        guard_leave_when_sent(&call->entry, call->exchange);
        auth_caller_release(&call->caller);
    }
    send_answer(call->exchange, api->status, headers);
}

void route_refuse(struct router *router, struct http_exchange *exchange, const struct err *err,
                  const struct route_audit *facts)
{
    buf_format(exchange->out, "{\"__type\":\"%s\"", err_wire_type(err->code));
    if (err->message.len > 0) {
        buf_add(exchange->out,
                err->code == ERR_ACCESS_DENIED ? STR(",\"Message\":") : STR(",\"message\":"));
        json_write_string(exchange->out, err->message);
    }
    buf_add_char(exchange->out, '}');
    route_reply(router, exchange, err_http_status(err->code), facts);
}

/* Returns "GetItem" for "DynamoDB_20120810.GetItem", and its family; STR_NULL for other targets. */
static struct str operation_of(struct str target, enum api_family *out_family)
{
    static const char *const prefixes[] = {
        [API_DYNAMODB] = "DynamoDB_20120810.",
        [API_STREAMS] = "DynamoDBStreams_20120810.",
        [API_GRAMME] = "Gramme_20261115.",
    };
    for (size_t i = 0; i < COUNT_OF(prefixes); i++) {
        struct str prefix = str_from_c(prefixes[i]);
        if (str_starts_with(target, prefix)) {
            *out_family = (enum api_family)i;
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
    if (call->caller.directory != NULL) { /* credentials are checked again on the slow thread */
        guard_leave(&call->entry);
        auth_caller_release(&call->caller);
    }
    http_run_slowly(call->exchange, handle_on_slow_thread, call->router);
}

/* Refuses a request of a web page whose origin is not allowed. False: it is allowed. */
static bool refuse_origin(struct router *router, struct http_exchange *exchange)
{
    struct str origin;
    if (judge_origin(router, exchange, &origin) != CORS_REFUSED) {
        return false;
    }
    JSON_PUT(exchange->out,
             "{\"__type\":\"com.amazon.coral.service#AccessDeniedException\","
             "\"Message\":\"Web pages of this origin may not use the server. To allow "
             "them, start it with --cors ORIGIN.\"}");
    struct route_audit facts = {.service = "http",
                                .operation = STR("Origin"),
                                .resource = origin,
                                .error = ERR_ACCESS_DENIED};
    route_reply(router, exchange, 403, &facts);
    return true;
}

/* Whether the body is empty or valid JSON. */
static bool is_json(struct http_exchange *exchange)
{
    struct json_reader reader;
    json_reader_init(&reader, exchange->arena, exchange->body);
    return exchange->body.len == 0 || (json_skip(&reader) && json_at_end(&reader));
}

/* The target of a request. */
struct target {
    enum api_family family;
    struct str operation; /* STR_NULL: none */
    const struct op *op;  /* NULL: none of `family` */
    bool sets_clock;
    bool is_admin; /* `operation` is one of administration */
    bool is_known;
};

static struct target read_target(const struct router *router, const struct http_exchange *exchange)
{
    struct target target = {.family = API_DYNAMODB};
    struct str text = http_header(exchange, STR("x-amz-target"));
    target.operation = operation_of(text, &target.family);
    target.sets_clock = router->options.test_clock && str_eq(text, STR(SET_CLOCK_TARGET));
    if (router->options.users != NULL && str_starts_with(text, STR(ADMIN_TARGET))) {
        target.operation = str_skip(text, STR(ADMIN_TARGET).len);
        target.is_admin = target.is_known = admin_has_operation(target.operation);
        return target;
    }
    if (!str_is_null(target.operation)) {
        target.op = api_find_operation(target.family, target.operation);
    }
    target.is_known = target.sets_clock || target.op != NULL;
    return target;
}

/* Refuses a request that fails before its operation runs, and releases the caller. The service
 * checks first whether the body is JSON. */
static void refuse_request(struct router *router, struct http_exchange *exchange,
                           const struct target *target, struct auth_caller *caller, struct err *err)
{
    struct route_audit facts = {
        .service = target->is_admin ? "gramme" : "dynamodb",
        .operation = target->operation,
        .error = err->code,
    };
    route_audit_caller(&facts, caller);
    if (!is_json(exchange)) {
        *err = ERR_INIT(exchange->arena);
        err_set(err, ERR_SERIALIZATION, "%s", "");
    }
    route_refuse(router, exchange, err, &facts);
    auth_caller_release(caller);
}

static void handle_set_clock(struct router *router, struct http_exchange *exchange,
                             struct auth_caller *caller)
{
    struct err err = ERR_INIT(exchange->arena);
    bool good =
        guard_allow(router->options.guard, exchange, caller, STR("gramme:SetClock"), &err) &&
        set_clock(router->engine, exchange, &err);
    struct route_audit facts = {
        .service = "gramme", .operation = STR("SetClock"), .error = err.code, .is_change = true};
    route_audit_caller(&facts, caller);
    if (good) {
        route_reply(router, exchange, 200, &facts);
    } else {
        route_refuse(router, exchange, &err, &facts);
    }
    auth_caller_release(caller);
}

/* Handles SetClock and administration; the latter waits for the store, so it runs on slow threads.
 * False: the request is neither, and is not answered. */
static bool handle_special(struct router *router, struct http_exchange *exchange,
                           const struct target *target, struct auth_caller *caller)
{
    struct err err = ERR_INIT(exchange->arena);
    if (target->is_admin && caller->directory == NULL) { /* --auth warn: who asks is not known */
        err_set(&err, ERR_MISSING_AUTHENTICATION_TOKEN, MESSAGE_TOKEN_MISSING);
        refuse_request(router, exchange, target, caller, &err);
    } else if (target->is_admin && exchange->thread < router->options.loop_count) {
        auth_caller_release(caller);
        http_run_slowly(exchange, handle_on_slow_thread, router);
    } else if (target->is_admin) {
        route_handle_admin(router, exchange, target->operation, caller);
    } else if (target->sets_clock) {
        handle_set_clock(router, exchange, caller);
    } else {
        return false;
    }
    return true;
}

/* Checks the limits of the caller's key, and prepares authorization. */
static bool begin_checked_call(struct router *router, struct routed_call *call,
                               struct http_exchange *exchange, struct str operation,
                               struct err *err)
{
    if (!guard_enter(router->options.guard, exchange, &call->caller, operation, &call->entry,
                     err)) {
        return false;
    }
    call->guarded = ARENA_NEW(exchange->arena, struct guarded_call);
    guard_begin_call(router->options.guard, exchange, &call->caller, call->guarded);
    return true;
}

/* Whether the audit log will, or may, have an entry about the call. */
static bool notes_resources(const struct router *router, const struct routed_call *call,
                            const struct op *op)
{
    const struct audit *audit = router->options.audit;
    return UNLIKELY(audit != NULL) &&
           (call->guarded != NULL || audit_records_all(audit) || api_is_administrative(op));
}

/* Whether the console reads or writes for its user, which it says in a header. That of a page of
 * another host is ignored; other programs can send the console's origin too, so this must permit
 * nothing. */
static bool is_from_console(const struct http_exchange *exchange)
{
    return UNLIKELY(!str_is_null(http_header(exchange, STR("x-gramme-console")))) &&
           cors_is_same(http_header(exchange, STR("origin")), http_header(exchange, STR("host")));
}

/* The service checks first whether the body is JSON, then the target, then the credentials, then
 * the contents of the body. So the body is parsed here only if something else is wrong. */
static void handle_operation(struct router *router, struct http_exchange *exchange)
{
    struct err err = ERR_INIT(exchange->arena);
    struct target target = read_target(router, exchange);
    struct routed_call *call = ARENA_NEW(exchange->arena, struct routed_call);
    bool is_good =
        (target.is_known || err_set(&err, ERR_UNKNOWN_OPERATION, "%s", "")) &&
        guard_check(router->options.guard, exchange, STR("dynamodb"), &call->caller, &err);
    if (is_good && (target.is_admin || target.sets_clock) &&
        handle_special(router, exchange, &target, &call->caller)) {
        return;
    }
    if (is_good && call->caller.directory != NULL) {
        is_good = begin_checked_call(router, call, exchange, target.operation, &err);
    }
    if (!is_good) {
        refuse_request(router, exchange, &target, &call->caller, &err);
        return;
    }
    call->exchange = exchange;
    call->router = router;
    call->api = (struct api_call){
        .guard = call->guarded == NULL ? NULL : &call->guarded->api,
        .notes_resources = notes_resources(router, call, target.op),
        .is_from_console = is_from_console(exchange),
        .thread = router->threads[exchange->thread].api,
        .family = target.family,
        .operation = target.operation,
        .op = target.op,
        .body = exchange->body,
        .host = http_header(exchange, STR("host")),
        .arena = exchange->arena,
        .home = exchange->mailbox,
        .out = exchange->out,
        .out_is_exclusive = exchange->out_is_exclusive,
        .done = call_done,
        .move = exchange->thread < router->options.loop_count ? move_call : NULL,
    };
    api_run(&call->api);
}

/* A request of an unknown key is refused here. One that needs no key is answered when its body has
 * been received, so that must be small. */
void router_check_head(void *context, struct http_exchange *exchange)
{
    struct router *router = context;
    struct err err = ERR_INIT(exchange->arena);
    struct auth_caller nobody = {0};
    struct target target = read_target(router, exchange);
    bool is_post = str_eq(exchange->method, STR("POST"));
    if (is_post && refuse_origin(router, exchange)) {
        return;
    }
    bool is_insight = insight_pages_has(&router->insight, exchange->target);
    if (is_post && !is_insight && route_is_sts(router, exchange)) {
        route_check_sts_head(router, exchange);
    } else if (is_insight || (is_post && target.is_known)) {
        if (!guard_check_head(router->options.guard, exchange, STR("dynamodb"), &err)) {
            refuse_request(router, exchange, &target, &nobody, &err);
        }
    } else {
        exchange->body_bytes_max = ROUTE_SMALL_BODY_MAX;
    }
}

static void handle_health(struct router *router, struct http_exchange *exchange)
{
    struct str region = engine_region(router->engine);
    buf_format(exchange->out, "healthy: dynamodb.%.*s.amazonaws.com ", STR_ARG(region));
    http_reply(exchange, &(struct http_answer){
                             .status = 200,
                             .content_type = STR("text/plain"),
                             .headers = answer_headers(router, exchange),
                             .crc32_header = STR("x-amz-crc32"),
                         });
}

/* Answers the preflight request of a browser. */
static void handle_preflight(struct router *router, struct http_exchange *exchange)
{
    struct str origin;
    enum cors_verdict verdict = judge_origin(router, exchange, &origin);
    if (verdict != CORS_ALLOWED) {
        if (!refuse_origin(router, exchange)) {
            reply_not_found(router, exchange);
        }
        return;
    }
    struct cors_preflight asked = {
        .method = http_header(exchange, STR("access-control-request-method")),
        .headers = http_header(exchange, STR("access-control-request-headers")),
    };
    struct buf headers = {0};
    cors_write_preflight(&router->options.cors, origin, &asked, &headers);
    http_reply(exchange, &(struct http_answer){.status = 200, .headers = buf_str(&headers)});
    buf_finish(&headers);
}

static void handle_insight(struct router *router, struct http_exchange *exchange);

/* Whether a slow thread should handle the request. */
static bool body_is_slow(const struct http_exchange *exchange)
{
    struct mailbox *home = exchange->mailbox;
    if (exchange->body.len > BODY_HERE_MAX) {
        return true;
    }
    if (exchange->body.len <= BODY_SHORT_MAX) {
        return exchange->is_expensive && exchange->body.len > BODY_TINY_MAX;
    }
    if (exchange->is_expensive) {
        return true;
    }
    int64_t now_ns = clock_monotonic_ns();
    if (home->slice_until_ns == 0) {
        home->slice_until_ns = now_ns + SLICE_NS;
    }
    return now_ns >= home->slice_until_ns;
}

static void handle_post(struct router *router, struct http_exchange *exchange)
{
    if (insight_pages_has(&router->insight, exchange->target)) {
        handle_insight(router, exchange);
        return;
    }
    if (refuse_origin(router, exchange)) {
        return;
    }
    if (UNLIKELY(route_is_sts(router, exchange))) {
        route_handle_sts(router, exchange);
    } else if (str_is_null(answer_type(exchange))) {
        reply_not_found(router, exchange);
    } else if (UNLIKELY(body_is_slow(exchange))) {
        http_run_slowly(exchange, handle_on_slow_thread, router);
    } else {
        handle_operation(router, exchange);
    }
}

void router_drain(struct router *router)
{
    ready_drain(&router->ready);
}

static void handle_ready(struct router *router, struct http_exchange *exchange)
{
    ready_handle(&router->ready, exchange);
}

/* Paths and their functions, for GET and HEAD. */
static const struct {
    const char *path;
    void (*handle)(struct router *router, struct http_exchange *exchange);
} pages[] = {
    {"/", handle_health},
    {READY_TARGET, handle_ready},
};

/* The target without its query, which may contain a signature. */
static struct str path_of(struct str target)
{
    const char *question = memchr(target.data, '?', target.len);
    return question == NULL ? target : str_make(target.data, (size_t)(question - target.data));
}

/* A request for the insight API, until it has been answered on a slow thread; by then its caller
 * has been released. */
struct insight_call {
    struct insight_pages pages;
    struct router *router;
    struct route_audit facts;
    struct str request_id;
};

static void audit_insight(struct insight_pages *insight, struct http_exchange *exchange, int status)
{
    const struct insight_call *call = CONTAINER_OF(insight, struct insight_call, pages);
    if (call->router->options.audit != NULL) {
        route_audit(call->router, exchange, &call->facts, status, call->request_id);
    }
}

/* Answers requests for the insight API and the metrics: not for pages of other origins and, if
 * signatures are checked, only for callers whose policies allow it. */
static void handle_insight(struct router *router, struct http_exchange *exchange)
{
    struct err err = ERR_INIT(exchange->arena);
    struct auth_caller caller = {0};
    if (refuse_origin(router, exchange)) {
        return;
    }
    struct guard *guard = router->options.guard;
    bool reads = str_eq(exchange->method, STR("GET")) || str_eq(exchange->method, STR("HEAD"));
    struct str action = reads ? STR("gramme:GetInsight") : STR("gramme:ChangeInsight");
    bool good =
        !guard_checks(guard) || (guard_check(guard, exchange, STR("dynamodb"), &caller, &err) &&
                                 guard_allow(guard, exchange, &caller, action, &err));
    struct insight_call *call = ARENA_NEW(exchange->arena, struct insight_call);
    *call = (struct insight_call){
        .pages = router->insight,
        .router = router,
        .facts = {.service = "gramme",
                  .operation = str_skip(action, STR("gramme:").len),
                  .resource = path_of(exchange->target),
                  .error = err.code,
                  .is_change = !reads},
    };
    route_audit_caller(&call->facts, &caller);
    if (!good) {
        route_refuse(router, exchange, &err, &call->facts);
        auth_caller_release(&caller);
        return;
    }
    if (caller.directory != NULL) { /* which is released */
        call->facts.caller = arena_copy(exchange->arena, call->facts.caller);
        call->facts.key_id = arena_copy(exchange->arena, call->facts.key_id);
    }
    call->pages.answered = audit_insight;
    call->pages.headers = request_id_line(router, exchange, &call->request_id);
    auth_caller_release(&caller);
    insight_pages_handle(&call->pages, exchange);
}

static void handle_get(struct router *router, struct http_exchange *exchange)
{
    if (insight_pages_has(&router->insight, exchange->target)) {
        handle_insight(router, exchange);
        return;
    }
    for (size_t i = 0; i < COUNT_OF(pages); i++) {
        if (str_eq(exchange->target, str_from_c(pages[i].path))) {
            pages[i].handle(router, exchange);
            return;
        }
    }
    if (!router->options.console || !console_handle(exchange)) {
        reply_not_found(router, exchange);
    }
}

/* Refuses a request whose Host header names another server: DNS rebinding, see hosts.h. False: it
 * is allowed. */
static bool refuse_host(struct router *router, struct http_exchange *exchange)
{
    if (hosts_allow(&router->options.hosts, http_header(exchange, STR("host")))) {
        return false;
    }
    JSON_PUT(exchange->out, "{\"__type\":\"com.amazon.coral.service#AccessDeniedException\","
                            "\"Message\":\"The Host header does not name this server. To allow "
                            "the name, start it with --host NAME, or use --auth on.\"}");
    struct route_audit facts = {.service = "http",
                                .operation = STR("Host"),
                                .resource = http_header(exchange, STR("host")),
                                .error = ERR_ACCESS_DENIED};
    route_reply(router, exchange, 403, &facts);
    return true;
}

void router_handle(void *context, struct http_exchange *exchange)
{
    struct router *router = context;
    if (router->options.hosts.is_checked && refuse_host(router, exchange)) {
        return;
    }
    if (str_eq(exchange->method, STR("POST"))) {
        handle_post(router, exchange);
    } else if (str_eq(exchange->method, STR("OPTIONS"))) {
        handle_preflight(router, exchange);
    } else if (str_eq(exchange->method, STR("GET")) || str_eq(exchange->method, STR("HEAD"))) {
        handle_get(router, exchange);
    } else {
        reply_not_found(router, exchange);
    }
}
