/* Names of shards and records, and iterators. */
#include "base/testing.h"
#include "engine/stream.h"
#include "engine/stream_internal.h"
#include "engine/stream_iterator.h"

static struct arena arena;

static int setup(void **state)
{
    (void)state;
    arena_init(&arena);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    arena_finish(&arena);
    return 0;
}

static const struct stream stream = {
    .since_ms = 1431379293291,
    .shard_ms = 1000,
    .shard_count = 4,
};

static void test_label(void **state)
{
    (void)state;
    CHECK_STR_EQ("label", stream_label(&arena, 1431379293291), STR("2015-05-11T21:21:33.291"));
    CHECK_STR_EQ("no milliseconds", stream_label(&arena, 1000), STR("1970-01-01T00:00:01.000"));
}

static void test_epochs(void **state)
{
    (void)state;
    static const struct {
        int64_t age_ms;
        uint64_t epoch;
    } rows[] = {{-5000, 0}, {-1, 0}, {0, 0}, {999, 0}, {1000, 1}, {1001, 1}, {5000, 5}};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        assert_int_equal(stream_epoch_at(&stream, stream.since_ms + rows[i].age_ms), rows[i].epoch);
    }
    assert_int_equal(stream_epoch_start_ms(&stream, 3), stream.since_ms + 3000);
}

static void test_shard_ids(void **state)
{
    (void)state;
    struct stream_shard shard;
    struct str id = stream_shard_id(&arena, &stream, (struct stream_shard){2, 3});
    CHECK_STR_EQ("id", id, STR("shardId-00000001431379295291-00000003"));
    assert_true(stream_shard_parse(&stream, id, &shard));
    assert_true(shard.epoch == 2 && shard.slot == 3);
    static const char *const bad[] = {
        "",
        "shardId-00000001431379295291-00000004", /* no such slot */
        "shardId-00000001431379295292-00000003", /* not the start of an epoch */
        "shardId-00000001431379292291-00000003", /* before the stream */
        "shardId-99999999999999999999-00000003", /* no number of 64 bits */
        "shardId-18446744073709551615-00000003",
        "shardId-00000001431379295291-0000000g",
        "shardId-0000000143137929529x-00000003",
        "shardId-00000001431379295291_00000003",
        "shardid-00000001431379295291-00000003",
        "shardId-00000001431379295291-000000030",
        "shardId-00000001431379295291-0000003",
    };
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        if (stream_shard_parse(&stream, str_from_c(bad[i]), &shard)) {
            fail_msg("%s is taken for a shard", bad[i]);
        }
    }
}

static void test_sequences(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t epoch;
        uint64_t stamp;
    } rows[] = {
        {"100000000000000000000", 0, 0},
        {"100000000000000000017", 0, 17},
        {"1000000000000000000017", 9, 17},
        {"118446744073709551615", 0, UINT64_MAX},
        {"199999999999999999999", 0, UINT64_MAX}, /* the end of a shard */
        {"1844674407370955161500000000000000000001", UINT64_MAX - 1, 1},
    };
    uint64_t epoch;
    uint64_t stamp;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        assert_true(stream_sequence_parse(str_from_c(rows[i].text), &epoch, &stamp));
        assert_true(epoch == rows[i].epoch && stamp == rows[i].stamp);
    }
    CHECK_STR_EQ("printed", stream_sequence(&arena, 9, 17), STR("1000000000000000000017"));
    CHECK_STR_EQ("last", stream_last_sequence(&arena, 0), STR("199999999999999999999"));
    static const char *const bad[] = {"",
                                      "1",
                                      "12345678901234567890",
                                      "000000000000000000001",
                                      "1x0000000000000000001",
                                      "10000000000000000000x",
                                      "-10000000000000000000",
                                      "9999999999999999999900000000000000000000"};
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        if (stream_sequence_parse(str_from_c(bad[i]), &epoch, &stamp)) {
            fail_msg("%s is taken for a sequence number", bad[i]);
        }
    }
}

/* Sequence numbers are compared as numbers by consumers: children's are larger than parents'. */
static void test_sequences_grow(void **state)
{
    (void)state;
    static const uint64_t stamps[] = {0, 1, 99, UINT64_MAX};
    struct str before = STR("");
    for (uint64_t epoch = 0; epoch < 200; epoch += 7) {
        for (size_t i = 0; i < COUNT_OF(stamps); i++) {
            struct str now = stream_sequence(&arena, epoch, stamps[i]);
            assert_true(now.len > before.len ||
                        (now.len == before.len && str_cmp(now, before) > 0));
            before = now;
        }
    }
}

