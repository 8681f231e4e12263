/* Finds imports and bulk puts that are running, by their rows, and runs each on a thread of its
 * own, a few at a time; forgets those that ended long ago. Started by transfer.c. */
#include "transfer/loader.h"

#include "base/clock.h"
#include "base/mem.h"
#include "transfer/load_run_internal.h"

enum {
    WORKERS_MAX = 4,
    POLL_MS = 1000, /* another server may have started a load */
    RETRY_MS = 500,
    LIST_MAX = 64,
};
static const int64_t kept_ms = (int64_t)90 * 24 * 60 * 60 * 1000;
static const int64_t sweep_ms = (int64_t)60 * 60 * 1000;

/* One running load. */
struct worker {
    struct background background;
    struct loader *loader;
    struct arena arena;
    struct str row_name; /* null: no load */
    struct load load;
    bool is_started;
    atomic_bool is_over;
    enum load_result result;
};

struct loader {
    struct background background;
    struct engine *engine;
    struct objects *objects;
    struct worker workers[WORKERS_MAX];
    int64_t swept_ms; /* by load_clock_ms() */
    int64_t retry_us; /* before that nothing is started */
};

/* --- workers --- */

static int64_t worker_round(struct background *background)
{
    struct worker *worker = CONTAINER_OF(background, struct worker, background);
    if (!atomic_load(&worker->is_over)) {
        worker->result =
            load_run(background, worker->loader->objects, worker->row_name, &worker->load);
        atomic_store(&worker->is_over, true);
        background_wake(&worker->loader->background);
    }
    return (int64_t)POLL_MS * 60;
}

static void start_worker(struct loader *loader, struct worker *worker,
                         const struct load_entry *entry)
{
    struct err err;
    *worker = (struct worker){.loader = loader};
    arena_init(&worker->arena);
    err = ERR_INIT(&worker->arena);
    worker->row_name = arena_copy(&worker->arena, entry->row_name);
    struct str row = load_encode(&worker->arena, &entry->load);
    bool ok = load_decode(&worker->arena, row, &worker->load, &err); /* a copy that it owns */
    assert(ok);
    atomic_init(&worker->is_over, false);
    worker->is_started =
        background_start(&worker->background, loader->engine, "load-worker", worker_round, &err);
    if (!worker->is_started) {
        background_finish(&worker->background);
        arena_finish(&worker->arena);
        worker->row_name = STR_NULL;
    }
}

static void end_worker(struct worker *worker)
{
    background_stop(&worker->background);
    background_finish(&worker->background);
    arena_finish(&worker->arena);
    worker->is_started = false;
    worker->row_name = STR_NULL;
}

static void reap_workers(struct loader *loader)
{
    for (size_t i = 0; i < WORKERS_MAX; i++) {
        struct worker *worker = &loader->workers[i];
        if (worker->is_started && atomic_load(&worker->is_over)) {
            if (worker->result == LOAD_RUN_LATER) {
                loader->retry_us = clock_monotonic_us() + (int64_t)RETRY_MS * 1000;
            }
            end_worker(worker);
        }
    }
}

static bool is_at_work(const struct loader *loader, struct str row_name)
{
    for (size_t i = 0; i < WORKERS_MAX; i++) {
        const struct worker *worker = &loader->workers[i];
        if (worker->is_started && str_eq(worker->row_name, row_name)) {
            return true;
        }
    }
    return false;
}

/* A worker that is free; NULL: there is none. */
static struct worker *find_worker(struct loader *loader)
{
    for (size_t i = 0; i < WORKERS_MAX; i++) {
        if (!loader->workers[i].is_started) {
            return &loader->workers[i];
        }
    }
    return NULL;
}

/* --- rows --- */

struct list_wait {
    struct load_list list;
    bool done;
};

static void list_done(struct engine_call *call)
{
    CONTAINER_OF(call, struct list_wait, list.call)->done = true;
}

static bool list_loads(struct loader *loader, struct arena *arena, struct list_wait *wait)
{
    wait->done = false;
    wait->list.call = (struct engine_call){
        .engine = loader->engine,
        .arena = arena,
        .home = waiting_mailbox_box(loader->background.mailbox),
        .err = ERR_INIT(arena),
        .done = list_done,
    };
    wait->list.limit = LIST_MAX;
    engine_list_loads(&wait->list);
    waiting_mailbox_run(loader->background.mailbox, &wait->done);
    return wait->list.call.err.code == ERR_NONE;
}

