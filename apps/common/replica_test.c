/* A replica of a table that is simulated here: reading it while it changes, failures, restarts. */
#include "apps/common/replica.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/testing.h"

/* The table: items {"id": ..., "v": n}; an item without "v" has no entry. What it holds when it is
 * read, and what happens meanwhile. */
static struct {
    struct gramme_value *items;
    int reads;
    bool fails;
    void (*meanwhile)(struct replica *replica); /* after the items have been read */
    struct replica *replica;
    int live_entries; /* made and not destroyed */
} table;

static struct str key_of(struct arena *arena, const struct gramme_value *item)
{
    const char *id = gramme_get_string(item, "id");
    return id == NULL ? STR_NULL : arena_format(arena, "%s", id);
}

static void *make_entry(const struct gramme_value *item)
{
    if (gramme_get(item, "v") == NULL) {
        return NULL;
    }
    int64_t *entry = malloc(sizeof(*entry));
    *entry = gramme_get_int(item, "v", 0);
    __atomic_fetch_add(&table.live_entries, 1, __ATOMIC_RELAXED);
    return entry;
}

static void destroy_entry(void *entry)
{
    __atomic_fetch_sub(&table.live_entries, 1, __ATOMIC_RELAXED);
    free(entry);
}

static bool read_table(struct gramme_db *db, struct replica_load *load, struct gramme_error **error)
{
    (void)db;
    (void)error;
    table.reads++;
    for (size_t i = 0; i < gramme_value_count(table.items); i++) {
        replica_take(load, gramme_value_at(table.items, i));
    }
    if (table.meanwhile != NULL) {
        table.meanwhile(table.replica);
    }
    return !table.fails;
}

static struct gramme_value *item_of(const char *id, int64_t v)
{
    struct gramme_value *item = gramme_map_create();
    gramme_set_string(item, "id", id);
    if (v >= 0) {
        gramme_set_int(item, "v", v);
    }
    return item;
}

static void put(struct replica *replica, const char *id, int64_t v)
{
    struct gramme_value *item = item_of(id, v);
    replica_apply(replica, NULL, item);
    gramme_value_destroy(item);
}

static void drop(struct replica *replica, const char *id)
{
    struct gramme_value *item = item_of(id, 1);
    replica_apply(replica, item, NULL);
    gramme_value_destroy(item);
}

static void add_row(const char *id, int64_t v)
{
    struct gramme_value *item = item_of(id, v);
    gramme_add_value(table.items, item);
    gramme_value_destroy(item);
}

static void start(size_t entries_max)
{
    memset(&table, 0, sizeof(table));
    table.items = gramme_list_create();
    table.replica = replica_create(&(struct replica_options){.key = key_of,
                                                             .make = make_entry,
                                                             .destroy = destroy_entry,
                                                             .read = read_table,
                                                             .entries_max = entries_max});
    add_row("a", 1);
    add_row("b", 2);
}

static void finish(void)
{
    replica_destroy(table.replica);
    gramme_value_destroy(table.items);
    assert_int_equal(table.live_entries, 0);
}

static void add_up(const struct map *entries, void *context)
{
    int64_t *sum = context;
    size_t at = 0;
    struct str key;
    void *entry;
    while (map_next(entries, &at, &key, &entry)) {
        *sum += *(int64_t *)entry;
    }
}

/* The sum of all entries; -1: the look failed. */
static int64_t sum(bool is_fresh)
{
    int64_t found = 0;
    bool ok = replica_look(table.replica, NULL, is_fresh, add_up, &found, NULL);
    return ok ? found : -1;
}

static void it_is_read_once_and_follows(void **state)
{
    (void)state;
    start(100);
    assert_int_equal(sum(true), 3);
    put(table.replica, "c", 10);
    put(table.replica, "a", 5);
    drop(table.replica, "b");
    assert_int_equal(sum(true), 15);
    put(table.replica, "a", -1); /* the item has no entry any more */
    struct gramme_value *other = gramme_map_create();
    replica_apply(table.replica, NULL, other); /* items of this kind have no entries */
    gramme_value_destroy(other);
    assert_int_equal(sum(true), 10);
    assert_int_equal(table.reads, 1);
    replica_forget(table.replica);
    assert_int_equal(sum(true), 3);
    assert_int_equal(table.reads, 2);
    finish();
}

static void without_a_stream_it_is_read_each_time(void **state)
{
    (void)state;
    start(100);
    assert_int_equal(sum(false), 3);
    add_row("c", 4);
    assert_int_equal(sum(false), 7);
    assert_int_equal(table.reads, 2);
    finish();
}

static void change_meanwhile(struct replica *replica)
{
    put(replica, "a", 100);
    drop(replica, "b");
    put(replica, "c", 1000);
}

static void what_changes_during_the_reading_counts(void **state)
{
    (void)state;
    start(100);
    put(table.replica, "d", 7); /* before: the index may lag behind */
    table.meanwhile = change_meanwhile;
    assert_int_equal(sum(true), 1107);
    assert_int_equal(sum(true), 1107);
    assert_int_equal(table.reads, 1);
    finish();
}

static void forget_meanwhile(struct replica *replica)
{
    replica_forget(replica);
}

static void many_changes_meanwhile(struct replica *replica)
{
    for (int i = 0; i < 10000; i++) {
        put(replica, "a", i);
    }
}

static void a_reading_that_missed_changes_is_not_kept(void **state)
{
    (void)state;
    start(100);
    table.meanwhile = forget_meanwhile;
    assert_int_equal(sum(true), 3);
    table.meanwhile = many_changes_meanwhile;
    sum(true);
    table.meanwhile = NULL;
    assert_int_equal(sum(true), 10001); /* read again; the newest changes are known */
    assert_int_equal(sum(true), 10001);
    assert_int_equal(table.reads, 3);
    finish();
}

static void too_much_is_read_each_time(void **state)
{
    (void)state;
    start(2);
    assert_int_equal(sum(true), 3);
    assert_int_equal(sum(true), 3);
    assert_int_equal(table.reads, 1);
    put(table.replica, "c", 4);
    add_row("c", 4);
    assert_int_equal(sum(true), 7);
    assert_int_equal(sum(true), 7);
    assert_int_equal(table.reads, 3);
    finish();
}

static void a_failure_is_passed_on(void **state)
{
    (void)state;
    start(100);
    table.fails = true;
    assert_int_equal(sum(true), -1);
    table.fails = false;
    assert_int_equal(sum(true), 3);
    finish();
}

static void *look_often(void *argument)
{
    (void)argument;
    for (int i = 0; i < 2000; i++) {
        assert_true(sum(true) >= 3);
    }
    return NULL;
}

static void many_look_while_it_changes(void **state)
{
    (void)state;
    enum { THREADS = 4 };
    start(100);
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, look_often, NULL), 0);
    }
    for (int i = 0; i < 5000; i++) {
        put(table.replica, "c", i);
        if (i % 500 == 0) {
            replica_forget(table.replica);
        }
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    assert_true(table.reads <= 1 + 2 * 10); /* one load serves all waiting threads */
    finish();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_read_once_and_follows),
        cmocka_unit_test(without_a_stream_it_is_read_each_time),
        cmocka_unit_test(what_changes_during_the_reading_counts),
        cmocka_unit_test(a_reading_that_missed_changes_is_not_kept),
        cmocka_unit_test(too_much_is_read_each_time),
        cmocka_unit_test(a_failure_is_passed_on),
        cmocka_unit_test(many_look_while_it_changes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
