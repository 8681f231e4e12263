/* Tests the blocks that take the place of bad ones, and the rows that list these. */
#include "store/image/sst_block.h"

#include "base/testing.h"
#include "store/image/quarantine_row.h"
#include "store/image/sst_file.h"

enum { CRC32C = 1, XXH3 = 4, TAIL_LEN = 8 };

static void check_filler(uint64_t size, uint8_t checksum_type, struct str key)
{
    struct buf block = {0};
    assert_true(block_make_filler(&block, size, checksum_type, key));
    assert_int_equal(block.len, size + BLOCK_TRAILER_LEN);
    assert_true(block_is_intact(buf_str(&block), checksum_type));
    struct buf room = {0};
    struct block_iter iter;
    block_iter_init(&iter, block_contents(buf_str(&block), &room), false);
    assert_true(block_iter_next(&iter));
    assert_true(str_eq(str_make(iter.key.data, iter.key.len - TAIL_LEN), key));
    assert_int_equal(iter.key.data[key.len], ENTRY_DELETION);
    assert_true(iter.value.len > 0);
    assert_false(block_iter_next(&iter));
    assert_false(iter.is_bad);
    block_iter_finish(&iter);
    buf_finish(&room);
    buf_finish(&block);
}

static void fillers_have_any_size(void **state)
{
    (void)state;
    static const uint8_t types[] = {CRC32C, XXH3};
    char key[200];
    memset(key, 'k', sizeof(key));
    for (size_t i = 0; i < COUNT_OF(types); i++) {
        for (uint64_t size = 400; size < 700; size++) {
            check_filler(size, types[i], str_make(key, sizeof(key)));
            check_filler(size, types[i], STR("a key of a row, longer"));
        }
        check_filler(8192, types[i], STR("k"));
        check_filler((uint64_t)1 << 20, types[i], STR("k"));
    }
}

static void fillers_need_some_bytes(void **state)
{
    (void)state;
    struct buf block = {0};
    struct str key = STR("0123456789");
    uint64_t least = 1 + 1 + 5 + key.len + TAIL_LEN + 1 + 8;
    for (uint64_t size = 0; size < least; size++) {
        assert_false(block_make_filler(&block, size, XXH3, key));
    }
    check_filler(least, XXH3, key);
    assert_false(block_make_filler(&block, 8192, 77, key));
    buf_finish(&block);
}

static void rows_are_decoded(void **state)
{
    (void)state;
    struct quarantine_row row = {.sst = 12,
                                 .offset = 345678901234,
                                 .first = STR("\0\0\0\x07"
                                              "first"),
                                 .last = STR("\0\0\0\x07"
                                             "last"),
                                 .is_corrected = true};
    char key[QUARANTINE_KEY_LEN];
    struct buf value = {0};
    struct quarantine_row found;
    quarantine_row_encode(&row, key, &value);
    assert_true(quarantine_row_decode(str_make(key, sizeof(key)), buf_str(&value), &found));
    assert_int_equal(found.sst, row.sst);
    assert_int_equal(found.offset, row.offset);
    assert_true(str_eq(found.first, row.first));
    assert_true(str_eq(found.last, row.last));
    assert_true(found.is_corrected);
    for (size_t len = 0; len < 18; len++) {
        assert_false(
            quarantine_row_decode(str_make(key, sizeof(key)), str_make(value.data, len), &found));
    }
    assert_false(quarantine_row_decode(str_make(key, sizeof(key) - 1), buf_str(&value), &found));
    buf_finish(&value);
}

static void ranges_of_one_space_are_accepted(void **state)
{
    (void)state;
    static const struct {
        struct str first;
        struct str last;
        bool is_accepted;
    } cases[] = {
        {STR("\0\0\0\x07"
             "a"),
         STR("\0\0\0\x07"
             "b"),
         true},
        {STR("\0\0\0\x07"
             "a"),
         STR("\0\0\0\x07"
             "a"),
         true},
        {STR("\0\0\0\x07"
             "b"),
         STR("\0\0\0\x07"
             "a"),
         false},
        {STR("\0\0\0\x07"
             "a"),
         STR("\0\0\0\x08"), false},
        {STR("\0\0\0\0"
             "a"),
         STR("\0\0\0\0"
             "b"),
         false}, /* the store's own */
        {STR("\0\0\0"), STR("\0\0\0\x07"), false},
        {STR(""), STR("\0\0\0\x07"), false},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        assert_int_equal(quarantine_accepts(cases[i].first, cases[i].last), cases[i].is_accepted);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fillers_have_any_size),
        cmocka_unit_test(fillers_need_some_bytes),
        cmocka_unit_test(rows_are_decoded),
        cmocka_unit_test(ranges_of_one_space_are_accepted),
    };
    return cmocka_run_group_tests_name("sst_block", tests, NULL, NULL);
}
