/* Slow threads do expensive work, so that the loops can serve other connections: they decompress
 * large bodies, compress large answers, and run requests of http_run_slowly(). They have a low
 * priority. A connection has at most one task, and tasks run in the order in which they were
 * queued, so that connections take turns.
 *
 * While a slow thread has a slot, its loop only receives bytes into slot->in. The slow thread
 * returns the slot through the loop's mailbox. */
#include "http/http_internal.h"

#include <pthread.h>
#include <signal.h>

#include "base/mem.h"
#include "base/thread.h"

struct slow_thread {
    struct slow_pool *pool;
    int number; /* after the numbers of the loops */
    pthread_t thread;
    struct waiting_mailbox *box;
    struct coder coder;
};

struct slow_pool {
    pthread_mutex_t mutex;
    pthread_cond_t came;
    struct request_slot *oldest;
    struct request_slot **newest_link;
    bool closing;
    int started_count;
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

/* On a slow thread -------------------------------------------------------------------------- */

static void run_exchange(struct slow_thread *thread, struct request_slot *slot)
{
    slot->slow_thread = thread;
    slot->slow_is_done = false;
    slot->exchange.mailbox = waiting_mailbox_box(thread->box);
    slot->exchange.thread = thread->number;
    slot->slow_run(slot->slow_context, &slot->exchange);
    waiting_mailbox_run(thread->box, &slot->slow_is_done);
}

void slow_reply(struct request_slot *slot, const struct http_answer *answer)
{
    answer_keep(slot, answer);
    answer_compress(slot, &slot->slow_thread->coder);
    slot->slow_is_done = true;
}

static void run_kind(struct slow_thread *thread, struct request_slot *slot)
{
    switch (slot->slow_kind) {
    case SLOW_INFLATE:
        receive_inflate(slot, &thread->coder);
        break;
    case SLOW_RUN:
        run_exchange(thread, slot);
        break;
    case SLOW_COMPRESS:
        answer_compress(slot, &thread->coder);
        break;
    case SLOW_NOTHING:
        assert(!"a slot without a task");
    }
}

/* A task is not begun if its client has disconnected: clients that send expensive requests and
 * disconnect would delay others, and the end of the server. */
static void run_task(struct slow_thread *thread, struct request_slot *slot)
{
    if (!atomic_load_explicit(&slot->is_abandoned, memory_order_relaxed)) {
        run_kind(thread, slot);
    }
    slot->slow_task.run = on_back;
    mailbox_post(&slot->conn->loop->mailbox, &slot->slow_task);
}

/* Waits for a slot. NULL: the pool is closing. */
static struct request_slot *take(struct slow_pool *pool)
{
    pthread_mutex_lock(&pool->mutex);
    while (pool->oldest == NULL && !pool->closing) {
        pthread_cond_wait(&pool->came, &pool->mutex);
    }
    struct request_slot *slot = pool->oldest;
    if (slot != NULL) {
        pool->oldest = slot->next_slow;
        pool->newest_link = pool->oldest == NULL ? &pool->oldest : pool->newest_link;
    }
    pthread_mutex_unlock(&pool->mutex);
    return slot;
}

static void *slow_main(void *argument)
{
    struct slow_thread *thread = argument;
    struct request_slot *slot;
    thread_lower_priority();
    while ((slot = take(thread->pool)) != NULL) {
        run_task(thread, slot);
    }
    return NULL;
}

/* Starting tasks ---------------------------------------------------------------------------- */

static void push(struct request_slot *slot)
{
    struct slow_pool *pool = slot->conn->loop->server->slow;
    slot->next_slow = NULL;
    pthread_mutex_lock(&pool->mutex);
    *pool->newest_link = slot;
    pool->newest_link = &slot->next_slow;
    pthread_mutex_unlock(&pool->mutex);
    pthread_cond_signal(&pool->came);
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
        return err_set(err, ERR_INTERNAL, "cannot start a thread");
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
    pthread_cond_init(&pool->came, NULL);
    pool->newest_link = &pool->oldest;
    server->slow = pool;
    for (; pool->started_count < count; pool->started_count++) {
        struct slow_thread *thread = &pool->threads[pool->started_count];
        thread->pool = pool;
        thread->number = server->options.thread_count + pool->started_count;
        thread->box = waiting_mailbox_create();
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
    assert(pool->oldest == NULL); /* every exchange has been replied to */
    pool->closing = true;
    pthread_cond_broadcast(&pool->came);
    pthread_mutex_unlock(&pool->mutex);
    for (int i = 0; i < pool->started_count; i++) {
        pthread_join(pool->threads[i].thread, NULL);
        waiting_mailbox_destroy(pool->threads[i].box);
        coder_finish(&pool->threads[i].coder);
    }
    pthread_cond_destroy(&pool->came);
    pthread_mutex_destroy(&pool->mutex);
    mem_free(pool);
}
