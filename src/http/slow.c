/* Slow threads do expensive work, so that the loops can serve other connections: they decompress
 * large bodies, compress large answers, run requests of http_run_slowly(), and free large buffers.
 * They have a low priority; the first of several, which does no heavy tasks, less so. A connection
 * has at most one task; the connection that has used the least processor time comes first
 * (slow_queue_internal.h).
 *
 * A request that waits for the store does not occupy its slow thread: the thread begins others
 * meanwhile, unless memory is short, and continues the request when a task arrives in its mailbox,
 * which is the home of all requests that it has begun.
 *
 * While a slow thread has a slot, its loop only receives bytes into slot->in. The slow thread
 * returns the slot through the loop's mailbox. */
#include "http/http_internal.h"

#include <pthread.h>
#include <signal.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/thread.h"
#include "err/messages.h"

enum {
    SLEEP_MS = 60 * 1000, /* of an idle thread: it is woken when there is something to do */
    /* A task is heavy if it has so many bytes, or if one of its connection has lately used so much
     * processor time. */
    HEAVY_BYTES = 256 * 1024,
    HEAVY_NS = 1000 * 1000,
    LIGHT_NICE = 5, /* of the thread for light tasks: a quarter of a processor when all are busy */
};

/* A large buffer that nobody uses any more, as the contents of that buffer. */
struct garbage {
    struct task task;
    struct slow_thread *thread; /* that frees it */
    struct garbage *next;
    size_t bytes; /* in the memory pool */
};

struct slow_thread {
    struct slow_pool *pool;
    int number; /* after the numbers of the loops */
    pthread_t thread;
    struct waiting_mailbox *box;
    struct task wake;
    atomic_bool is_woken; /* `wake` is in the mailbox */
    bool is_idle;         /* waits for slots; under the mutex of the pool */
    bool is_light;        /* does no heavy tasks */

    /* Used by the thread only. */
    struct coder coder;
    int open_count;               /* requests that have begun and were not replied to */
    struct request_slot *replied; /* they go back to their loops when no code of theirs runs */
    struct garbage *garbage;      /* to be freed */
};

struct slow_pool {
    struct memory_pool *memory; /* or NULL */
    pthread_mutex_t mutex;      /* of the queue and of the next */
    struct slow_queue queue;
    bool closing;
    int thread_count;  /* never changes */
    int started_count; /* only for slow_open() and slow_close() */
    struct slow_thread threads[];
};

/* On the loop's thread again ---------------------------------------------------------------- */

static void inflated(struct conn *conn)
{
    struct request_slot *slot = conn->slot;
    if (!receive_inflated(slot)) {
        conn_refuse_request(conn);
        slot->stage = STAGE_ANSWERED;
    } else {
        conn_call_handler(conn);
    }
}

static void on_back(struct task *task)
{
    struct request_slot *slot = CONTAINER_OF(task, struct request_slot, slow_task);
    struct conn *conn = slot->conn;
    enum slow_kind kind = slot->slow_kind;
    slot->slow_kind = SLOW_NOTHING;
    slot->slow_thread = NULL;
    if (conn->is_gone) {
        slot->stage = STAGE_ANSWERED;
    } else if (kind == SLOW_INFLATE) {
        inflated(conn);
    } else {
        answer_end(slot, &slot->answer);
        slot->stage = STAGE_ANSWERED;
    }
    if (slot->stage == STAGE_ANSWERED) {
        conn_be_ready(conn);
    }
    slow_start_wanted(slot);
}

/* Waking threads ---------------------------------------------------------------------------- */

static void be_awake(struct task *task)
{
    struct slow_thread *thread = CONTAINER_OF(task, struct slow_thread, wake);
    atomic_store(&thread->is_woken, false);
}

static void wake(struct slow_thread *thread)
{
    if (!atomic_exchange(&thread->is_woken, true)) { /* else the task is in the mailbox already */
        mailbox_post(waiting_mailbox_box(thread->box), &thread->wake);
    }
}

/* Returns a thread that waits for slots, or NULL. With the mutex of the pool. */
static struct slow_thread *take_idle(struct slow_pool *pool, bool for_heavy)
{
    for (int i = 0; i < pool->thread_count; i++) {
        if (pool->threads[i].is_idle && !(for_heavy && pool->threads[i].is_light)) {
            pool->threads[i].is_idle = false;
            return &pool->threads[i];
        }
    }
    return NULL;
}

/* On a slow thread -------------------------------------------------------------------------- */

static void add_replied(struct slow_thread *thread, struct request_slot *slot)
{
    slot->next_slow = thread->replied;
    thread->replied = slot;
}

static void run_exchange(struct slow_thread *thread, struct request_slot *slot)
{
    slot->slow_thread = thread;
    slot->exchange.mailbox = waiting_mailbox_box(thread->box);
    slot->exchange.thread = thread->number;
    thread->open_count++;
    slot->slow_run(slot->slow_context, &slot->exchange);
}

