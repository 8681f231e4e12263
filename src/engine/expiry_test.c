/* Tests time to live with an engine on a store in memory: sweeps, races with writes, clocks. */
#include "base/bytes.h"
#include "engine/expiry.h"

#include "base/clock.h"
#include "engine/engine_testing.h"
#include "model/builder.h"

/* Known to this test only: no background thread sweeps it. */
static const struct table table = {
    .name = STR("Sessions"),
    .version = 3,
    .key = {.hash = {{.name = STR("pk"), .type = VALUE_S}}, .hash_count = 1},
    .ttl = TTL_ENABLED,
    .ttl_attribute = STR("expires"),
    .ttl_space = 1001,
    .ttl_since_version = 3,
    .space = 1000,
};

static struct value string(const char *text)
{
    struct builder builder;
    builder_init(&builder, &arena, 64);
    builder_add_string(&builder, str_from_c(text));
    return builder_finish(&builder);
}

static struct value number(const char *text)
{
    struct number parsed;
    assert_int_equal(number_parse(str_from_c(text), &parsed), NUMBER_OK);
    struct builder builder;
    builder_init(&builder, &arena, 64);
    builder_add_number(&builder, number_str(&parsed));
    return builder_finish(&builder);
}

/* An item; `expires` may be VALUE_ABSENT. */
static struct value item_of(const char *pk, struct value expires)
{
    struct builder builder;
    builder_init(&builder, &arena, 64);
    size_t open = builder_open(&builder, VALUE_M);
    builder_add_key(&builder, STR("pk"));
    builder_add_value(&builder, string(pk));
    if (!value_is_absent(expires)) {
        builder_add_key(&builder, STR("expires"));
        builder_add_value(&builder, expires);
    }
    builder_close_map(&builder, open, value_is_absent(expires) ? 1 : 2);
    return builder_finish(&builder);
}

static void test_time(void **state)
{
    (void)state;
    static const struct {
        const char *number;
        int64_t time_s; /* -1: never */
    } cases[] = {
        {"0", 0},
        {"1700000000", 1700000000},
        {"1.7E9", 1700000000},
        {"1700000000.5", 1700000001},
        {"1699999999.00000000000000001", 1700000000},
        {"0.5", 1},
        {"1E-130", 1},
        {"-0.5", 0},
        {"-1", -1},
        {"-1700000000", -1},
        {"9223372036854775807", INT64_MAX},
        {"9223372036854775808", -1},
        {"9223372036854775807.5", -1},
        {"9.9E125", -1},
        {"-9.9E125", -1},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        int64_t time_s;
        if (!expiry_time(&table, item_of("k", number(cases[i].number)), &time_s)) {
            time_s = -1;
        }
        if (time_s != cases[i].time_s) {
            fail_msg("%s: got %lld", cases[i].number, (long long)time_s);
        }
    }
    int64_t time_s;
    assert_false(expiry_time(&table, item_of("k", string("1700000000")), &time_s));
    assert_false(expiry_time(&table, item_of("k", VALUE_ABSENT), &time_s));
    assert_false(expiry_time(&table, VALUE_ABSENT, &time_s));
}

static struct str hex(struct str bytes)
{
    struct str text = STR("");
    for (size_t i = 0; i < bytes.len; i++) {
        text = arena_format(&arena, "%.*s%02x", STR_ARG(text), (uint8_t)bytes.data[i]);
    }
    return text;
}

/* Keys are stored: these must never change. */
static void test_keys(void **state)
{
    (void)state;
    struct str row = STR("\x00\x00\x00\x10\x39\x1e\xe1\x28\xc2\xce\x26\x1d\xc4\x40\x56\x4b\xf7\xfb"
                         "\x8b\x24sort");
    struct str key = expiry_key(&arena, 17, row, 1700000000);
    CHECK_STR_EQ("key", hex(key),
                 STR("00000011"
                     "00000000000000000000000000000009"
                     "000000006553f100"
                     "391ee128c2ce261dc440564bf7fb8b24736f7274"));
    CHECK_STR_EQ("item", expiry_item_row(&arena, 16, key), row);
    assert_true(str_cmp(expiry_bucket_key(&arena, 17, 9, 1700000000), key) < 0);
    assert_true(str_cmp(expiry_bucket_key(&arena, 17, 9, 1700000001), key) > 0);
    assert_true(str_cmp(expiry_bucket_key(&arena, 17, 9, -5), key) < 0);
    assert_true(str_cmp(expiry_bucket_key(&arena, 17, 9, INT64_MAX), key) > 0);
}

/* --- writes --- */

static bool is_done;

static void write_done(struct engine_call *call)
{
    assert_int_equal(call->err.code, ERR_NONE);
    is_done = true;
}

static void run_write(struct item_write *write, const char *pk)
{
    write->table = &table;
    write->key.hash = string(pk);
    write->key.row = key_of_item(&arena, engine->seed, table.space, write->key.hash, VALUE_ABSENT);
    struct items_write call = {
        .call = {.engine = engine,
                 .arena = &arena,
                 .home = waiting_mailbox_box(background.mailbox),
                 .done = write_done},
        .writes = write,
        .write_count = 1,
    };
    struct items_write *calls = &call;
    is_done = false;
    engine_write_items(&calls, 1);
    waiting_mailbox_run(background.mailbox, &is_done);
    assert_false(call.failed);
}

