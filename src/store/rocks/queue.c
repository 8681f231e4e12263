#include "store/rocks/queue.h"

#include <errno.h>
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
    pthread_mutex_unlock(&queue->mutex);
    pthread_cond_signal(&queue->came); /* whoever wakes finds the lock free */
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
    atomic_init(&inbox->asleep, false);
    sem_init(&inbox->wake, 0, 0);
}

void inbox_finish(struct inbox *inbox)
{
    sem_destroy(&inbox->wake);
}

/* Pushing looks at `asleep` after it has pushed, the owner looks for tasks after it has set
 * `asleep`, all in one order that every thread agrees upon: one of them sees the other. */
void inbox_push(struct inbox *inbox, struct task *task)
{
    struct task *before = atomic_load_explicit(&inbox->newest, memory_order_relaxed);
    do {
        task->next = before;
    } while (!atomic_compare_exchange_weak(&inbox->newest, &before, task));
    if (before == NULL && atomic_load(&inbox->asleep) && atomic_exchange(&inbox->asleep, false)) {
        sem_post(&inbox->wake);
    }
}

static bool is_empty(struct inbox *inbox)
{
    return atomic_load(&inbox->newest) == NULL;
}

/* False: the time is over. */
static bool sleep_until_woken(struct inbox *inbox, int64_t wait_ms)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    int64_t ns = until.tv_nsec + wait_ms % 1000 * 1000000;
    until.tv_sec += wait_ms / 1000 + ns / 1000000000;
    until.tv_nsec = ns % 1000000000;
    int result;
    do {
        result = wait_ms < 0 ? sem_wait(&inbox->wake)
                             : sem_clockwait(&inbox->wake, CLOCK_MONOTONIC, &until);
    } while (result != 0 && errno == EINTR);
    return result == 0;
}

static void wait_for_task(struct inbox *inbox, int64_t wait_ms)
{
    atomic_store(&inbox->asleep, true);
    bool woken = is_empty(inbox) && sleep_until_woken(inbox, wait_ms);
    if (!woken && !atomic_exchange(&inbox->asleep, false)) {
        sleep_until_woken(inbox, -1); /* somebody wakes us just now: let it be over */
    }
}

struct task *inbox_take(struct inbox *inbox, int64_t wait_ms)
{
    if (wait_ms != 0 && is_empty(inbox)) {
        wait_for_task(inbox, wait_ms);
    }
    struct task *task = atomic_exchange(&inbox->newest, NULL);
    struct task *oldest = NULL;
    while (task != NULL) { /* newest first: turn round */
        struct task *next = task->next;
        task->next = oldest;
        oldest = task;
        task = next;
    }
    return oldest;
}
