/* Lock-free mailboxes (a stack that the owner takes as a whole and reverses), and mailboxes whose
 * owner waits on a condition variable. */
#include "base/mailbox.h"

#include <pthread.h>
#include <time.h>

#include "base/mem.h"

void mailbox_init(struct mailbox *mailbox, void (*wake)(struct mailbox *mailbox))
{
    task_stack_init(&mailbox->tasks);
    mailbox->wake = wake;
    mailbox->may_block = false;
    mailbox->has_slices = false;
    mailbox->slice_until_ns = 0;
    mailbox->request_count = 0;
    mailbox->long_count = 0;
    mailbox->leave_until_ns = 0;
}

void mailbox_post(struct mailbox *mailbox, struct task *task)
{
    mailbox_post_list(mailbox, task, task);
}

void mailbox_post_list(struct mailbox *mailbox, struct task *newest, struct task *oldest)
{
    if (task_stack_push(&mailbox->tasks, newest, oldest)) {
        mailbox->wake(mailbox);
    }
}

bool mailbox_drain(struct mailbox *mailbox)
{
    int count;
    struct task *oldest = task_stack_take(&mailbox->tasks, &count);
    while (oldest != NULL) {
        struct task *next = oldest->next; /* run() may free or post the task again */
        oldest->run(oldest);
        oldest = next;
    }
    return count > 0;
}

struct waiting_mailbox {
    struct mailbox box;
    pthread_mutex_t mutex;
    pthread_cond_t came;
    bool awake;
};

static void wake_waiting(struct mailbox *mailbox)
{
    struct waiting_mailbox *waiting = CONTAINER_OF(mailbox, struct waiting_mailbox, box);
    pthread_mutex_lock(&waiting->mutex);
    waiting->awake = true;
    pthread_cond_signal(&waiting->came);
    pthread_mutex_unlock(&waiting->mutex);
}

struct waiting_mailbox *waiting_mailbox_create(void)
{
    struct waiting_mailbox *waiting = mem_zalloc(sizeof(*waiting));
    mailbox_init(&waiting->box, wake_waiting);
    pthread_mutex_init(&waiting->mutex, NULL);
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&waiting->came, &attributes);
    pthread_condattr_destroy(&attributes);
    return waiting;
}

void waiting_mailbox_destroy(struct waiting_mailbox *waiting)
{
    if (waiting == NULL) {
        return;
    }
    /* A poster may still hold the mutex in wake_waiting() for a task that has already run. */
    pthread_mutex_lock(&waiting->mutex);
    pthread_mutex_unlock(&waiting->mutex);
    pthread_cond_destroy(&waiting->came);
    pthread_mutex_destroy(&waiting->mutex);
    mem_free(waiting);
}

struct mailbox *waiting_mailbox_box(struct waiting_mailbox *waiting)
{
    return &waiting->box;
}

bool waiting_mailbox_wait(struct waiting_mailbox *waiting, int64_t timeout_ms)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += timeout_ms / 1000;
    until.tv_nsec += timeout_ms % 1000 * 1000000;
    if (until.tv_nsec >= 1000000000) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000;
    }
    pthread_mutex_lock(&waiting->mutex);
    int failure = 0;
    while (!waiting->awake && failure == 0) {
        failure = pthread_cond_timedwait(&waiting->came, &waiting->mutex, &until);
    }
    bool awake = waiting->awake;
    waiting->awake = false;
    pthread_mutex_unlock(&waiting->mutex);
    return awake;
}

void waiting_mailbox_run_for(struct waiting_mailbox *waiting, int64_t timeout_ms)
{
    if (waiting_mailbox_wait(waiting, timeout_ms)) { /* else a poster may be about to wake it */
        mailbox_drain(&waiting->box);
    }
}

void waiting_mailbox_run(struct waiting_mailbox *waiting, const bool *done)
{
    while (!*done) {
        pthread_mutex_lock(&waiting->mutex);
        while (!waiting->awake) {
            pthread_cond_wait(&waiting->came, &waiting->mutex);
        }
        waiting->awake = false;
        pthread_mutex_unlock(&waiting->mutex);
        mailbox_drain(&waiting->box);
    }
}
