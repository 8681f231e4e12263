/* A new index on a table with items: writes and a backfill scan in random order, and after each
 * chunk the index has exactly what the invariant in backfill_scan.h says. The engine's own backfill
 * does not take part: by the table delay, the index stays CREATING for as long as the test lasts.
 */
#include "engine/backfill_scan.h"

#include <unistd.h>

#include "base/clock.h"
#include "base/random.h"
#include "engine/engine_testing.h"
#include "model/builder.h"

enum { ITEMS = 1000, STEPS = 6000 };

static struct random dice;

/* --- the table --- */

static const struct table *add_index(struct table_change *change, const struct table *before)
{
    static const struct index index = {
        .name = STR("byG"),
        .key = {.hash = {{.name = STR("g"), .type = VALUE_S}}, .hash_count = 1},
        .projection = PROJECTION_ALL,
    };
    struct table *table = ARENA_NEW(change->call.arena, struct table);
    *table = *before;
    table_add_index(change, table, &index);
    return table;
}

/* The next space is one whose number ends in FF: behind it comes one with a shorter prefix. */
static const struct table *skip_spaces(struct table_change *change, const struct table *before)
{
    change->next_space = 0xFF;
    return before;
}

static const struct table *change_table(struct str name,
                                        const struct table *(*hook)(struct table_change *,
                                                                    const struct table *))
{
    struct table_change change = {.call = start_call(), .name = name, .change = hook};
    engine_change_table(&change);
    finish_call(&change.call);
    return change.table;
}

/* --- writes --- */

/* A third of the items is not in the index: without the key, or, before there was an index, with
 * one of another type. */
static struct value make_item(uint64_t number, bool may_be_wrong)
{
    struct builder builder;
    builder_init(&builder, &arena, 64);
    size_t open = builder_open(&builder, VALUE_M);
    builder_add_key(&builder, STR("pk"));
    builder_add_string(&builder, arena_format(&arena, "p%u", (unsigned)number));
    uint64_t kind = random_next(&dice) % 6;
    if (kind == 0 && may_be_wrong) {
        builder_add_key(&builder, STR("g"));
        builder_add_int64(&builder, 5);
    } else if (kind > 1) {
        builder_add_key(&builder, STR("g"));
        builder_add_string(&builder, arena_format(&arena, "g%u", (unsigned)kind));
    }
    builder_add_key(&builder, STR("v"));
    builder_add_int64(&builder, (int64_t)(random_next(&dice) % 3));
    builder_close_map(&builder, open, kind > 1 || (kind == 0 && may_be_wrong) ? 3 : 2);
    return builder_finish(&builder);
}

static void write_item(const struct table *table, enum write_kind kind, struct value item)
{
    struct item_write write = {.kind = kind, .table = table};
    struct err err = ERR_INIT(&arena);
    assert_true(item_key_from_item(engine, table, item, &arena, &write.key, &err));
    if (kind == WRITE_PUT) {
        write.item = item;
        write.item_size = item_size(item);
    }
    struct items_write call = {.call = start_call(), .writes = &write, .write_count = 1};
    atomic_fetch_add(&engine->call_count, 1); /* so that chunks are small */
    engine_write_items((struct items_write *const[]){&call}, 1);
    finish_call(&call.call);
    assert_false(call.failed);
}

/* --- reading back --- */

struct rows {
    struct background_range range;
    struct str keys[2 * ITEMS];
    struct str values[2 * ITEMS];
    size_t count;
};

static bool take_row(struct store_range *range, struct str key, struct str value)
{
    struct rows *rows = CONTAINER_OF(range, struct rows, range.range);
    assert_true(rows->count < 2 * ITEMS);
    rows->keys[rows->count] = arena_copy(&arena, key);
    rows->values[rows->count++] = arena_copy(&arena, value);
    return true;
}

static void read_rows(struct rows *rows, struct str prefix)
{
    rows->count = 0;
    rows->range.range = (struct store_range){
        .lo = prefix,
        .hi = key_after_prefix(&arena, prefix),
        .arena = &arena,
        .row = take_row,
    };
    assert_int_equal(background_range(&background, &rows->range), STORE_OK);
}

static void read_space(struct rows *rows, uint32_t space)
{
    struct key_writer writer;
    key_start(&writer, &arena, space);
    read_rows(rows, key_finish(&writer));
}

static struct str read_one(struct str key)
{
    static struct rows rows;
    read_rows(&rows, key);
    return rows.count == 0 ? STR_NULL : rows.values[0];
}

static struct str find_row(const struct rows *rows, struct str key)
{
    for (size_t i = 0; i < rows->count; i++) {
        if (str_eq(rows->keys[i], key)) {
            return rows->values[i];
        }
    }
    return STR_NULL;
}

