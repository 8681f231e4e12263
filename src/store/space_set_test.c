/* Tests sets of space numbers: adding, runs, and the stored form. */
#include "store/space_set.h"

#include "base/testing.h"

static const uint32_t members[] = {1,     2,     3,       4095,       4096,          65535,
                                   65536, 65537, 1 << 20, 0x7FFFFFFF, UINT32_MAX - 1};

static void add_all(struct space_set *set)
{
    for (size_t i = 0; i < COUNT_OF(members); i++) {
        space_set_add(set, members[i]);
    }
}

static void has_what_was_added(void **state)
{
    (void)state;
    struct space_set set;
    space_set_init(&set);
    add_all(&set);
    add_all(&set);
    for (size_t i = 0; i < COUNT_OF(members); i++) {
        assert_true(space_set_has(&set, members[i]));
    }
    static const uint32_t others[] = {0, 4, 4094, 4097, 65534, 65538, (1 << 20) + 1, UINT32_MAX};
    for (size_t i = 0; i < COUNT_OF(others); i++) {
        assert_false(space_set_has(&set, others[i]));
    }
    space_set_finish(&set);
}

static void runs(void **state)
{
    (void)state;
    static const uint32_t expected[][2] = {{1, 3},
                                           {4095, 4096},
                                           {65535, 65537},
                                           {1 << 20, 1 << 20},
                                           {0x7FFFFFFF, 0x7FFFFFFF},
                                           {UINT32_MAX - 1, UINT32_MAX - 1}};
    struct space_set set;
    space_set_init(&set);
    add_all(&set);
    uint64_t at = 0;
    uint32_t first;
    uint32_t last;
    for (size_t i = 0; i < COUNT_OF(expected); i++) {
        assert_true(space_set_next_run(&set, &at, &first, &last));
        assert_int_equal(first, expected[i][0]);
        assert_int_equal(last, expected[i][1]);
    }
    assert_false(space_set_next_run(&set, &at, &first, &last));
    space_set_finish(&set);
}

/* The stored form must never change: bit i % 8 of byte i / 8. */
static void pieces_are_stored_as_documented(void **state)
{
    (void)state;
    struct space_set set;
    struct space_set copy;
    space_set_init(&set);
    space_set_init(&copy);
    space_set_add(&set, 4096 + 0);
    space_set_add(&set, 4096 + 9);
    space_set_add(&set, 4096 + 4095);
    uint8_t bytes[SPACE_PIECE_BYTES];
    space_set_save(&set, space_piece(4096 + 9), bytes);
    assert_int_equal(bytes[0], 1);
    assert_int_equal(bytes[1], 2);
    assert_int_equal(bytes[511], 0x80);
    space_set_load(&copy, 1, bytes);
    assert_true(space_set_has(&copy, 4096));
    assert_true(space_set_has(&copy, 4096 + 9));
    assert_true(space_set_has(&copy, 4096 + 4095));
    assert_false(space_set_has(&copy, 4096 + 1));
    assert_false(space_set_has(&copy, 9));
    space_set_finish(&copy);
    space_set_finish(&set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(has_what_was_added),
        cmocka_unit_test(runs),
        cmocka_unit_test(pieces_are_stored_as_documented),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