void slow_reply(struct request_slot *slot, const struct http_answer *answer)
{
    struct slow_thread *thread = slot->slow_thread;
    answer_keep(slot, answer);
    answer_compress(slot, &thread->coder);
    assert(thread->open_count > 0);
    thread->open_count--;
    add_replied(thread, slot);
}

static void run_kind(struct slow_thread *thread, struct request_slot *slot)
{
    switch (slot->slow_kind) {
    case SLOW_INFLATE:
        receive_inflate(slot, &thread->coder);
        add_replied(thread, slot);
        break;
    case SLOW_RUN:
        run_exchange(thread, slot);
        break;
    case SLOW_COMPRESS:
        answer_compress(slot, &thread->coder);
        add_replied(thread, slot);
        break;
    case SLOW_NOTHING:
        assert(!"a slot without a task");
    }
}

static void charge(struct conn *conn, int64_t used_ns)
{
    conn->slow_end_ns += used_ns;
    conn->slow_used_ns = MAX(used_ns, conn->slow_used_ns / 2);
}

/* A task is not begun if its client has disconnected: clients that send expensive requests and
 * disconnect would delay others, and the end of the server. */
static void run_task(struct slow_thread *thread, struct request_slot *slot)
{
    if (atomic_load_explicit(&slot->is_abandoned, memory_order_relaxed)) {
        slot->answer = (struct http_answer){0}; /* that of an earlier request */
        add_replied(thread, slot);
        return;
    }
    struct conn *conn = slot->conn; /* which the loop does not free before it has the slot again */
    int64_t start_ns = clock_thread_ns();
    conn->slow_end_ns = slot->slow_entry.start_ns;
    run_kind(thread, slot);
    charge(conn, clock_thread_ns() - start_ns);
}

/* Continues requests for which there are results. The time is charged to those that have ended. */
static void continue_open(struct slow_thread *thread)
{
    int64_t start_ns = clock_thread_ns();
    mailbox_drain(waiting_mailbox_box(thread->box));
    int64_t count = 0;
    for (struct request_slot *slot = thread->replied; slot != NULL; slot = slot->next_slow) {
        count++;
    }
    int64_t used_ns = count == 0 ? 0 : (clock_thread_ns() - start_ns) / count;
    for (struct request_slot *slot = thread->replied; slot != NULL; slot = slot->next_slow) {
        charge(slot->conn, used_ns);
    }
}

static void return_replied(struct slow_thread *thread)
{
    while (thread->replied != NULL) {
        struct request_slot *slot = thread->replied;
        thread->replied = slot->next_slow;
        if (slot->slow_kind == SLOW_RUN) {
            slot_drop_request(slot);
        }
        slot->slow_task.run = on_back;
        mailbox_post(&slot->conn->loop->mailbox, &slot->slow_task);
    }
}

/* Whether the thread may begin a request while others that it has begun wait for the store: each
 * holds the memory of its decoded body. */
static bool may_begin(const struct slow_thread *thread)
{
    const struct memory_pool *memory = thread->pool->memory;
    return thread->open_count == 0 || memory == NULL ||
           memory_pool_used(memory) <= memory->bytes_max / 2;
}

/* Takes the next slot. NULL: there is none, or the thread may not begin it: then another thread is
 * woken for it, and this one looks again when one of its open requests continues. */
static struct request_slot *take(struct slow_thread *thread, bool *out_over)
{
    struct slow_pool *pool = thread->pool;
    struct slow_entry *entry = NULL;
    struct slow_thread *other = NULL;
    pthread_mutex_lock(&pool->mutex);
    thread->is_idle = false;
    if (!may_begin(thread)) {
        other = slow_queue_is_empty(&pool->queue) ? NULL : take_idle(pool, true);
    } else {
        entry = slow_queue_take(&pool->queue, !thread->is_light);
        thread->is_idle = entry == NULL;
    }
    *out_over = pool->closing;
    pthread_mutex_unlock(&pool->mutex);
    if (other != NULL) {
        wake(other);
    }
    return entry == NULL ? NULL : CONTAINER_OF(entry, struct request_slot, slow_entry);
}

/* Not when the task runs: answers go first, and the time is not that of a request. */
static void free_garbage(struct slow_thread *thread)
{
    while (thread->garbage != NULL) {
        struct garbage *garbage = thread->garbage;
        thread->garbage = garbage->next;
        memory_pool_remove(thread->pool->memory, garbage->bytes);
        mem_free(garbage);
    }
}

static void *slow_main(void *argument)
{
    struct slow_thread *thread = argument;
    bool is_over = false;
    thread_lower_priority(thread->is_light ? LIGHT_NICE : THREAD_LOW_NICE);
    while (!is_over) {
        continue_open(thread);
        return_replied(thread);
        free_garbage(thread);
        struct request_slot *slot = take(thread, &is_over);
        if (slot != NULL) {
            run_task(thread, slot);
            return_replied(thread);
        } else if (!is_over) {
            waiting_mailbox_wait(thread->box, SLEEP_MS);
        }
    }
    mailbox_drain(waiting_mailbox_box(thread->box));
    free_garbage(thread);
    assert(thread->open_count == 0);
    return NULL;
}