static void check_index(const struct table *table)
{
    static struct rows items;
    static struct rows entries;
    const struct index *index = &table->indexes[0];
    struct str cursor = read_one(backfill_scan_cursor_key(&arena, index->space));
    read_space(&items, table->space);
    read_space(&entries, index->space);
    size_t count = 0;
    int64_t bytes = 0;
    for (size_t i = 0; i < items.count; i++) {
        struct row row = row_decode(items.values[i]);
        struct item_key key = {.row = items.keys[i]};
        struct str entry_key = index_entry_key(engine, index, &key, row.item, &arena);
        if (str_is_null(entry_key)) {
            continue;
        }
        struct str entry = find_row(&entries, entry_key);
        if (!backfill_scan_has(cursor, key.row, row.table_version, index->since_version)) {
            assert_true(str_is_null(entry));
            continue;
        }
        assert_true(str_eq(entry, items.values[i])); /* all is projected */
        count++;
        bytes += (int64_t)row.size;
    }
    assert_int_equal(entries.count, count);
    struct store_count size =
        store_count_value(read_one(space_fact_key(&arena, index->space, SPACE_SIZE)));
    assert_int_equal(size.count, count);
    assert_int_equal(size.bytes, bytes);
}

/* --- tests --- */

static void visit(struct backfill_scan *scan, const struct backfill_scan_item *item,
                  struct store_batch *batch, struct arena *eval_arena)
{
    struct index_entry entry =
        index_entry_of(engine, scan->table, &scan->table->indexes[0], &item->key, item->row.item,
                       item->row_bytes, eval_arena);
    if (!str_is_null(entry.key)) {
        store_batch_put_owned(batch, entry.key, entry.row);
        scan->added_rows++;
        scan->added_bytes += (int64_t)entry.size;
    }
}

static void test_rule(void **state)
{
    (void)state;
    static const struct {
        const char *what;
        struct str cursor;
        uint32_t row_version;
        bool has;
    } cases[] = {
        {"not begun", STR("\x01"), 4, false},
        {"not begun, written since", STR("\x01"), 5, true},
        {"before the row", STR("\x01klm"), 4, false},
        {"at the row", STR("\x01row"), 4, false},
        {"behind the row", STR("\x01row!"), 4, true},
        {"behind the row, written since", STR("\x01row!"), 6, true},
        {"over", STR_NULL, 4, true},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        if (backfill_scan_has(cases[i].cursor, STR("row"), cases[i].row_version, 5) !=
            cases[i].has) {
            fail_msg("%s", cases[i].what);
        }
    }
}

static void test_scan_beside_writes(void **state)
{
    (void)state;
    table_release(make_table(STR("other")));
    table_release(change_table(STR("other"), skip_spaces));
    const struct table *before = make_table(STR("t"));
    assert_int_equal(before->space, 0xFF);
    for (uint64_t i = 0; i < ITEMS; i++) {
        write_item(before, WRITE_PUT, make_item(i, true));
    }
    const struct table *table = change_table(STR("t"), add_index);
    assert_false(catalog_is_settled(engine, table)); /* we hold the older one */
    write_item(before, WRITE_PUT, make_item(ITEMS, true));
    table_release(before);
    int64_t deadline_us = clock_monotonic_us() + 10 * 1000 * 1000;
    while (!catalog_is_settled(
        engine, table)) { /* the background thread of src/engine/follow.c announces it */
        assert_true(clock_monotonic_us() < deadline_us);
        usleep(100);
    }
    check_index(table);

    struct backfill_scan scan = {
        .background = &background,
        .table = table,
        .space = table->indexes[0].space,
        .since_version = table->indexes[0].since_version,
        .visit = visit,
    };
    enum backfill_scan_result result = BACKFILL_SCAN_MORE;
    for (int i = 0; i < STEPS; i++) {
        if (i % (STEPS / 24) == 0) {
            result = backfill_scan_chunk(&scan);
            check_index(table);
        }
        enum write_kind kind = random_next(&dice) % 4 == 0 ? WRITE_DELETE : WRITE_PUT;
        write_item(table, kind, make_item(random_next(&dice) % (ITEMS + 1), false));
    }
    assert_int_equal(result, BACKFILL_SCAN_END);
    assert_true(scan.progress == 1);
    assert_int_equal(backfill_scan_chunk(&scan), BACKFILL_SCAN_END); /* stays there */
    check_index(table);
    table_release(table);
}

static int open_engine(void **state)
{
    (void)state;
    random_init_seed(&dice, 1);
    return open_test_engine((int64_t)3600 * 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rule),
        cmocka_unit_test(test_scan_beside_writes),
    };
    return cmocka_run_group_tests(tests, open_engine, close_test_engine);
}
