#include "store/rocks/queue.h"

#include <time.h>

void work_queue_init(struct work_queue *queue)
{
    pthread_mutex_init(&queue->mutex, NULL);
    pthread_cond_init(&queue->came, NULL);
    queue->oldest = NULL;
    queue->newest_link = &queue->oldest;
    queue->closing = false;
}

void work_queue_finish(struct work_queue *queue)
{
    pthread_cond_destroy(&queue->came);
    pthread_mutex_destroy(&queue->mutex);
}

void work_queue_push(struct work_queue *queue, struct task *task)
{
    task->next = NULL;
    pthread_mutex_lock(&queue->mutex);
    *queue->newest_link = task;
    queue->newest_link = &task->next;
    pthread_cond_signal(&queue->came);
    pthread_mutex_unlock(&queue->mutex);
}

struct task *work_queue_pop(struct work_queue *queue)
{
    pthread_mutex_lock(&queue->mutex);
    while (queue->oldest == NULL && !queue->closing) {
        pthread_cond_wait(&queue->came, &queue->mutex);
    }
    struct task *task = queue->oldest;
    if (task != NULL) {
        queue->oldest = task->next;
        if (queue->oldest == NULL) {
            queue->newest_link = &queue->oldest;
        }
    }
    pthread_mutex_unlock(&queue->mutex);
    return task;
}

void work_queue_close(struct work_queue *queue)
{
    pthread_mutex_lock(&queue->mutex);
    queue->closing = true;
    pthread_cond_broadcast(&queue->came);
    pthread_mutex_unlock(&queue->mutex);
}

void inbox_init(struct inbox *inbox)
{
    atomic_init(&inbox->newest, NULL);
    pthread_mutex_init(&inbox->mutex, NULL);
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&inbox->came, &attr);
    pthread_condattr_destroy(&attr);
}

void inbox_finish(struct inbox *inbox)
{
    pthread_cond_destroy(&inbox->came);
    pthread_mutex_destroy(&inbox->mutex);
}

static void wake(struct inbox *inbox)
{
    pthread_mutex_lock(&inbox->mutex);
    pthread_cond_signal(&inbox->came);
    pthread_mutex_unlock(&inbox->mutex);
}

void inbox_push(struct inbox *inbox, struct task *task)
{
    struct task *before = atomic_load_explicit(&inbox->newest, memory_order_relaxed);
    do {
        task->next = before;
    } while (!atomic_compare_exchange_weak_explicit(&inbox->newest, &before, task,
                                                    memory_order_release, memory_order_relaxed));
    if (before == NULL) {
        wake(inbox);
    }
}

static bool is_empty(struct inbox *inbox)
{
    return atomic_load_explicit(&inbox->newest, memory_order_relaxed) == NULL;
}

static void wait_for_task(struct inbox *inbox, int64_t wait_ms)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    int64_t ns = until.tv_nsec + wait_ms % 1000 * 1000000;
    until.tv_sec += wait_ms / 1000 + ns / 1000000000;
    until.tv_nsec = ns % 1000000000;
    pthread_mutex_lock(&inbox->mutex);
    int waited = 0;
    while (is_empty(inbox) && waited == 0) {
        waited = wait_ms < 0 ? pthread_cond_wait(&inbox->came, &inbox->mutex)
                             : pthread_cond_timedwait(&inbox->came, &inbox->mutex, &until);
    }
    pthread_mutex_unlock(&inbox->mutex);
}

struct task *inbox_take(struct inbox *inbox, int64_t wait_ms)
{
    if (is_empty(inbox)) {
        wait_for_task(inbox, wait_ms);
    }
    struct task *task = atomic_exchange_explicit(&inbox->newest, NULL, memory_order_acquire);
    struct task *oldest = NULL;
    while (task != NULL) { /* newest first: turn round */
        struct task *next = task->next;
        task->next = oldest;
        oldest = task;
        task = next;
    }
    return oldest;
}