/* Starts a load that no worker runs, if a worker is free. A cancelled load needs no worker: only
 * its row is written. */
static void start_load(struct loader *loader, const struct load_entry *entry)
{
    struct worker *worker = find_worker(loader);
    if (worker != NULL) {
        start_worker(loader, worker, entry);
    } else if (entry->load.state == LOAD_CANCELLING) {
        load_run(&loader->background, loader->objects, entry->row_name, &entry->load);
    }
}

/* Starts the loads that no worker runs, the oldest first. */
static void start_loads(struct loader *loader, enum load_kind kind)
{
    struct arena arena;
    arena_init(&arena);
    struct list_wait wait = {.list = {.kind = kind, .running = true}};
    bool ok = list_loads(loader, &arena, &wait);
    for (size_t i = wait.list.count; ok && i-- > 0;) {
        if (!is_at_work(loader, wait.list.entries[i].row_name)) {
            start_load(loader, &wait.list.entries[i]);
        }
    }
    arena_finish(&arena);
}

/* Forgets loads that ended more than 90 days ago. */
static void sweep(struct loader *loader, enum load_kind kind)
{
    struct arena arena;
    struct str before = STR_NULL;
    struct buf last = {0};
    bool more = true;
    arena_init(&arena);
    while (more && !background_is_stopping(&loader->background)) {
        arena_reset(&arena);
        before = last.len > 0 ? arena_copy(&arena, buf_str(&last)) : STR_NULL;
        struct list_wait wait = {.list = {.kind = kind, .before = before}};
        more = list_loads(loader, &arena, &wait) && wait.list.more;
        for (size_t i = 0; i < wait.list.count; i++) {
            const struct load_entry *entry = &wait.list.entries[i];
            bool is_old = load_is_over(&entry->load) &&
                          entry->load.end_ms + kept_ms < load_clock_ms(loader->engine);
            if (is_old &&
                !load_forget(&loader->background, &arena, entry->row_name, &entry->load)) {
                more = false; /* next time */
            }
        }
        last.len = 0;
        if (wait.list.count > 0) {
            buf_add(&last, wait.list.entries[wait.list.count - 1].row_name);
        }
    }
    buf_finish(&last);
    arena_finish(&arena);
}

static int64_t loader_round(struct background *background)
{
    struct loader *loader = CONTAINER_OF(background, struct loader, background);
    reap_workers(loader);
    if (!engine_leads_transfers(loader->engine)) {
        return POLL_MS;
    }
    int64_t now_us = clock_monotonic_us();
    if (now_us < loader->retry_us) {
        return (loader->retry_us - now_us) / 1000 + 1;
    }
    for (enum load_kind kind = 0; kind < LOAD_KINDS; kind++) {
        start_loads(loader, kind);
    }
    int64_t now_ms = load_clock_ms(loader->engine);
    if (loader->swept_ms + sweep_ms < now_ms || now_ms < loader->swept_ms) {
        loader->swept_ms = now_ms;
        for (enum load_kind kind = 0; kind < LOAD_KINDS; kind++) {
            sweep(loader, kind);
        }
    }
    return POLL_MS;
}

/* --- start and stop --- */

static void wake(void *context)
{
    background_wake(&((struct loader *)context)->background);
}

bool loader_start(struct engine *engine, struct objects *objects, struct loader **out,
                  struct err *err)
{
    struct loader *loader = mem_zalloc(sizeof(*loader));
    loader->engine = engine;
    loader->objects = objects;
    if (!background_start(&loader->background, engine, "load", loader_round, err)) {
        background_finish(&loader->background);
        mem_free(loader);
        return false;
    }
    engine_on_load(engine, wake, loader);
    *out = loader;
    return true;
}

void loader_stop(struct loader *loader)
{
    if (loader == NULL) {
        return;
    }
    engine_on_load(loader->engine, NULL, NULL);
    background_stop(&loader->background);
    for (size_t i = 0; i < WORKERS_MAX; i++) {
        if (loader->workers[i].is_started) {
            end_worker(&loader->workers[i]);
        }
    }
    background_finish(&loader->background);
    mem_free(loader);
}
