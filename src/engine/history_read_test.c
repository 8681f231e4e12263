/* Tests history_read() when the store fails: an error of the disk that does not recur costs
 * nothing, and rows that stay unreadable are reported after some attempts. */
#include "base/testing.h"
#include "engine/engine_internal.h"
#include "engine/history.h"
#include "store/fault/fault.h"

enum { SPACE = 1000, HISTORY_SPACE = 1001, ROWS = 10 };

struct fixture {
    struct engine engine; /* no more of it is used than the store */
    struct background background;
    struct history_reader reader;
    struct arena arena;
};

static bool put_row(struct store_update *update, const struct str *rows, struct store_batch *batch)
{
    (void)rows;
    store_batch_put(batch, 0, update->keys[0]);
    return true;
}

static void put_rows(struct fixture *fixture)
{
    for (uint32_t i = 0; i < ROWS; i++) {
        struct key_writer writer;
        key_start(&writer, &fixture->arena, SPACE);
        char number[STORE_PREFIX_LEN] = {(char)i};
        key_add_bytes(&writer, str_make(number, sizeof(number)));
        struct str key = key_finish(&writer);
        struct background_update put = {
            .update = {.keys = &key, .key_count = 1, .arena = &fixture->arena, .eval = put_row}};
        assert_int_equal(background_update(&fixture->background, &put), STORE_OK);
    }
}

static int set_up(void **state)
{
    struct store_options options = {.cache_bytes = 1 << 20, .worker_count = 1};
    struct fixture *fixture = test_calloc(1, sizeof(*fixture));
    arena_init(&fixture->arena);
    struct err err = ERR_INIT(&fixture->arena);
    struct store *inner;
    assert_true(store_open(STR("memory:"), &options, &inner, &err));
    fixture->engine.store = fault_create(inner);
    background_prepare(&fixture->background, &fixture->engine);
    put_rows(fixture);
    fixture->reader = (struct history_reader){
        .background = &fixture->background,
        .source = {.space = SPACE, .history_space = HISTORY_SPACE},
    };
    *state = fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;
    history_reader_finish(&fixture->reader);
    background_finish(&fixture->background);
    store_close(fixture->engine.store);
    arena_finish(&fixture->arena);
    test_free(fixture);
    return 0;
}

static void test_one_bad_read(void **state)
{
    struct fixture *fixture = *state;
    fault_nth(fixture->engine.store, FAULT_RANGE_BAD, 1);
    assert_true(history_read(&fixture->reader));
    assert_false(fixture->reader.is_unreadable);
    assert_int_equal(fixture->reader.count, ROWS);
    assert_int_equal(fault_count(fixture->engine.store, FAULT_RANGE_BAD), 1);
}

static void test_bad_block(void **state)
{
    struct fixture *fixture = *state;
    fault_every(fixture->engine.store, FAULT_RANGE_BAD, 1);
    assert_false(history_read(&fixture->reader));
    assert_true(fixture->reader.is_unreadable);
    assert_in_range(fault_count(fixture->engine.store, FAULT_RANGE_BAD), 3, 10);
}

/* A failure of another kind is reported at once: the caller decides when to try again. */
static void test_failed_store(void **state)
{
    struct fixture *fixture = *state;
    fault_nth(fixture->engine.store, FAULT_RANGE, 1);
    assert_false(history_read(&fixture->reader));
    assert_false(fixture->reader.is_unreadable);
    assert_true(history_read(&fixture->reader));
    assert_int_equal(fixture->reader.count, ROWS);
}

/* A server that stops does not know whether the rows stay unreadable. */
static void test_stop(void **state)
{
    struct fixture *fixture = *state;
    fault_every(fixture->engine.store, FAULT_RANGE_BAD, 1);
    atomic_store(&fixture->background.stopping, true);
    assert_false(history_read(&fixture->reader));
    assert_false(fixture->reader.is_unreadable);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_one_bad_read, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_bad_block, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_failed_store, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_stop, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
