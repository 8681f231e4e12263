/* The engine in the same process. A call runs on the caller's thread, at a desk: what api/ keeps
 * per thread, an arena, and a mailbox to sleep at while the store works. Desks are kept for the
 * next caller, so there are as many as there were ever callers at once. */
#include <pthread.h>

#include "api/api.h"
#include "base/mem.h"
#include "client/error_internal.h"
#include "client/transport_internal.h"

/* As the server has it: http/http.h. */
enum { BODY_BYTES_MAX = 16 * 1024 * 1024 };

struct desk {
    struct desk *next; /* among those that are free */
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
    pthread_mutex_t lock; /* of `free` */
    struct desk *free;
};

static struct desk *desk_create(struct engine *engine)
{
    struct desk *desk = mem_zalloc(sizeof(*desk));
    desk->api = api_thread_create(engine);
    desk->mailbox = waiting_mailbox_create();
    waiting_mailbox_box(desk->mailbox)->may_block = true; /* the caller waits for nothing else */
    arena_init(&desk->arena);
    return desk;
}

static void desk_destroy(struct desk *desk)
{
    api_thread_destroy(desk->api);
    waiting_mailbox_destroy(desk->mailbox);
    arena_finish(&desk->arena);
    mem_free(desk);
}

static struct desk *take_desk(struct local *local)
{
    pthread_mutex_lock(&local->lock);
    struct desk *desk = local->free;
    if (desk != NULL) {
        local->free = desk->next;
    }
    pthread_mutex_unlock(&local->lock);
    return desk != NULL ? desk : desk_create(local->engine);
}

static void give_desk(struct local *local, struct desk *desk)
{
    arena_reset(&desk->arena);
    pthread_mutex_lock(&local->lock);
    desk->next = local->free;
    local->free = desk;
    pthread_mutex_unlock(&local->lock);
}

static void call_done(struct api_call *call)
{
    CONTAINER_OF(call, struct desk, call)->done = true;
}

static void local_call(struct transport *transport, struct exchange *exchange)
{
    struct local *local = CONTAINER_OF(transport, struct local, transport);
    if (exchange->body.len > BODY_BYTES_MAX) {
        exchange->status = 413;
        buf_add(&exchange->answer, STR("request body too large"));
        return;
    }
    struct desk *desk = take_desk(local);
    desk->done = false;
    desk->call = (struct api_call){
        .thread = desk->api,
        .service = exchange->is_of_streams ? API_STREAMS : API_DYNAMODB,
        .operation = exchange->operation,
        .body = exchange->body,
        .arena = &desk->arena,
        .home = waiting_mailbox_box(desk->mailbox),
        .out = &exchange->answer,
        .out_is_exclusive = true,
        .done = call_done,
    };
    api_run(&desk->call);
    waiting_mailbox_run(desk->mailbox, &desk->done);
    exchange->status = desk->call.status;
    give_desk(local, desk);
}

static void local_close(struct transport *transport)
{
    struct local *local = CONTAINER_OF(transport, struct local, transport);
    engine_close(local->engine);
    store_close(local->store); /* before the mailboxes: it may still post to them */
    while (local->free != NULL) {
        struct desk *desk = local->free;
        local->free = desk->next;
        desk_destroy(desk);
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
    struct store_options store_options = {.worker_count = 2};
    store_options.cache_bytes =
        (size_t)(options->cache_mb > 0 ? options->cache_mb : 64) * 1024 * 1024;
    struct engine_options engine_options = {
        .region = or_default(options->region, "us-east-1"),
        .account = or_default(options->account, "000000000000"),
    };
    struct arena arena;
    arena_init(&arena);
    struct err err = ERR_INIT(&arena);
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
