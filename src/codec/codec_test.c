/* Unit tests of stored formats, with the test vectors of docs/internals/formats.md. */
#include "codec/row_key.h"

#include "base/testing.h"
#include "codec/row.h"
#include "codec/stored_table.h"
#include "codec/stream_record.h"
#include "model/builder.h"

static struct str hex(struct arena *arena, struct str bytes)
{
    static const char digits[] = "0123456789abcdef";
    char *text = arena_bytes(arena, bytes.len * 2);
    for (size_t i = 0; i < bytes.len; i++) {
        text[i * 2] = digits[(uint8_t)bytes.data[i] >> 4];
        text[i * 2 + 1] = digits[bytes.data[i] & 15];
    }
    return str_make(text, bytes.len * 2);
}

static struct value string(struct arena *arena, const char *text)
{
    struct builder builder;
    builder_init(&builder, arena, 64);
    builder_add_string(&builder, str_from_c(text));
    return builder_finish(&builder);
}

static void test_grouped(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *hex;
        const char *prefix_hex;
    } vectors[] = {
        {"", "000000000000000000", ""},
        {"abc", "616263000000000003", "616263"},
        {"abcdefgh", "616263646566676808", "6162636465666768"},
        {"abcdefghi", "616263646566676809690000000000000001", "61626364656667680969"},
    };
    struct arena arena;
    arena_init(&arena);
    for (size_t i = 0; i < COUNT_OF(vectors); i++) {
        struct key_writer writer;
        key_start(&writer, &arena, 0x01020304);
        key_add_grouped(&writer, str_from_c(vectors[i].text));
        CHECK_STR_EQ(vectors[i].text, hex(&arena, key_finish(&writer)),
                     arena_format(&arena, "01020304%s", vectors[i].hex));
        key_start(&writer, &arena, 0x01020304);
        key_add_grouped_prefix(&writer, str_from_c(vectors[i].text));
        CHECK_STR_EQ(vectors[i].text, hex(&arena, key_finish(&writer)),
                     arena_format(&arena, "01020304%s", vectors[i].prefix_hex));
    }
    arena_finish(&arena);
}

/* The hash is stored: these must never change. */
static void test_item_key(void **state)
{
    (void)state;
    struct arena arena;
    arena_init(&arena);
    struct str key = key_of_item(&arena, 42, 16, string(&arena, "user"), string(&arena, "sort"));
    CHECK_STR_EQ("item", hex(&arena, key), STR("00000010391ee128c2ce261dc440564bf7fb8b24736f7274"));
    arena_finish(&arena);
}

static void test_after_prefix(void **state)
{
    (void)state;
    struct arena arena;
    arena_init(&arena);
    CHECK_STR_EQ("a", key_after_prefix(&arena, STR("a\xff\xff")), STR("b"));
    CHECK_STR_EQ("b", key_after_prefix(&arena, STR("ab")), STR("ac"));
    assert_true(str_is_null(key_after_prefix(&arena, STR("\xff"))));
    arena_finish(&arena);
}

static void test_row(void **state)
{
    (void)state;
    struct arena arena;
    arena_init(&arena);
    struct builder builder;
    builder_init(&builder, &arena, 64);
    size_t open = builder_open(&builder, VALUE_M);
    builder_add_key(&builder, STR("a"));
    builder_add_int64(&builder, 5);
    builder_close_map(&builder, open, 1);
    struct value item = builder_finish(&builder);
    struct str row = row_encode(&arena, item, item_size(item), 258);
    struct row decoded = row_decode(row);
    assert_true(value_eq(decoded.item, item) && decoded.size == 3);
    assert_int_equal(decoded.table_version, 258);
    CHECK_STR_EQ("row", hex(&arena, row),
                 STR("020300000002010000070b0000000100000003610203038233"));
    assert_true(value_is_absent(row_decode(STR_NULL).item));
    arena_finish(&arena);
}

/* A table with one global index and two Kinesis destinations. */
static const struct attribute_definition sample_definitions[] = {{STR("pk"), VALUE_S},
                                                                 {STR("g"), VALUE_N}};
