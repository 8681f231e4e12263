/* store/rocks/queue.h: two ways to hand tasks to the store's own threads. */
#ifndef GRAMME_STORE_ROCKS_QUEUE_H
#define GRAMME_STORE_ROCKS_QUEUE_H

#include <pthread.h>
#include <semaphore.h>

#include "base/mailbox.h"

/* Many threads take from it, one task at a time. */
struct work_queue {
    pthread_mutex_t mutex;
    pthread_cond_t came;
    struct task *oldest;
    struct task **newest_link;
    bool closing;
};

void work_queue_init(struct work_queue *queue);
void work_queue_finish(struct work_queue *queue);
void work_queue_push(struct work_queue *queue, struct task *task);
/* Whether no task waits now. A hint: it may change at any moment. */
MUST_USE bool work_queue_is_empty(struct work_queue *queue);
/* Waits for a task. NULL: closing and empty. */
MUST_USE struct task *work_queue_pop(struct work_queue *queue);
/* The same, but waits at most `wait_ns` (negative: for ever), and then gives NULL in *out. False:
 * closing and empty. */
MUST_USE bool work_queue_pop_within(struct work_queue *queue, int64_t wait_ns, struct task **out);
void work_queue_close(struct work_queue *queue);

/* One thread takes all that is there. Pushing is two atomic operations; only if the owner sleeps
 * does it need the kernel. */
struct inbox {
    _Atomic(struct task *) newest;
    atomic_int count;  /* of tasks; for a moment less, while one is being pushed */
    atomic_int wanted; /* the owner sleeps, or is about to, until so many are there; 0: no */
    sem_t wake;
};

void inbox_init(struct inbox *inbox);
void inbox_finish(struct inbox *inbox);
void inbox_push(struct inbox *inbox, struct task *task);
/* Of no use but as a hint: it may change at any moment. */
MUST_USE bool inbox_is_empty(struct inbox *inbox);
/* Lets the owner return from waiting though nothing came. */
void inbox_nudge(struct inbox *inbox);
/* Takes all tasks, oldest first. Waits until there are `wanted`, but at most `wait_ns` (negative:
 * for ever, 0: not at all). May return early with fewer, or NULL: after inbox_nudge(), and when a
 * push was interrupted between counting its task, which was then taken, and waking the owner. */
MUST_USE struct task *inbox_take(struct inbox *inbox, int wanted, int64_t wait_ns);

#endif
