/* store/rocks/queue.h: two ways to hand tasks to the store's own threads. */
#ifndef GRAMME_STORE_ROCKS_QUEUE_H
#define GRAMME_STORE_ROCKS_QUEUE_H

#include <pthread.h>

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
/* Waits for a task. NULL: closing and empty. */
MUST_USE struct task *work_queue_pop(struct work_queue *queue);
void work_queue_close(struct work_queue *queue);

/* One thread takes all that is there. As long as something is there, pushing is one exchange of
 * a pointer: whoever pushes into an empty inbox wakes the owner. */
struct inbox {
    _Atomic(struct task *) newest;
    pthread_mutex_t mutex; /* only to sleep and to wake */
    pthread_cond_t came;
};

void inbox_init(struct inbox *inbox);
void inbox_finish(struct inbox *inbox);
void inbox_push(struct inbox *inbox, struct task *task);
/* The list of all tasks, oldest first; waits for one for at most `wait_ms` (negative: for ever).
 * NULL: none came. */
MUST_USE struct task *inbox_take(struct inbox *inbox, int64_t wait_ms);

#endif
