/* Slow threads: what takes long runs there, so that the loops are free for other connections:
 * inflating large bodies, compressing large answers, and requests that the handler hands over with
 * http_run_slowly(). They have a low priority. A connection has one task at most, and tasks are
 * taken in the order in which they came, so connections take turns.
 *
 * While a desk is with a slow thread, its loop only receives bytes into desk->in. It comes back
 * through the loop's mailbox. */
#include "http/http_internal.h"

#include <pthread.h>
#include <signal.h>

#include "base/mem.h"
#include "base/thread.h"

struct slow_thread {
    struct slow_pool *pool;
    int number; /* behind those of the loops */
    pthread_t thread;
    struct waiting_mailbox *box;
    struct coder coder;
};

struct slow_pool {
    pthread_mutex_t mutex;
    pthread_cond_t came;
    struct desk *oldest;
    struct desk **newest_link;
    bool closing;
    int started_count;
    struct slow_thread threads[];
};

/* On the loop's thread again ---------------------------------------------------------------- */

static void inflated(struct conn *conn)
{
    struct desk *desk = conn->desk;
    if (!receive_inflated(desk)) {
        conn_refuse_request(conn);
        desk->stage = STAGE_ANSWERED;
    } else {
        conn_call_handler(conn);
    }
}

static void on_back(struct task *task)
{
    struct desk *desk = CONTAINER_OF(task, struct desk, slow_task);
    struct conn *conn = desk->conn;
    enum slow_kind kind = desk->slow_kind;
    desk->slow_kind = SLOW_NOTHING;
    desk->slow_thread = NULL;
    if (conn->is_gone) {
        desk->stage = STAGE_ANSWERED;
    } else if (kind == SLOW_INFLATE) {
        inflated(conn);
    } else {
        answer_end(desk, &desk->answer);
        desk->stage = STAGE_ANSWERED;
    }
    if (desk->stage == STAGE_ANSWERED) {
        conn_be_ready(conn);
    }
    slow_start_wanted(desk);
}

/* On a slow thread -------------------------------------------------------------------------- */

static void run_exchange(struct slow_thread *thread, struct desk *desk)
{
    desk->slow_thread = thread;
    desk->slow_is_done = false;
    desk->exchange.mailbox = waiting_mailbox_box(thread->box);
    desk->exchange.thread = thread->number;
    desk->slow_run(desk->slow_context, &desk->exchange);
    waiting_mailbox_run(thread->box, &desk->slow_is_done);
}

void slow_reply(struct desk *desk, const struct http_answer *answer)
{
    answer_keep(desk, answer);
    answer_compress(desk, &desk->slow_thread->coder);
    desk->slow_is_done = true;
}

static void run_kind(struct slow_thread *thread, struct desk *desk)
{
    switch (desk->slow_kind) {
    case SLOW_INFLATE:
        receive_inflate(desk, &thread->coder);
        break;
    case SLOW_RUN:
        run_exchange(thread, desk);
        break;
    case SLOW_COMPRESS:
        answer_compress(desk, &thread->coder);
        break;
    case SLOW_NOTHING:
        assert(!"a desk without a task");
    }
}

/* What nobody waits for any more is not begun: clients that send expensive requests and leave would
 * keep others waiting, and the server from stopping. */
static void run_task(struct slow_thread *thread, struct desk *desk)
{
    if (!atomic_load_explicit(&desk->is_abandoned, memory_order_relaxed)) {
        run_kind(thread, desk);
    }
    desk->slow_task.run = on_back;
    mailbox_post(&desk->conn->loop->mailbox, &desk->slow_task);
}

/* Waits for a desk. NULL: the pool is closing. */
static struct desk *take(struct slow_pool *pool)
{
    pthread_mutex_lock(&pool->mutex);
    while (pool->oldest == NULL && !pool->closing) {
        pthread_cond_wait(&pool->came, &pool->mutex);
    }
    struct desk *desk = pool->oldest;
    if (desk != NULL) {
        pool->oldest = desk->next_slow;
        pool->newest_link = pool->oldest == NULL ? &pool->oldest : pool->newest_link;
    }
    pthread_mutex_unlock(&pool->mutex);
    return desk;
}

static void *slow_main(void *argument)
{
    struct slow_thread *thread = argument;
    struct desk *desk;
    thread_lower_priority();
    while ((desk = take(thread->pool)) != NULL) {
        run_task(thread, desk);
    }
    return NULL;
}

/* Starting tasks ---------------------------------------------------------------------------- */

static void push(struct desk *desk)
{
    struct slow_pool *pool = desk->conn->loop->server->slow;
    desk->next_slow = NULL;
    pthread_mutex_lock(&pool->mutex);
    *pool->newest_link = desk;
    pool->newest_link = &desk->next_slow;
    pthread_mutex_unlock(&pool->mutex);
    pthread_cond_signal(&pool->came);
}

void slow_want(struct desk *desk, enum slow_kind kind)
{
    assert(desk->slow_kind == SLOW_NOTHING);
    desk->slow_kind = kind;
    desk->slow_is_wanted = true;
}

void slow_start_wanted(struct desk *desk)
{
    if (UNLIKELY(desk->slow_is_wanted)) {
        desk->slow_is_wanted = false;
        push(desk);
    }
}

void http_run_slowly(struct http_exchange *exchange, http_handler *run, void *context)
{
    struct desk *desk = CONTAINER_OF(exchange, struct desk, exchange);
    assert(desk->stage == STAGE_CALLING || desk->stage == STAGE_DEFERRED);
    assert(desk->slow_thread == NULL);
    desk->slow_run = run;
    desk->slow_context = context;
    slow_want(desk, SLOW_RUN);
    if (desk->stage == STAGE_DEFERRED) { /* else after the answers before it have been sent */
        slow_start_wanted(desk);
    }
}

/* The pool ---------------------------------------------------------------------------------- */

static bool start(struct slow_thread *thread, struct err *err)
{
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* signals are for the program's other threads */
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
