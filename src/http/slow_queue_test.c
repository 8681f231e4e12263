/* Tests the order of slow_queue.c. */
#include "base/testing.h"
#include "http/slow_queue_internal.h"

/* A connection: it pushes an entry again as soon as the last one has run. */
struct source {
    struct slow_entry entry;
    int64_t end_ns;
    int64_t cost_ns;
    int turns;
};

static void push(struct slow_queue *queue, struct source *source)
{
    slow_queue_push(queue, &source->entry, source->end_ns);
}

/* Runs the next entry. */
static struct source *run(struct slow_queue *queue)
{
    struct source *source = CONTAINER_OF(slow_queue_take(queue, true), struct source, entry);
    source->end_ns = source->entry.start_ns + source->cost_ns;
    source->turns++;
    return source;
}

static void entries_of_one_start_keep_their_order(void **state)
{
    (void)state;
    struct slow_queue queue = {0};
    struct source sources[100] = {0};
    for (size_t i = 0; i < COUNT_OF(sources); i++) {
        push(&queue, &sources[i]);
    }
    for (size_t i = 0; i < COUNT_OF(sources); i++) {
        assert_ptr_equal(run(&queue), &sources[i]);
    }
    assert_null(slow_queue_take(&queue, true));
    assert_true(slow_queue_is_empty(&queue));
    slow_queue_finish(&queue);
}

/* Connections that are always busy get the same time, whatever one request costs. */
static void time_is_shared(void **state)
{
    (void)state;
    struct slow_queue queue = {0};
    struct source sources[] = {{.cost_ns = 100}, {.cost_ns = 10}, {.cost_ns = 20}};
    for (size_t i = 0; i < COUNT_OF(sources); i++) {
        push(&queue, &sources[i]);
    }
    for (int i = 0; i < 1600; i++) {
        push(&queue, run(&queue));
    }
    assert_in_range(sources[0].turns, 99, 101);
    assert_in_range(sources[1].turns, 990, 1010);
    assert_in_range(sources[2].turns, 495, 505);
    slow_queue_finish(&queue);
}

/* A cheap request waits for no expensive one that is queued, if those have had their turn. */
static void a_cheap_one_comes_first(void **state)
{
    (void)state;
    enum { ATTACKERS = 16 };
    struct slow_queue queue = {0};
    struct source attackers[ATTACKERS] = {0};
    struct source victim = {.cost_ns = 1};
    for (size_t i = 0; i < ATTACKERS; i++) {
        attackers[i].cost_ns = 1000;
        push(&queue, &attackers[i]);
    }
    for (int i = 0; i < 5 * ATTACKERS; i++) {
        push(&queue, run(&queue));
    }
    for (int i = 0; i < 100; i++) { /* an idle connection has no more than its share, either */
        push(&queue, &victim);
        int before = 0;
        struct source *next;
        while ((next = run(&queue)) != &victim) {
            push(&queue, next);
            before++;
        }
        assert_in_range(before, 0, i == 0 ? ATTACKERS : 1);
    }
    slow_queue_finish(&queue);
}

/* Heavy entries can be left in the queue; otherwise both kinds share one order. */
static void heavy_ones_can_wait(void **state)
{
    (void)state;
    struct slow_queue queue = {0};
    struct source sources[6] = {0};
    for (size_t i = 0; i < COUNT_OF(sources); i++) {
        sources[i].entry.is_heavy = i % 2 == 0;
        push(&queue, &sources[i]);
    }
    assert_ptr_equal(slow_queue_take(&queue, false), &sources[1].entry);
    assert_ptr_equal(slow_queue_take(&queue, true), &sources[0].entry);
    assert_ptr_equal(slow_queue_take(&queue, true), &sources[2].entry);
    assert_ptr_equal(slow_queue_take(&queue, false), &sources[3].entry);
    assert_ptr_equal(slow_queue_take(&queue, false), &sources[5].entry);
    assert_null(slow_queue_take(&queue, false));
    assert_false(slow_queue_is_empty(&queue));
    assert_ptr_equal(slow_queue_take(&queue, true), &sources[4].entry);
    slow_queue_finish(&queue);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(entries_of_one_start_keep_their_order),
        cmocka_unit_test(time_is_shared),
        cmocka_unit_test(a_cheap_one_comes_first),
        cmocka_unit_test(heavy_ones_can_wait),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
