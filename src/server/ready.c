/* Readiness: probes the store with a write, which waits in the same queue as those of clients, and
 * checks free disk space and memory. Runs on the threads of the HTTP server. Each probe has a
 * thread of its own, because it may take longer than the answer to the request may wait. At most
 * one probe is under way, and at most one begins in a second, however many requests there are.
 * While memory for requests is used up, the HTTP server answers 503 itself (http_options.memory).
 */
#include "server/ready.h"

#include <sys/statvfs.h>

#include "base/clock.h"
#include "base/mem.h"

enum {
    FRESH_US = 1000 * 1000,    /* how long the result of a probe is used */
    SILENT_US = 2000 * 1000,   /* a probe that takes longer has failed: the queue is too long */
    DISK_BYTES_MIN = 64 << 20, /* with less free disk space compactions may fail */
};

/* A request that waits for the probe that it has begun; allocated from its arena. */
struct waiting {
    struct task task;
    struct ready *ready;
    struct http_exchange *exchange;
    int64_t waits_us; /* as in reply() */
};

void ready_init(struct ready *ready, struct engine *engine, const struct memory_pool *memory,
                const struct store *store)
{
    *ready =
        (struct ready){.engine = engine, .memory = memory, .directory = store_directory(store)};
    pthread_mutex_init(&ready->mutex, NULL);
    atomic_init(&ready->is_writable, true); /* opening the store has succeeded */
}

/* Returns the free disk space of the store; INT64_MAX if it has no directory. */
static int64_t disk_free_bytes(const struct ready *ready)
{
    struct statvfs disk;
    if (ready->directory == NULL) {
        return INT64_MAX;
    }
    return statvfs(ready->directory, &disk) == 0 ? (int64_t)disk.f_bavail * (int64_t)disk.f_frsize
                                                 : 0;
}

/* Whether a small request would not be refused for lack of memory. */
static bool has_room(const struct memory_pool *memory)
{
    return memory == NULL || memory_pool_limited(memory) + BUDGET_SMALL_BYTES <= memory->bytes_max;
}

/* `waits_us`: how long a probe has been under way; 0: none is. */
static void reply(struct ready *ready, struct http_exchange *exchange, int64_t waits_us)
{
    bool is_writable = atomic_load(&ready->is_writable) && waits_us <= SILENT_US;
    int64_t took_us = atomic_load(&ready->took_us);
    bool has_queue = MAX(took_us, waits_us) <= SILENT_US;
    int64_t free_bytes = disk_free_bytes(ready);
    bool has_disk = free_bytes >= DISK_BYTES_MIN;
    bool has_memory = has_room(ready->memory);
    bool may_serve = engine_may_serve(ready->engine);
    bool is_draining = atomic_load(&ready->is_draining);
    bool is_ready = is_writable && has_queue && has_disk && has_memory && may_serve && !is_draining;
    struct buf *out = exchange->out;
    buf_format(out, "{\"ready\":%s,\"store\":\"%s\",\"queue\":\"%s\",\"writeMicroseconds\":%lld",
               is_ready ? "true" : "false", is_writable ? "writable" : "not writable",
               has_queue ? "ok" : "full", (long long)took_us);
    if (ready->directory != NULL) {
        buf_format(out, ",\"disk\":\"%s\",\"diskFreeBytes\":%lld", has_disk ? "ok" : "full",
                   (long long)free_bytes);
    }
    if (ready->memory != NULL) {
        buf_format(out, ",\"memory\":\"%s\",\"memoryBytes\":%zu,\"memoryBytesMax\":%zu",
                   has_memory ? "ok" : "full", memory_pool_used(ready->memory),
                   ready->memory->bytes_max);
    }
    buf_format(out, ",\"lease\":\"%s\",\"stopping\":%s", may_serve ? "held" : "lost",
               is_draining ? "true" : "false");
    buf_format(out, ",\"clock\":\"%s\"}\n",
               engine_clock_is_doubted(ready->engine) ? "doubted" : "trusted");
    http_reply(exchange, &(struct http_answer){
                             .status = is_ready ? 200 : 503,
                             .content_type = STR("application/json"),
                             .headers = STR("Cache-Control: no-store\r\n"),
                         });
}

static void reply_to(struct task *task)
{
    struct waiting *waiting = CONTAINER_OF(task, struct waiting, task);
    reply(waiting->ready, waiting->exchange, waiting->waits_us);
}

