/* store/rocks/threads/queue.h: two queues of tasks for the threads of the store: one with many
 * consumers, and one with a single consumer that takes all tasks at once. Any thread may push. */
#ifndef GRAMME_STORE_ROCKS_THREADS_QUEUE_H
#define GRAMME_STORE_ROCKS_THREADS_QUEUE_H

#include <pthread.h>
#include <semaphore.h>

#include "base/mailbox.h"

/* A queue for several threads, each of which takes one task at a time. */
struct work_queue {
    pthread_mutex_t mutex;
    pthread_cond_t came;
    struct task *oldest;
    struct task **newest_link;
    bool closing;
};

/* Makes an empty queue. */
void work_queue_init(struct work_queue *queue);
/* Frees it; it must be empty and no thread may use it. */
void work_queue_finish(struct work_queue *queue);
/* Adds a task and wakes one waiting thread. */
void work_queue_push(struct work_queue *queue, struct task *task);
/* Returns whether the queue is empty. A hint: it may change at any moment. */
MUST_USE bool work_queue_is_empty(struct work_queue *queue);
/* Takes the oldest task; waits for one. NULL: the queue is closed and empty. */
MUST_USE struct task *work_queue_pop(struct work_queue *queue);
/* As work_queue_pop(), but waits at most `wait_ns` (negative: without limit); *out is NULL if the
 * time has passed. False: the queue is closed and empty. */
MUST_USE bool work_queue_pop_within(struct work_queue *queue, int64_t wait_ns, struct task **out);
/* Closes the queue: threads that wait return when it is empty. */
void work_queue_close(struct work_queue *queue);

/* A queue for one thread, the owner, which takes all tasks at once. A push is two atomic
 * operations, and a system call only if the owner sleeps. */
struct inbox {
    struct task_stack tasks;
    atomic_int count; /* of tasks; too small for a moment while one is being pushed */
    atomic_int
        wanted; /* the owner sleeps, or is about to, until there are so many; 0: it is awake */
    sem_t wake;
};

/* Makes an empty inbox. */
void inbox_init(struct inbox *inbox);
/* Frees it. */
void inbox_finish(struct inbox *inbox);
/* Adds a task. Any thread. */
void inbox_push(struct inbox *inbox, struct task *task);
/* Returns whether the inbox is empty. A hint: it may change at any moment. */
MUST_USE bool inbox_is_empty(struct inbox *inbox);
/* Wakes the owner if it waits in inbox_take(), although there may be no task. Any thread. */
void inbox_nudge(struct inbox *inbox);
/* Takes all tasks, oldest first. Waits until there are `wanted`, but at most `wait_ns` (negative:
 * without limit, 0: not at all). May return early with fewer, or NULL: after inbox_nudge(), and
 * when a push was interrupted between counting its task, which was then taken, and waking the
 * owner. Owner only. */
MUST_USE struct task *inbox_take(struct inbox *inbox, int wanted, int64_t wait_ns);

#endif
