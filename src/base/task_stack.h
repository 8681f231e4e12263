/* base/task_stack.h: tasks that threads hand over to another thread. A lock-free stack: any thread
 * pushes, the owner takes all tasks at once. Mailboxes (base/mailbox.h) and the inbox of the
 * committer (store/rocks/threads/queue.h) add how the owner is woken. */
#ifndef GRAMME_BASE_TASK_STACK_H
#define GRAMME_BASE_TASK_STACK_H

#include <stdatomic.h>

#include "base/base.h"

/* Embedded in the object to hand over. In at most one stack at a time. */
struct task {
    struct task *next;
    void (*run)(struct task *task);
};

struct task_stack {
    _Atomic(struct task *) newest;
};

/* Makes an empty stack. */
static inline void task_stack_init(struct task_stack *stack)
{
    atomic_init(&stack->newest, NULL);
}

/* Pushes a list: newest -> ... -> oldest, linked by `next`. Returns whether the stack was empty.
 * What the caller wrote before is visible to the thread that takes the tasks. */
static inline bool task_stack_push(struct task_stack *stack, struct task *newest,
                                   struct task *oldest)
{
    struct task *before = atomic_load_explicit(&stack->newest, memory_order_relaxed);
    do {
        oldest->next = before;
    } while (!atomic_compare_exchange_weak_explicit(&stack->newest, &before, newest,
                                                    memory_order_release, memory_order_relaxed));
    return before == NULL;
}

/* Returns whether the stack is empty. A hint: it may change at any moment. */
static inline bool task_stack_is_empty(struct task_stack *stack)
{
    return atomic_load_explicit(&stack->newest, memory_order_relaxed) == NULL;
}

/* Takes all tasks, as a list that begins with the oldest; *out_count is their number. */
static inline struct task *task_stack_take(struct task_stack *stack, int *out_count)
{
    struct task *task = atomic_exchange_explicit(&stack->newest, NULL, memory_order_acquire);
    struct task *oldest = NULL;
    int count = 0;
    while (task != NULL) {
        struct task *next = task->next;
        task->next = oldest;
        oldest = task;
        task = next;
        count++;
    }
    *out_count = count;
    return oldest;
}

#endif