static void put(const char *pk, struct value expires)
{
    struct value item = item_of(pk, expires);
    struct item_write write = {.kind = WRITE_PUT, .item = item, .item_size = item_size(item)};
    run_write(&write, pk);
}

static size_t row_count;
static struct str newest_row;
static struct str wanted_row; /* of an item; STR_NULL: none */
static struct str wanted_way; /* the last row that leads to it */

static bool count_row(struct store_range *range, struct str key, struct str value)
{
    (void)range;
    (void)value;
    row_count++;
    newest_row = arena_copy(&arena, key);
    if (!str_is_null(wanted_row) && str_eq(expiry_item_row(&arena, table.space, key), wanted_row)) {
        wanted_way = newest_row;
    }
    return true;
}

static void count_done(struct store_range *range)
{
    (void)range;
    is_done = true;
}

static size_t count_rows(uint32_t space)
{
    struct key_writer writer;
    key_start(&writer, &arena, space);
    struct str lo = key_finish(&writer);
    struct store_range range = {
        .lo = lo,
        .hi = key_after_prefix(&arena, lo),
        .arena = &arena,
        .home = waiting_mailbox_box(background.mailbox),
        .row = count_row,
        .done = count_done,
    };
    row_count = 0;
    is_done = false;
    store_range(store, &range);
    waiting_mailbox_run(background.mailbox, &is_done);
    return row_count;
}

/* The last row that leads to an item's row; STR_NULL: there is none. */
static struct str way_to(struct str row)
{
    wanted_row = row;
    wanted_way = STR_NULL;
    count_rows(table.ttl_space);
    wanted_row = STR_NULL;
    return wanted_way;
}

static int64_t newest_row_time(void)
{
    return (int64_t)get_u64_be(newest_row.data + STORE_PREFIX_LEN);
}

static struct value seconds_from_now(int64_t seconds)
{
    return number(arena_format(&arena, "%lld", (long long)(clock_wall_ms() / 1000 + seconds)).data);
}

static void test_writes(void **state)
{
    (void)state;
    int64_t now_s = clock_wall_ms() / 1000;
    put("a", seconds_from_now(1000));
    put("b", VALUE_ABSENT);
    put("c", string("soon"));
    put("d", number("-5"));
    put("e", number("1")); /* more than five years past */
    assert_int_equal(count_rows(table.ttl_space), 1);
    assert_in_range(newest_row_time(), now_s + 1000, now_s + 1060);
    put("a", seconds_from_now(2000));
    assert_int_equal(count_rows(table.ttl_space), 1);
    assert_in_range(newest_row_time(), now_s + 2000, now_s + 2060);
    put("a", VALUE_ABSENT);
    assert_int_equal(count_rows(table.ttl_space), 0);
    put("a", seconds_from_now(-500)); /* past: the row stands at the time of the write */
    assert_int_equal(count_rows(table.ttl_space), 1);
    assert_in_range(newest_row_time(), now_s, now_s + 60);
    struct item_write remove = {.kind = WRITE_DELETE};
    run_write(&remove, "a");
    assert_int_equal(count_rows(table.ttl_space), 1); /* it leads nowhere now */
}

static void test_take(void **state)
{
    (void)state;
    int64_t now_s = clock_wall_ms() / 1000;
    struct expiry_find find = {.due_s = now_s, .oldest_s = now_s - EXPIRY_PAST_MAX_S};
    static const struct {
        int64_t offset_s;
        bool goes;
    } cases[] = {
        {-1, true},
        {-1000, true},
        {-EXPIRY_PAST_MAX_S + 100, true},
        {1000, false},
        {-EXPIRY_PAST_MAX_S - 100, false},
    };
    struct str row = key_of_item(&arena, engine->seed, table.space, string("x"), VALUE_ABSENT);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        put("x", seconds_from_now(cases[i].offset_s));
        size_t items = count_rows(table.space);
        struct str way = way_to(row);
        assert_int_equal(str_is_null(way), cases[i].offset_s < -EXPIRY_PAST_MAX_S);
        find.key = str_is_null(way) ? expiry_key(&arena, table.ttl_space, row, 1) : way;
        struct item_write remove = {.kind = WRITE_DELETE, .is_internal = true, .expiry = &find};
        run_write(&remove, "x");
        assert_int_equal(items - count_rows(table.space), cases[i].goes ? 1 : 0);
        bool is_ahead = cases[i].offset_s > 0; /* its time comes: the way to it stays */
        assert_int_equal(!str_is_null(way_to(row)), is_ahead);
        struct item_write again = {.kind = WRITE_DELETE, .is_internal = true, .expiry = &find};
        run_write(&again, "x"); /* finds nothing, or something that is not due */
        assert_int_equal(items - count_rows(table.space), cases[i].goes ? 1 : 0);
    }
}

static int open_engine(void **state)
{
    (void)state;
    return open_test_engine(0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_time),
        cmocka_unit_test(test_keys),
        cmocka_unit_test(test_writes),
        cmocka_unit_test(test_take),
    };
    return cmocka_run_group_tests(tests, open_engine, close_test_engine);
}