/* Answers the request on its thread. */
static void answer(struct waiting *waiting, int64_t waits_us)
{
    waiting->waits_us = waits_us;
    waiting->task.run = reply_to;
    mailbox_post(waiting->exchange->mailbox, &waiting->task);
}

/* A probe; it lives on the stack of its thread. */
struct probe {
    struct engine_probe probe;
    bool done;
};

static void probe_done(struct engine_call *call)
{
    CONTAINER_OF(call, struct probe, probe.call)->done = true;
}

static void note_result(struct ready *ready, const struct probe *probe)
{
    int64_t now_us = clock_monotonic_us();
    atomic_store(&ready->is_writable, probe->probe.call.err.code == ERR_NONE);
    atomic_store(&ready->took_us, now_us - atomic_load(&ready->began_us));
    atomic_store(&ready->ended_us, now_us);
}

/* Probes the store, and answers the request: at once if the store is silent for too long. */
static void probe_and_answer(struct waiting *waiting, struct probe *probe,
                             struct waiting_mailbox *mailbox)
{
    struct ready *ready = waiting->ready;
    int64_t silent_us = atomic_load(&ready->began_us) + SILENT_US;
    int64_t left_us;
    engine_probe(&probe->probe);
    while (!probe->done && (left_us = silent_us - clock_monotonic_us()) >= 0) {
        waiting_mailbox_run_for(mailbox, left_us / 1000 + 1);
    }
    if (!probe->done) {
        answer(waiting, SILENT_US + 1);
        waiting_mailbox_run(mailbox, &probe->done);
        note_result(ready, probe);
    } else {
        note_result(ready, probe);
        answer(waiting, 0);
    }
}

static void *prober_main(void *arg)
{
    struct waiting *waiting = arg;
    struct ready *ready = waiting->ready;
    struct arena arena;
    arena_init(&arena);
    struct waiting_mailbox *mailbox = waiting_mailbox_create();
    struct probe probe = {.probe.call = {
                              .engine = ready->engine,
                              .arena = &arena,
                              .home = waiting_mailbox_box(mailbox),
                              .err = ERR_INIT(&arena),
                              .done = probe_done,
                          }};
    probe_and_answer(waiting, &probe, mailbox);
    waiting_mailbox_destroy(mailbox);
    arena_finish(&arena);
    atomic_store(&ready->began_us, 0); /* from here on another request may begin the next probe */
    return NULL;
}

static void join_prober(struct ready *ready)
{
    if (ready->has_prober) {
        pthread_join(ready->prober, NULL);
    }
}

/* Begins a probe, for the request that has set began_us. False: there is no thread for it. */
static bool begin_probe(struct ready *ready, struct http_exchange *exchange)
{
    struct waiting *waiting = ARENA_NEW(exchange->arena, struct waiting);
    *waiting = (struct waiting){.ready = ready, .exchange = exchange};
    pthread_mutex_lock(&ready->mutex); /* the last probe may have ended before it was noted below */
    join_prober(ready);
    bool ok = pthread_create(&ready->prober, NULL, prober_main, waiting) == 0;
    ready->has_prober = ok;
    if (ok) {
        pthread_setname_np(ready->prober, "ready-probe");
    }
    pthread_mutex_unlock(&ready->mutex);
    return ok;
}

void ready_finish(struct ready *ready)
{
    pthread_mutex_lock(&ready->mutex);
    join_prober(ready);
    pthread_mutex_unlock(&ready->mutex);
    pthread_mutex_destroy(&ready->mutex);
}

void ready_drain(struct ready *ready)
{
    atomic_store(&ready->is_draining, true);
}

void ready_handle(struct ready *ready, struct http_exchange *exchange)
{
    int64_t now_us = clock_monotonic_us();
    int64_t ended_us = atomic_load(&ready->ended_us);
    int64_t began_us = 0;
    bool is_known = ended_us != 0 && now_us - ended_us < FRESH_US;
    is_known = is_known || atomic_load(&ready->is_draining) || !engine_may_serve(ready->engine);
    if (is_known || !atomic_compare_exchange_strong(&ready->began_us, &began_us, now_us)) {
        reply(ready, exchange, began_us == 0 ? 0 : MAX(now_us - began_us, (int64_t)0));
    } else if (!begin_probe(ready, exchange)) {
        atomic_store(&ready->is_writable, false);
        atomic_store(&ready->began_us, 0);
        reply(ready, exchange, 0);
    }
}
