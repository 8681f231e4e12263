/* base/mailbox.h: work handed to a thread by others. Any thread posts; the owner drains, and runs
 * the tasks of each poster in the order of posting. */
#ifndef GRAMME_BASE_MAILBOX_H
#define GRAMME_BASE_MAILBOX_H

#include <stdatomic.h>

#include "base/base.h"

/* Embedded in the thing to be handed over; one mailbox at a time. */
struct task {
    struct task *next;
    void (*run)(struct task *task);
};

struct mailbox {
    _Atomic(struct task *) newest;
    void (*wake)(
        struct mailbox *mailbox); /* called when the box stops being empty, by the poster */
    bool may_block;               /* The owner thread may block: it serves a single client. */
    /* The owner serves many clients, one after the other. What is started in one round of events
     * may keep it busy until slice_until_ns in all (CLOCK_MONOTONIC; 0: nobody has set it in this
     * round yet), and continues on other threads then. Owner only. */
    bool has_slices;
    int64_t slice_until_ns;
};

void mailbox_init(struct mailbox *mailbox, void (*wake)(struct mailbox *mailbox));
/* What was written before the post is seen by the task. */
void mailbox_post(struct mailbox *mailbox, struct task *task);
/* The same for a list, linked by `next` from the newest to the oldest, with one wake at most. */
void mailbox_post_list(struct mailbox *mailbox, struct task *newest, struct task *oldest);
/* Runs all that is there; returns whether there was anything. Owner only. */
bool mailbox_drain(struct mailbox *mailbox);

/* A mailbox whose owner sleeps until something comes: for tests, tools and threads without a
 * loop of their own. */
struct waiting_mailbox;
MUST_USE struct waiting_mailbox *waiting_mailbox_create(void);
void waiting_mailbox_destroy(struct waiting_mailbox *waiting);
MUST_USE struct mailbox *waiting_mailbox_box(struct waiting_mailbox *waiting);
/* Waits until a task has come and runs what is there, until *done is true. */
void waiting_mailbox_run(struct waiting_mailbox *waiting, const bool *done);
/* Waits until a task has come and runs what is there, once; or until the time is over. */
void waiting_mailbox_run_for(struct waiting_mailbox *waiting, int64_t timeout_ms);

#endif
