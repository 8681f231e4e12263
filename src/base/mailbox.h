/* base/mailbox.h: a queue of tasks for one thread. Any thread posts tasks. The owner thread drains
 * the queue and runs them; tasks of one poster run in the order in which they were posted. */
#ifndef GRAMME_BASE_MAILBOX_H
#define GRAMME_BASE_MAILBOX_H

#include <stdatomic.h>

#include "base/task_stack.h"

struct mailbox {
    struct task_stack tasks;
    void (*wake)(struct mailbox *mailbox); /* called by the poster when the queue was empty */
    bool may_block; /* The owner thread may block: it serves a single client. */
    /* The owner thread serves many clients in turn. Work that is started in one round of events may
     * use the thread until slice_until_ns (CLOCK_MONOTONIC; 0: not set in this round yet); the rest
     * continues on other threads. Owner only. */
    bool has_slices;
    int64_t slice_until_ns;
    /* Requests that were begun in this round, and those of them that read long ranges. If there are
     * others, long ranges leave the thread when the slice is over, until leave_until_ns. */
    int request_count;
    int long_count;
    int64_t leave_until_ns;
};

/* Makes an empty mailbox. `wake` is called on the posting thread when a task is posted to an empty
 * queue; it must make the owner call mailbox_drain(). */
void mailbox_init(struct mailbox *mailbox, void (*wake)(struct mailbox *mailbox));
/* Adds a task. Memory written before the call is visible to the task. Lock-free. */
void mailbox_post(struct mailbox *mailbox, struct task *task);
/* As mailbox_post() for a list linked by `next` from the newest task to the oldest. Calls `wake` at
 * most once. */
void mailbox_post_list(struct mailbox *mailbox, struct task *newest, struct task *oldest);
/* Runs all queued tasks. Returns whether there were any. Owner only. */
bool mailbox_drain(struct mailbox *mailbox);

/* A mailbox whose owner blocks until a task arrives: for tests, tools and threads without an event
 * loop. */
struct waiting_mailbox;
/* Creates one; free it with waiting_mailbox_destroy(). */
MUST_USE struct waiting_mailbox *waiting_mailbox_create(void);
/* Frees it. All posted tasks must have run. Accepts NULL. */
void waiting_mailbox_destroy(struct waiting_mailbox *waiting);
/* Returns the mailbox to post to. */
MUST_USE struct mailbox *waiting_mailbox_box(struct waiting_mailbox *waiting);
/* Runs tasks, waiting for them, until *done is true. */
void waiting_mailbox_run(struct waiting_mailbox *waiting, const bool *done);
/* Waits up to `timeout_ms` for tasks and runs those that are queued, once. */
void waiting_mailbox_run_for(struct waiting_mailbox *waiting, int64_t timeout_ms);
/* Waits up to `timeout_ms` for tasks, and runs none: the owner calls mailbox_drain(). Returns
 * whether a task has come; it may have run already. */
bool waiting_mailbox_wait(struct waiting_mailbox *waiting, int64_t timeout_ms);

#endif