static const struct str sample_names[] = {STR("x"), STR("y")};
static const struct index sample_index = {
    .name = STR("gsi"),
    .kind = INDEX_GLOBAL,
    .key = {.hash = {{STR("g"), VALUE_N}}, .hash_count = 1},
    .projection = PROJECTION_INCLUDE,
    .non_key_names = sample_names,
    .non_key_count = 2,
    .status = STATUS_ACTIVE,
    .on_demand = {5, 0},
    .insights = {.enabled = true, .mode = INSIGHTS_THROTTLED_KEYS, .changed_ms = 5, .rules_ms = 4},
    .space = 18,
};
static const struct kinesis_destination sample_destinations[] = {
    {.stream_arn = STR("one"), .state = DESTINATION_ENABLE_FAILED, .problem = STR("none")},
    {.stream_arn = STR("two"),
     .state = DESTINATION_ACTIVE,
     .precision = PRECISION_MICROSECOND,
     .changed_ms = 8,
     .updated_ms = 9},
};
static const struct table sample_table = {
    .destinations = sample_destinations,
    .destination_count = 2,
    .feed_space = 19,
    .feed_slots = 4,
    .feed_version = 20,
    .name = STR("Music"),
    .id = "0123456789abcdef0123456789abcdef0123",
    .created_ms = 1700000000123,
    .status = STATUS_ACTIVE,
    .key = {.hash = {{STR("pk"), VALUE_S}}, .hash_count = 1},
    .definitions = sample_definitions,
    .definition_count = 2,
    .indexes = &sample_index,
    .index_count = 1,
    .billing = BILLING_PAY_PER_REQUEST,
    .was_on_demand = true,
    .deletion_protection = true,
    .stream = STREAM_KEYS_ONLY,
    .insights = {.changed_ms = 7, .rules_ms = 6},
    .space = 17,
};

static void test_table(void **state)
{
    (void)state;
    struct arena arena;
    arena_init(&arena);
    struct err err = ERR_INIT(&arena);
    struct str bytes = table_encode(&arena, &sample_table);
    struct table back;
    assert_true(table_decode(&arena, bytes, &back, &err));
    CHECK_STR_EQ("table", table_encode(&arena, &back), bytes);
    CHECK_STR_EQ("name", back.name, STR("Music"));
    assert_true(back.deletion_protection && back.space == 17 && back.created_ms == 1700000000123);
    assert_true(back.index_count == 1 && back.indexes[0].non_key_count == 2 &&
                back.indexes[0].space == 18);
    assert_true(index_projects(&back, &back.indexes[0], STR("y")));
    assert_false(index_projects(&back, &back.indexes[0], STR("z")));
    assert_false(table_decode(&arena, STR("\x02garbage"), &back, &err));
    arena_finish(&arena);
}

static struct value int_item(struct arena *arena, struct str name, int64_t number)
{
    struct builder builder;
    builder_init(&builder, arena, 64);
    size_t open = builder_open(&builder, VALUE_M);
    builder_add_key(&builder, name);
    builder_add_int64(&builder, number);
    builder_close_map(&builder, open, 1);
    return builder_finish(&builder);
}

static void test_stream_record(void **state)
{
    (void)state;
    struct arena arena;
    arena_init(&arena);
    /* As in docs/internals/formats.md. */
    struct stream_record record = {
        .event = STREAM_MODIFY,
        .by_expiry = true,
        .time_ms = 0x0102030405,
        .size = 7,
        .keys = int_item(&arena, STR("a"), 5),
        .new_image = int_item(&arena, STR("a"), 5),
    };
    struct str bytes = stream_record_encode(&arena, &record);
#define ITEM "\x07\x0b\x00\x00\x00\x01\x00\x00\x00\x03\x61\x02\x03\x03\x82\x33"
    CHECK_STR_EQ("record", bytes,
                 STR("\x01\x15\x05\x04\x03\x02\x01\x00\x00\x00\x07\x00\x00\x00" ITEM ITEM));
    static const enum stream_event events[] = {STREAM_INSERT, STREAM_MODIFY, STREAM_REMOVE};
    for (size_t i = 0; i < 3 * 16; i++) {
        record.event = events[i / 16];
        record.has_micros = (i & 8) != 0;
        record.micros = record.has_micros ? 999 : 0;
        record.by_expiry = (i & 1) != 0;
        record.old_image = (i & 2) != 0 ? int_item(&arena, STR("old"), 1) : VALUE_ABSENT;
        record.new_image = (i & 4) != 0 ? int_item(&arena, STR("new"), 2) : VALUE_ABSENT;
        struct stream_record back = stream_record_decode(stream_record_encode(&arena, &record));
        assert_true(back.event == record.event && back.by_expiry == record.by_expiry);
        assert_true(back.time_ms == record.time_ms && back.size == record.size);
        assert_true(back.has_micros == record.has_micros && back.micros == record.micros);
        assert_true(value_eq(back.keys, record.keys));
        assert_true(value_eq(back.old_image, record.old_image));
        assert_true(value_eq(back.new_image, record.new_image));
    }
    arena_finish(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_grouped),      cmocka_unit_test(test_item_key),
        cmocka_unit_test(test_after_prefix), cmocka_unit_test(test_row),
        cmocka_unit_test(test_table),        cmocka_unit_test(test_stream_record),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
