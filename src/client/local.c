/* The transport to the engine in the same process. A call runs on the calling thread with a `struct
 * caller`: the state that src/api has per thread, an arena, and a mailbox to wait at while the
 * store works. Callers are kept for reuse, so there are as many as there were concurrent calls. */
#include <pthread.h>

#include "api/api.h"
#include "base/mem.h"
#include "client/error_internal.h"
#include "client/transport_internal.h"
#include "err/messages.h"

/* As the server has it: http/http.h. */
enum { BODY_BYTES_MAX = 16 * 1024 * 1024 };

struct caller {
    struct caller *next; /* in the list of free ones */
    struct api_thread *api;
    struct waiting_mailbox *mailbox;
    struct arena arena;
    struct api_call call;
    bool done;
};

struct local {
    struct transport transport;
    struct store *store;
    struct engine *engine;
    bool is_alone;        /* no server can use the store at the same time */
    pthread_mutex_t lock; /* of `free` */
    struct caller *free;
};

static struct caller *caller_create(struct engine *engine)
{
    struct caller *caller = mem_zalloc(sizeof(*caller));
    caller->api = api_thread_create(engine);
    caller->mailbox = waiting_mailbox_create();
    waiting_mailbox_box(caller->mailbox)->may_block = true; /* the thread serves this call only */
    arena_init(&caller->arena);
    return caller;
}

static void caller_destroy(struct caller *caller)
{
    api_thread_destroy(caller->api);
    waiting_mailbox_destroy(caller->mailbox);
    arena_finish(&caller->arena);
    mem_free(caller);
}

static struct caller *take_caller(struct local *local)
{
    pthread_mutex_lock(&local->lock);
    struct caller *caller = local->free;
    if (caller != NULL) {
        local->free = caller->next;
    }
    pthread_mutex_unlock(&local->lock);
    return caller != NULL ? caller : caller_create(local->engine);
}

static void return_caller(struct local *local, struct caller *caller)
{
    arena_reset(&caller->arena);
    pthread_mutex_lock(&local->lock);
    caller->next = local->free;
    local->free = caller;
    pthread_mutex_unlock(&local->lock);
}

static void call_done(struct api_call *call)
{
    CONTAINER_OF(call, struct caller, call)->done = true;
}

/* Whether a server carries the operation out after it is answered (src/transfer). */
static bool needs_server(struct str operation)
{
    return str_eq(operation, STR("ExportTableToPointInTime")) ||
           str_eq(operation, STR("ImportTable")) || str_eq(operation, STR("StartBulkPutItems"));
}

static void local_call(struct transport *transport, struct attempt *attempt)
{
    static const enum api_family families[] = {[FAMILY_DYNAMODB] = API_DYNAMODB,
                                               [FAMILY_STREAMS] = API_STREAMS,
                                               [FAMILY_GRAMME] = API_GRAMME};
    struct local *local = CONTAINER_OF(transport, struct local, transport);
    if (!str_is_null(attempt->page)) {
        attempt_fail(attempt, GRAMME_BAD_ADDRESS, "the insight API needs the URL of a server");
        return;
    }
    if (local->is_alone && needs_server(attempt->operation)) {
        attempt_fail(attempt, GRAMME_BAD_ADDRESS,
                     "only a server exports to and imports from buckets: start `gramme serve` on "
                     "this store");
        return;
    }
    if (attempt->body.len > BODY_BYTES_MAX) {
        attempt->status = 413;
        buf_add(&attempt->answer, STR(MESSAGE_BODY_TOO_LARGE));
        return;
    }
    struct caller *caller = take_caller(local);
    caller->done = false;
    caller->call = (struct api_call){
        .thread = caller->api,
        .family = families[attempt->family],
        .operation = attempt->operation,
        .body = attempt->body,
        .arena = &caller->arena,
        .home = waiting_mailbox_box(caller->mailbox),
        .out = &attempt->answer,
        .out_is_exclusive = true,
        .done = call_done,
    };
    api_run(&caller->call);
    waiting_mailbox_run(caller->mailbox, &caller->done);
    attempt->status = caller->call.status;
    return_caller(local, caller);
}

static void local_close(struct transport *transport)
{
    struct local *local = CONTAINER_OF(transport, struct local, transport);
    engine_close(local->engine);
    store_close(local->store); /* before the mailboxes, to which it may still post */
    while (local->free != NULL) {
        struct caller *caller = local->free;
        local->free = caller->next;
        caller_destroy(caller);
    }
    pthread_mutex_destroy(&local->lock);
    mem_free(local);
}

static struct str or_default(const char *text, const char *fallback)
{
    return str_from_c(text != NULL ? text : fallback);
}

bool local_open(const char *url, const struct gramme_options *options, struct transport **out,
                struct gramme_error **error)
{
    struct local *local = mem_zalloc(sizeof(*local));
    local->transport = (struct transport){local_call, local_close, 1};
    pthread_mutex_init(&local->lock, NULL);
    local->is_alone = !store_url_is_shared(str_from_c(url));
    struct engine_options engine_options = {
        .region = or_default(options->region, "us-east-1"),
        .account = or_default(options->account, "000000000000"),
    };
    struct arena arena;
    arena_init(&arena);
    struct err err = ERR_INIT(&arena);
    struct store_options store_options = {
        .worker_count = 2,
        .cache_bytes = (size_t)(options->cache_mb > 0 ? options->cache_mb : 64) * 1024 * 1024,
        .owner = arena_format(&arena, "%.*s/%.*s", STR_ARG(engine_options.account),
                              STR_ARG(engine_options.region)),
        .claims = true,
    };
    bool opened = store_open(str_from_c(url), &store_options, &local->store, &err) &&
                  engine_open(local->store, &engine_options, &local->engine, &err);
    if (opened) {
        *out = &local->transport;
    } else {
        error_set(error, GRAMME_CANNOT_OPEN, "%.*s", STR_ARG(err.message));
        local_close(&local->transport);
    }
    arena_finish(&arena);
    return opened;
}
