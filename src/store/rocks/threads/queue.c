/* Queues of tasks for the threads of the store: see queue.h. The work queue is a list with a mutex
 * and a condition variable; the inbox is a lock-free stack with a semaphore, on which only the
 * committer sleeps. Any thread pushes; workers, slow threads, sweeper and scrubber pop from their
 * queue, the committer takes from the inbox. */
#include "store/rocks/threads/queue.h"

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
    assert(queue->oldest == NULL); /* its request would never be answered */
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
    pthread_cond_signal(&queue->came); /* after unlocking, so that the woken thread need not wait */
}

bool work_queue_is_empty(struct work_queue *queue)
{
    pthread_mutex_lock(&queue->mutex);
    bool is_empty = queue->oldest == NULL;
    pthread_mutex_unlock(&queue->mutex);
    return is_empty;
}

static struct task *take_oldest(struct work_queue *queue)
{
    struct task *task = queue->oldest;
    if (task != NULL) {
        queue->oldest = task->next;
        if (queue->oldest == NULL) {
            queue->newest_link = &queue->oldest;
        }
    }
    return task;
}

static struct timespec time_in(int64_t wait_ns)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    int64_t ns = time.tv_nsec + wait_ns % 1000000000;
    time.tv_sec += wait_ns / 1000000000 + ns / 1000000000;
    time.tv_nsec = ns % 1000000000;
    return time;
}

bool work_queue_pop_within(struct work_queue *queue, int64_t wait_ns, struct task **out)
{
    struct timespec until = time_in(wait_ns);
    int result = 0;
    pthread_mutex_lock(&queue->mutex);
    while (queue->oldest == NULL && !queue->closing && result != ETIMEDOUT) {
        result = wait_ns < 0
                     ? pthread_cond_wait(&queue->came, &queue->mutex)
                     : pthread_cond_clockwait(&queue->came, &queue->mutex, CLOCK_MONOTONIC, &until);
    }
    *out = take_oldest(queue);
    bool goes_on = *out != NULL || !queue->closing;
    pthread_mutex_unlock(&queue->mutex);
    return goes_on;
}

struct task *work_queue_pop(struct work_queue *queue)
{
    struct task *task;
    return work_queue_pop_within(queue, -1, &task) ? task : NULL;
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
    task_stack_init(&inbox->tasks);
    atomic_init(&inbox->count, 0);
    atomic_init(&inbox->wanted, 0);
    sem_init(&inbox->wake, 0, 0);
}

void inbox_finish(struct inbox *inbox)
{
    assert(atomic_load(&inbox->count) == 0); /* as above */
    sem_destroy(&inbox->wake);
}

/* A pusher increments `count` and then loads `wanted`; the owner stores `wanted` and then loads
 * `count`. All are sequentially consistent, so at least one of them sees the change of the other.
 * The thread that sets `wanted` to 0 wakes the owner. */
void inbox_push(struct inbox *inbox, struct task *task)
{
    task_stack_push(&inbox->tasks, task, task);
    int count = atomic_fetch_add(&inbox->count, 1) + 1;
    int wanted = atomic_load(&inbox->wanted);
    if (wanted != 0 && count >= wanted && atomic_exchange(&inbox->wanted, 0) != 0) {
        sem_post(&inbox->wake);
    }
}

bool inbox_is_empty(struct inbox *inbox)
{
    return task_stack_is_empty(&inbox->tasks);
}

void inbox_nudge(struct inbox *inbox)
{
    if (atomic_exchange(&inbox->wanted, 0) != 0) {
        sem_post(&inbox->wake);
    }
}

/* Waits for the semaphore. False: the time is over. */
static bool sleep_until_woken(struct inbox *inbox, int64_t wait_ns)
{
    struct timespec until = time_in(wait_ns);
    int result;
    do {
        result = wait_ns < 0 ? sem_wait(&inbox->wake)
                             : sem_clockwait(&inbox->wake, CLOCK_MONOTONIC, &until);
    } while (result != 0 && errno == EINTR);
    return result == 0;
}

static void wait_for_tasks(struct inbox *inbox, int wanted, int64_t wait_ns)
{
    atomic_store(&inbox->wanted, wanted);
    bool woken = atomic_load(&inbox->count) < wanted && sleep_until_woken(inbox, wait_ns);
    if (!woken && atomic_exchange(&inbox->wanted, 0) == 0) {
        sleep_until_woken(inbox, -1); /* a pusher is about to post the semaphore: consume it */
    }
}

struct task *inbox_take(struct inbox *inbox, int wanted, int64_t wait_ns)
{
    if (wait_ns != 0 && atomic_load(&inbox->count) < wanted) {
        wait_for_tasks(inbox, wanted, wait_ns);
    }
    int count;
    struct task *oldest = task_stack_take(&inbox->tasks, &count);
    atomic_fetch_sub(&inbox->count, count);
    return oldest;
}
