/* Cases of the contract for dropping spaces. Run by contract_test. */
#include "contract.h"

#include <unistd.h>

#include "base/clock.h"

static bool eval_into_dropped(void *context, struct arena *arena, const struct str *rows,
                              struct store_batch *batch)
{
    const struct str *dropped = context;
    (void)arena;
    (void)rows;
    store_batch_put(batch, 0, STR("kept"));
    store_batch_put_owned(batch, *dropped, STR("left out"));
    store_batch_add(batch, *dropped, (struct store_count){.count = 1});
    store_batch_append(batch, str_make(dropped->data, STORE_PREFIX_LEN), STR("left out"));
    return true;
}

static void rows_are_gone(struct fixture *fixture)
{
    struct client *client = client_create(fixture);
    struct arena *arena = &client->arena;
    for (uint64_t i = 0; i < 90; i++) {
        client_put(client, key_number(arena, 7 + (uint32_t)(i % 3), i, i), STR("v"));
    }
    fixture_settle(fixture);
    struct str dropped = key_number(arena, 8, 1, 1);
    struct str kept = key_number(arena, 7, 0, 0);
    CHECK_STR_EQ("before", client_get(client, dropped), STR("v"));
    store_drop_space(client->store, 8);
    assert_true(str_is_null(client_get(client, dropped)));
    assert_int_equal(client_read_space(client, 8).count, 0);
    assert_int_equal(client_try_put(client, dropped, STR("again")), STORE_GONE);
    struct str both[] = {kept, dropped};
    assert_int_equal(client_update(client, both, 2, eval_into_dropped, &dropped), STORE_GONE);
    CHECK_STR_EQ("untouched", client_get(client, kept), STR("v"));
    assert_int_equal(client_update(client, &kept, 1, eval_into_dropped, &dropped), STORE_OK);
    CHECK_STR_EQ("written", client_get(client, kept), STR("kept"));
    assert_int_equal(client_read_space(client, 7).count, 30);
    assert_int_equal(client_read_space(client, 8).count, 0);
    assert_int_equal(client_read_space(client, 9).count, 30);
    struct rows across = client_range(
        client, (struct range_spec){.lo = key_space(arena, 7), .hi = key_space(arena, 10)});
    assert_int_equal(across.count, 60);
}

static void a_hundred_thousand_spaces(struct fixture *fixture)
{
    enum { COUNT = 100000, FIRST = 1000 };
    struct client *client = client_create(fixture);
    int64_t start = clock_monotonic_us();
    for (uint32_t i = 0; i < COUNT; i++) {
        store_drop_space(client->store, FIRST + 2 * i);
    }
    for (uint32_t i = 0; i < 200; i++) {
        uint32_t space = FIRST + i * 997;
        enum store_status expected =
            space % 2 == 0 && space < FIRST + 2 * COUNT ? STORE_GONE : STORE_OK;
        assert_int_equal(client_try_put(client, key_number(&client->arena, space, 1, 1), STR("v")),
                         expected);
    }
    assert_true(clock_monotonic_us() - start < 10000000);
}

static bool eval_big_rows(void *context, struct arena *arena, const struct str *rows,
                          struct store_batch *batch)
{
    struct random random;
    (void)rows;
    random_init_seed(&random, *(const uint64_t *)context);
    for (size_t i = 0; i < 50; i++) {
        char *data = arena_bytes(arena, 20000);
        for (size_t at = 0; at < 20000; at += 8) {
            uint64_t noise = random_next(&random); /* incompressible */
            memcpy(data + at, &noise, 8);
        }
        store_batch_put(batch, i, str_make(data, 20000));
    }
    return true;
}

static void room_comes_back(struct fixture *fixture)
{
    struct client *client = client_create(fixture);
    for (uint64_t i = 0; i < 12; i++) {
        struct str keys[50];
        for (uint64_t k = 0; k < 50; k++) {
            keys[k] = key_number(&client->arena, i % 3 == 0 ? 7 : 8, i, k);
        }
        assert_int_equal(client_update(client, keys, 50, eval_big_rows, &i), STORE_OK);
        client_reset(client);
    }
    uint64_t before = fixture_room(fixture, 8);
    assert_true(before > 0);
    store_drop_space(client->store, 8);
    int64_t start = clock_monotonic_us();
    while (fixture_space_has_room(fixture, 8, before)) {
        assert_true(clock_monotonic_us() - start < 20000000);
        usleep(5000);
    }
    assert_int_equal(client_read_space(client, 7).count, 200);
    assert_int_equal(client_read_space(client, 8).count, 0);
}

const struct contract_case drop_cases[] = {
    {"rows of a dropped space are gone", rows_are_gone},
    {"a hundred thousand spaces are dropped", a_hundred_thousand_spaces},
    {"room of a dropped space comes back", room_comes_back},
    {0},
};