/* Starting tasks ---------------------------------------------------------------------------- */

static bool is_heavy(const struct request_slot *slot)
{
    size_t bytes = slot->slow_kind == SLOW_COMPRESS ? slot->out.len : slot->exchange.body.len;
    return bytes > HEAVY_BYTES || slot->conn->slow_used_ns > HEAVY_NS;
}

static void push(struct request_slot *slot)
{
    struct slow_pool *pool = slot->conn->loop->server->slow;
    slot->slow_entry.is_heavy = is_heavy(slot);
    pthread_mutex_lock(&pool->mutex);
    slow_queue_push(&pool->queue, &slot->slow_entry, slot->conn->slow_end_ns);
    struct slow_thread *idle = take_idle(pool, slot->slow_entry.is_heavy);
    pthread_mutex_unlock(&pool->mutex);
    if (idle != NULL) {
        wake(idle);
    }
}

void slow_want(struct request_slot *slot, enum slow_kind kind)
{
    assert(slot->slow_kind == SLOW_NOTHING);
    slot->slow_kind = kind;
    slot->slow_is_wanted = true;
}

void slow_start_wanted(struct request_slot *slot)
{
    if (UNLIKELY(slot->slow_is_wanted)) {
        slot->slow_is_wanted = false;
        push(slot);
    }
}

void http_run_slowly(struct http_exchange *exchange, http_handler *run, void *context)
{
    struct request_slot *slot = CONTAINER_OF(exchange, struct request_slot, exchange);
    assert(slot->stage == STAGE_CALLING || slot->stage == STAGE_DEFERRED);
    assert(slot->slow_thread == NULL);
    slot->slow_run = run;
    slot->slow_context = context;
    slow_want(slot, SLOW_RUN);
    if (slot->stage == STAGE_DEFERRED) { /* else it starts when earlier answers were sent */
        slow_start_wanted(slot);
    }
}

/* Freeing buffers --------------------------------------------------------------------------- */

static void keep_garbage(struct task *task)
{
    struct garbage *garbage = CONTAINER_OF(task, struct garbage, task);
    garbage->next = garbage->thread->garbage;
    garbage->thread->garbage = garbage;
}

void slow_free(struct slow_pool *pool, struct buf *buf)
{
    struct slow_thread *thread = &pool->threads[0];
    struct garbage *garbage = (struct garbage *)buf->data;
    assert(buf->capacity >= sizeof(*garbage));
    *garbage = (struct garbage){.task.run = keep_garbage, .thread = thread, .bytes = buf->capacity};
    memory_pool_add(pool->memory, garbage->bytes);
    budget_release(buf->budget, buf->capacity);
    *buf = (struct buf){.budget = buf->budget};
    mailbox_post(waiting_mailbox_box(thread->box), &garbage->task);
}

/* The pool ---------------------------------------------------------------------------------- */

static bool start(struct slow_thread *thread, struct err *err)
{
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* other threads handle signals */
    int result = pthread_create(&thread->thread, NULL, slow_main, thread);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (result != 0) {
        return err_set(err, ERR_INTERNAL, MESSAGE_NO_THREAD);
    }
    pthread_setname_np(thread->thread, "http-slow");
    return true;
}

bool slow_open(struct http_server *server, struct err *err)
{
    int count = server->options.slow_thread_count;
    assert(count > 0);
    struct slow_pool *pool = mem_zalloc(sizeof(*pool) + (size_t)count * sizeof(struct slow_thread));
    pthread_mutex_init(&pool->mutex, NULL);
    pool->memory = server->options.memory;
    pool->thread_count = count;
    server->slow = pool;
    for (; pool->started_count < count; pool->started_count++) {
        struct slow_thread *thread = &pool->threads[pool->started_count];
        thread->pool = pool;
        thread->number = server->options.thread_count + pool->started_count;
        thread->is_light = count > 1 && pool->started_count == 0;
        thread->box = waiting_mailbox_create();
        thread->wake.run = be_awake;
        atomic_init(&thread->is_woken, false);
        if (!start(thread, err)) {
            waiting_mailbox_destroy(thread->box);
            return false;
        }
    }
    return true;
}

void slow_close(struct slow_pool *pool)
{
    if (pool == NULL) {
        return;
    }
    pthread_mutex_lock(&pool->mutex);
    assert(slow_queue_is_empty(&pool->queue)); /* every exchange has been replied to */
    pool->closing = true;
    pthread_mutex_unlock(&pool->mutex);
    for (int i = 0; i < pool->started_count; i++) {
        wake(&pool->threads[i]);
        pthread_join(pool->threads[i].thread, NULL);
        waiting_mailbox_destroy(pool->threads[i].box);
        coder_finish(&pool->threads[i].coder);
    }
    slow_queue_finish(&pool->queue);
    pthread_mutex_destroy(&pool->mutex);
    mem_free(pool);
}
