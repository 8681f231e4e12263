/* Tests the queues of tasks with several threads: no task is lost, and waiting threads wake up. */
#include "store/rocks/threads/queue.h"

#include <sched.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/testing.h"

enum { PUSHERS = 3, TASKS = 20000 };

struct numbered {
    struct task task;
    int pusher;
    int number;
};

struct pushing {
    struct inbox *inbox;
    struct numbered *tasks;
    atomic_bool *enough;
};

static void *push_all(void *arg)
{
    struct pushing *pushing = arg;
    for (int i = 0; i < TASKS; i++) {
        inbox_push(pushing->inbox, &pushing->tasks[i].task);
    }
    return NULL;
}

/* No task is lost, the tasks of each pusher come in order, and the owner always wakes up (possibly
 * once more than needed, without a task). */
static void inbox_keeps_all_in_order(void **state)
{
    (void)state;
    struct inbox inbox;
    inbox_init(&inbox);
    pthread_t threads[PUSHERS];
    struct pushing pushing[PUSHERS];
    for (int p = 0; p < PUSHERS; p++) {
        pushing[p].inbox = &inbox;
        pushing[p].tasks = mem_zalloc(TASKS * sizeof(struct numbered));
        for (int i = 0; i < TASKS; i++) {
            pushing[p].tasks[i] = (struct numbered){.pusher = p, .number = i};
        }
        assert_int_equal(pthread_create(&threads[p], NULL, push_all, &pushing[p]), 0);
    }
    int next[PUSHERS] = {0};
    for (int left = PUSHERS * TASKS; left > 0;) {
        bool patient = left % 2 == 0;
        struct task *task =
            patient ? inbox_take(&inbox, 1, -1) : inbox_take(&inbox, left % 30, 100000);
        for (; task != NULL; task = task->next, left--) {
            struct numbered *numbered = CONTAINER_OF(task, struct numbered, task);
            assert_int_equal(numbered->number, next[numbered->pusher]++);
        }
    }
    for (int p = 0; p < PUSHERS; p++) {
        pthread_join(threads[p], NULL);
        mem_free(pushing[p].tasks);
    }
    assert_null(inbox_take(&inbox, 1, 0));
    inbox_finish(&inbox);
}

static void inbox_stops_waiting(void **state)
{
    (void)state;
    struct inbox inbox;
    inbox_init(&inbox);
    int64_t start = clock_monotonic_us();
    assert_null(inbox_take(&inbox, 1, 20000000));
    assert_true(clock_monotonic_us() - start >= 20000);
    struct task task = {0};
    inbox_push(&inbox, &task);
    assert_ptr_equal(inbox_take(&inbox, 1, -1), &task);
    inbox_finish(&inbox);
}

/* The owner wakes when the wanted number of tasks is there, and not before, or by inbox_nudge(). */
static void inbox_waits_for_so_many(void **state)
{
    (void)state;
    struct inbox inbox;
    inbox_init(&inbox);
    struct task tasks[2] = {0};
    inbox_push(&inbox, &tasks[0]);
    int64_t start = clock_monotonic_us();
    assert_ptr_equal(inbox_take(&inbox, 2, 20000000), &tasks[0]);
    assert_true(clock_monotonic_us() - start >= 20000);
    inbox_push(&inbox, &tasks[0]);
    inbox_push(&inbox, &tasks[1]);
    assert_false(inbox_is_empty(&inbox));
    struct task *task = inbox_take(&inbox, 2, -1);
    assert_ptr_equal(task, &tasks[0]);
    assert_ptr_equal(task->next, &tasks[1]);
    assert_true(inbox_is_empty(&inbox));
    inbox_finish(&inbox);
}

static void *nudge_until_told(void *arg)
{
    struct pushing *pushing = arg;
    while (!atomic_load(pushing->enough)) {
        inbox_nudge(pushing->inbox);
        sched_yield();
    }
    return NULL;
}

static void inbox_can_be_nudged(void **state)
{
    (void)state;
    struct inbox inbox;
    inbox_init(&inbox);
    atomic_bool enough = false;
    struct pushing pushing = {.inbox = &inbox, .enough = &enough};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, nudge_until_told, &pushing), 0);
    assert_null(inbox_take(&inbox, 1, -1));
    atomic_store(&enough, true);
    pthread_join(thread, NULL);
    inbox_finish(&inbox);
}

static void work_queue_ends_when_closed(void **state)
{
    (void)state;
    struct work_queue queue;
    work_queue_init(&queue);
    struct task tasks[2] = {0};
    work_queue_push(&queue, &tasks[0]);
    work_queue_push(&queue, &tasks[1]);
    work_queue_close(&queue);
    assert_ptr_equal(work_queue_pop(&queue), &tasks[0]);
    assert_ptr_equal(work_queue_pop(&queue), &tasks[1]);
    assert_null(work_queue_pop(&queue));
    work_queue_finish(&queue);
}

static void work_queue_stops_waiting(void **state)
{
    (void)state;
    struct work_queue queue;
    work_queue_init(&queue);
    struct task pushed = {0};
    struct task *task = &pushed;
    int64_t start = clock_monotonic_us();
    assert_true(work_queue_pop_within(&queue, 20000000, &task));
    assert_null(task);
    assert_true(clock_monotonic_us() - start >= 20000);
    work_queue_push(&queue, &pushed);
    work_queue_close(&queue);
    assert_true(work_queue_pop_within(&queue, 20000000, &task));
    assert_ptr_equal(task, &pushed);
    assert_false(work_queue_pop_within(&queue, 20000000, &task));
    work_queue_finish(&queue);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(inbox_keeps_all_in_order),    cmocka_unit_test(inbox_stops_waiting),
        cmocka_unit_test(inbox_waits_for_so_many),     cmocka_unit_test(inbox_can_be_nudged),
        cmocka_unit_test(work_queue_ends_when_closed), cmocka_unit_test(work_queue_stops_waiting),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
