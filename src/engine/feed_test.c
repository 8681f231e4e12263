/* Feeds: writes record changes from when the destination is ENABLING until it is disabled; records
 * are read in order, erased with the cursor, and the counter follows; states and the end of a feed.
 */
#include "engine/feed_internal.h"

#include "base/buf.h"
#include "engine/engine_testing.h"
#include "model/builder.h"

enum { SLOTS_MAX = 64, READ_MAX = 100 };

static const struct table *begin_feed(struct table_change *change, const struct table *before)
{
    static const struct kinesis_destination destination = {
        .stream_arn = STR("arn"), .state = DESTINATION_ENABLING, .problem = STR_NULL};
    struct table *table = ARENA_NEW(change->call.arena, struct table);
    *table = *before;
    table->destinations = &destination;
    table->destination_count = 1;
    feed_begin(change, table, 0);
    return table;
}

static const struct table *end_feed(struct table_change *change, const struct table *before)
{
    struct table *table = ARENA_NEW(change->call.arena, struct table);
    *table = *before;
    feed_end(change, table, 0);
    return table;
}

static void change_table(struct str name, const struct table *(*how)(struct table_change *change,
                                                                     const struct table *table))
{
    struct table_change change = {.call = start_call(), .name = name, .change = how};
    engine_change_table(&change);
    finish_call(&change.call);
    table_release(change.table);
}

static struct value item(const char *pk, int64_t number)
{
    struct builder builder;
    builder_init(&builder, &arena, 64);
    size_t open = builder_open(&builder, VALUE_M);
    builder_add_key(&builder, STR("n"));
    builder_add_int64(&builder, number);
    builder_add_key(&builder, STR("pk"));
    builder_add_string(&builder, str_from_c(pk));
    builder_close_map(&builder, open, 2);
    return builder_finish(&builder);
}

/* Puts an item; a negative number deletes it. */
static void write_item(struct str table_name, const char *pk, int64_t number)
{
    const struct table *table = table_acquire(engine, table_name);
    struct items_write call = {.call = start_call(), .write_count = 1};
    struct item_write write = {
        .kind = number < 0 ? WRITE_DELETE : WRITE_PUT,
        .table = table,
        .item = item(pk, number),
    };
    assert_true(item_key_from_item(engine, table, write.item, &arena, &write.key, &call.call.err));
    write.item_size = item_size(write.item);
    call.writes = &write;
    struct items_write *calls[] = {&call};
    engine_write_items(calls, 1);
    finish_call(&call.call);
    table_release(table);
}

/* --- the feed --- */

/* The only feed; false: there is none. */
static bool find_feed(struct feed *out)
{
    struct feed *feeds;
    size_t count;
    assert_true(feed_read_all(&background, &arena, &feeds, &count));
    assert_true(count <= 1);
    if (count == 1) {
        *out = feeds[0];
    }
    return count == 1;
}

static size_t read_slot(const struct feed *feed, uint32_t slot, uint64_t after,
                        struct feed_record out[READ_MAX])
{
    struct feed_read read = {
        .slot = slot, .after = after, .limit = READ_MAX, .bytes_max = SIZE_MAX, .out = out};
    assert_true(feed_read(&background, feed, &read, &arena));
    return read.count;
}

/* The records of all slots, as text: event and number of the new or old image. */
static void check_records(const struct feed *feed, const char *expected)
{
    struct buf text = {0};
    for (uint32_t slot = 0; slot < feed->slot_count; slot++) {
        struct feed_record records[READ_MAX];
        size_t count = read_slot(feed, slot, 0, records);
        for (size_t i = 0; i < count; i++) {
            const struct stream_record *change = &records[i].change;
            bool has = !value_is_absent(change->new_image);
            struct value number =
                value_map_get(has ? change->new_image : change->old_image, STR("n"));
            int64_t n;
            assert_true(number_to_int64(value_bytes(number), &n));
            assert_true(change->has_micros && change->micros < 1000 && records[i].slot == slot);
            assert_true(i == 0 || records[i].stamp > records[i - 1].stamp);
            buf_format(&text, "%c%lld ", "IMR"[change->event], (long long)n);
        }
    }
    CHECK_STR_EQ("records", buf_str(&text).len > 0 ? buf_str(&text) : STR(""),
                 str_from_c(expected));
    buf_finish(&text);
}

static void set_state(const struct feed *feed, enum destination_state to)
{
    struct feed_transition transition = {
        .table_name = feed->table_name,
        .table_id = feed->table_id,
        .stream_arn = feed->destination.stream_arn,
        .from = feed->destination.state,
        .to = to,
        .problem = to == DESTINATION_ENABLE_FAILED ? STR("why") : STR_NULL,
    };
    assert_true(feed_change_state(&background, &transition));
}

