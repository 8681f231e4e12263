/* Cases of the contract for gets: one row or many, with or without a snapshot, cached or not. Run
 * by contract_test. */
#include "contract.h"

#include <stdatomic.h>

static void hundred_keys_some_absent(struct fixture *fixture)
{
    enum { COUNT = 100 };
    struct client *client = client_create(fixture);
    struct str keys[COUNT];
    for (uint64_t i = 0; i < COUNT; i++) {
        keys[i] = key_number(&client->arena, 7, i * 977, i);
        if (i % 3 != 0) {
            client_put(client, keys[i], number_row(&client->arena, i));
        }
    }
    fixture_settle(fixture);
    for (int snapshot = 0; snapshot < 2; snapshot++) {
        struct str rows[COUNT];
        assert_int_equal(client_get_many(client, keys, COUNT, snapshot != 0, rows), STORE_OK);
        for (uint64_t i = 0; i < COUNT; i++) {
            assert_int_equal(str_is_null(rows[i]), i % 3 == 0);
            assert_int_equal(number_of(rows[i]), i % 3 == 0 ? 0 : i);
        }
    }
}

static void no_keys_at_all(struct fixture *fixture)
{
    struct client *client = client_create(fixture);
    assert_int_equal(client_get_many(client, NULL, 0, true, NULL), STORE_OK);
}

/* Thread 0 writes a row, the others read it: a read must never return a row older than the last
 * acknowledged write. */
enum { LINEAR_THREADS = 3, LINEAR_ROUNDS = 150 };

struct linear {
    struct str key;
    atomic_uint_fast64_t acknowledged;
};

static bool eval_number(void *context, struct arena *arena, const struct str *rows,
                        struct store_batch *batch)
{
    (void)rows;
    store_batch_put(batch, 0, number_row(arena, *(const uint64_t *)context));
    return true;
}

static void read_or_write_linear(struct worker *worker)
{
    struct linear *linear = worker->context;
    if (worker->index == 0) {
        for (uint64_t i = 1; i <= LINEAR_ROUNDS; i++) {
            assert_int_equal(client_update(worker->client, &linear->key, 1, eval_number, &i),
                             STORE_OK);
            atomic_store(&linear->acknowledged, i);
            if (i % 16 == 0) {
                fixture_settle(worker->fixture);
            }
        }
        return;
    }
    uint64_t seen = 0;
    while (seen < LINEAR_ROUNDS) {
        client_reset(worker->client);
        uint64_t acknowledged = atomic_load(&linear->acknowledged);
        uint64_t got = number_of(client_get(worker->client, linear->key));
        assert_true(got >= acknowledged);
        assert_true(got >= seen);
        seen = got;
    }
}

static void reads_are_never_older_than_an_answer(struct fixture *fixture)
{
    struct client *client = client_create(fixture);
    struct linear linear = {.key = key_text(&client->arena, 7, "p", "s")};
    run_threads(fixture, LINEAR_THREADS, read_or_write_linear, &linear);
}

const struct contract_case read_cases[] = {
    {"a hundred keys, some absent", hundred_keys_some_absent},
    {"no keys at all", no_keys_at_all},
    {"reads are never older than an answer", reads_are_never_older_than_an_answer},
    {0},
};