static void test_shards_by_capacity(void **state)
{
    (void)state;
    static const struct {
        enum billing_mode billing;
        struct throughput units;
        struct unit_pair warm;
        uint32_t shards;
    } cases[] = {
        {BILLING_PROVISIONED, {.read_units = 1, .write_units = 1}, {0}, 1},
        {BILLING_PROVISIONED, {.read_units = 5, .write_units = 5}, {0}, 1},
        {BILLING_PROVISIONED, {.read_units = 3000, .write_units = 1000}, {0}, 1},
        {BILLING_PROVISIONED, {.read_units = 3001, .write_units = 1}, {0}, 2},
        {BILLING_PROVISIONED, {.read_units = 1, .write_units = 2001}, {0}, 3},
        {BILLING_PROVISIONED, {.read_units = 1, .write_units = 1}, {12000, 4000}, 4},
        {BILLING_PROVISIONED, {.read_units = INT64_MAX, .write_units = INT64_MAX}, {0}, 40},
        {BILLING_PAY_PER_REQUEST, {0}, {0}, 4},
        {BILLING_PAY_PER_REQUEST, {0}, {20000, 4000}, 7},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct table table = {
            .billing = cases[i].billing, .throughput = cases[i].units, .warm = cases[i].warm};
        assert_int_equal(stream_shards_by_capacity(&table), cases[i].shards);
    }
}

static void test_keys(void **state)
{
    (void)state;
    struct stream_shard shard = {0x0102, 3};
    struct str key = stream_record_key(&arena, 0x11, shard, 0xAABB);
    CHECK_STR_EQ("key", key,
                 STR("\x00\x00\x00\x11\x00\x00\x00\x00\x00\x00\x01\x02\x00\x00\x00\x00\x00\x00\x00"
                     "\x03\x00\x00\x00\x00\x00\x00\xAA\xBB"));
    assert_true(stream_key_shard(key).epoch == 0x0102 && stream_key_shard(key).slot == 3);
    assert_int_equal(stream_key_stamp(key), 0xAABB);
    assert_true(str_cmp(key, stream_trim_key(&arena, 0x11, 0)) < 0);
    struct stream_trimmed trimmed = {.epoch = 7, .stamp = 1234567890123};
    struct stream_trimmed back = stream_trim_decode(stream_trim_row(&arena, trimmed));
    assert_true(back.epoch == 7 && back.stamp == 1234567890123);
    assert_int_equal(stream_trim_decode(STR_NULL).stamp, 0);
}

static void test_iterators(void **state)
{
    (void)state;
    const uint64_t seed = 42;
    struct stream_iterator iterator = {
        .arn = STR("arn:aws:dynamodb:us-east-1:000000000000:table/t/stream/x"),
        .epoch = 5,
        .slot = 3,
        .position = UINT64_MAX,
        .made_ms = 1431379293291,
    };
    struct str text = stream_iterator_write(&arena, seed, &iterator);
    struct stream_iterator back;
    assert_true(stream_iterator_read(text, seed, &arena, &back));
    CHECK_STR_EQ("arn", back.arn, iterator.arn);
    assert_true(back.epoch == 5 && back.slot == 3 && back.position == UINT64_MAX &&
                back.made_ms == iterator.made_ms);
    assert_false(stream_iterator_read(text, seed + 1, &arena, &back)); /* another store's */
    for (size_t i = 0; i < text.len; i++) {
        struct str changed = arena_copy(&arena, text);
        ((char *)changed.data)[i] ^= 1;
        assert_false(stream_iterator_read(changed, seed, &arena, &back));
        assert_false(stream_iterator_read(str_make(text.data, i), seed, &arena, &back));
        assert_false(i > 0 && stream_iterator_read(str_skip(text, i), seed, &arena, &back));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_label, setup, teardown),
        cmocka_unit_test_setup_teardown(test_epochs, setup, teardown),
        cmocka_unit_test_setup_teardown(test_shard_ids, setup, teardown),
        cmocka_unit_test_setup_teardown(test_sequences, setup, teardown),
        cmocka_unit_test_setup_teardown(test_sequences_grow, setup, teardown),
        cmocka_unit_test(test_shards_by_capacity),
        cmocka_unit_test_setup_teardown(test_keys, setup, teardown),
        cmocka_unit_test_setup_teardown(test_iterators, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