static void test_recording(void **state)
{
    (void)state;
    struct feed feed;
    table_release(make_table(STR("one")));
    write_item(STR("one"), "a", 1);
    assert_false(find_feed(&feed));
    change_table(STR("one"), begin_feed);
    assert_true(find_feed(&feed));
    assert_true(feed.ended_ms == 0 && feed.slot_count == 4 && feed_is_settled(engine, &feed));
    assert_int_equal(feed.destination.state, DESTINATION_ENABLING);
    write_item(STR("one"), "a", 2);
    write_item(STR("one"), "a", 2); /* changes nothing */
    write_item(STR("one"), "a", -1);
    write_item(STR("one"), "a", 3);
    check_records(&feed, "M2 R2 I3 ");
    struct store_count backlog = feed_backlog(&background, &feed, &arena);
    assert_true(backlog.count == 3 && backlog.bytes > 0);
    set_state(&feed, DESTINATION_ACTIVE);
    assert_true(find_feed(&feed));
    assert_int_equal(feed.destination.state, DESTINATION_ACTIVE);
    set_state(&(struct feed){.table_name = STR("one"), .destination = feed.destination},
              DESTINATION_DISABLED); /* another table's id: changes nothing */
    assert_true(find_feed(&feed));
    assert_int_equal(feed.destination.state, DESTINATION_ACTIVE);
}

static void test_erasing(void **state)
{
    (void)state;
    struct feed feed;
    struct feed_record records[READ_MAX];
    uint64_t cursors[SLOTS_MAX];
    assert_true(find_feed(&feed));
    uint32_t slot = 0;
    while (read_slot(&feed, slot, 0, records) == 0) {
        slot++;
    }
    assert_true(feed_read_cursors(&background, &feed, cursors));
    assert_true(cursors[slot] == 0);
    assert_int_equal(feed_erase(&background, &feed, 0, records, 2), STORE_OK);
    check_records(&feed, "I3 ");
    assert_true(feed_read_cursors(&background, &feed, cursors));
    assert_true(cursors[slot] == records[1].stamp);
    /* Another server that has not noticed erases nothing, and counts nothing. */
    assert_int_equal(feed_erase(&background, &feed, 0, records, 3), STORE_NO_WRITE);
    check_records(&feed, "I3 ");
    struct store_count backlog = feed_backlog(&background, &feed, &arena);
    assert_true(backlog.count == 1 && backlog.bytes == (int64_t)records[2].bytes);
    assert_int_equal(read_slot(&feed, slot, cursors[slot], records), 1);
    assert_int_equal(read_slot(&feed, slot, records[0].stamp, records), 0);
}

static void test_the_end(void **state)
{
    (void)state;
    struct feed feed;
    change_table(STR("one"), end_feed);
    write_item(STR("one"), "a", 4);
    assert_true(find_feed(&feed));
    assert_true(feed.ended_ms != 0 && feed_is_settled(engine, &feed));
    check_records(&feed, "I3 ");
    assert_true(feed_remove(&background, &feed));
    assert_true(feed_remove(&background, &feed)); /* by another server */
    assert_false(find_feed(&feed));
}

static void test_deleted_tables_and_failures(void **state)
{
    (void)state;
    struct feed feed;
    table_release(make_table(STR("two")));
    change_table(STR("two"), begin_feed);
    write_item(STR("two"), "b", 1);
    assert_true(find_feed(&feed));
    set_state(&feed, DESTINATION_ENABLE_FAILED);
    assert_true(find_feed(&feed));
    assert_true(feed.ended_ms != 0 && feed.destination.state == DESTINATION_ENABLE_FAILED);
    const struct table *table = table_acquire(engine, STR("two"));
    assert_true(table->feed_space == 0 && table_live_destination(table) == SIZE_MAX);
    CHECK_STR_EQ("problem", table->destinations[0].problem, STR("why"));
    table_release(table);
    assert_true(feed_remove(&background, &feed));
    table_release(make_table(STR("three")));
    change_table(STR("three"), begin_feed);
    write_item(STR("three"), "c", 1);
    struct table_delete remove = {.call = start_call(), .name = STR("three")};
    engine_delete_table(&remove);
    finish_call(&remove.call);
    table_release(remove.table);
    assert_true(find_feed(&feed));
    assert_true(feed.ended_ms != 0);
    check_records(&feed, "I1 ");
    assert_true(feed_remove(&background, &feed));
}

static int setup(void **state)
{
    (void)state;
    return open_test_engine(0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_recording),
        cmocka_unit_test(test_erasing),
        cmocka_unit_test(test_the_end),
        cmocka_unit_test(test_deleted_tables_and_failures),
    };
    return cmocka_run_group_tests(tests, setup, close_test_engine);
}
