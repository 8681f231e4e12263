/* Cases of the contract for the life of a store: its seed, closing it, and serving as a member. Run
 * by contract_test. */
#include "contract.h"

#include <stdatomic.h>
#include <unistd.h>

/* The seed can be chosen when a store is created, and never changes afterwards. */
static void seed_is_kept(struct fixture *fixture)
{
    uint64_t random_seed = store_seed(fixture->store);
    assert_true(random_seed != 0);
    fixture_recreate(fixture, 0);
    assert_true(store_seed(fixture->store) != random_seed);
    fixture_recreate(fixture, 0x0123456789ABCDEF);
    assert_true(store_seed(fixture->store) == 0x0123456789ABCDEF);
    if (fixture_is_persistent(fixture)) {
        fixture->seed = 42; /* ignored, as the store exists */
        fixture_reopen(fixture);
        assert_true(store_seed(fixture->store) == 0x0123456789ABCDEF);
    }
}

static bool eval_one(void *context, struct arena *arena, const struct str *rows,
                     struct store_batch *batch)
{
    (void)context;
    (void)rows;
    store_batch_put(batch, 0, number_row(arena, 1));
    return true;
}

/* store_close() waits for updates that are under way; done() runs later, on their home. */
static void closing_waits_for_updates(struct fixture *fixture)
{
    if (!fixture_is_persistent(fixture)) {
        return;
    }
    enum { COUNT = 50 };
    static struct change changes[COUNT];
    struct client *client = client_create(fixture);
    struct str keys[COUNT];
    for (uint64_t i = 0; i < COUNT; i++) {
        keys[i] = key_number(&client->arena, 7, i, i);
        client_start(client, &changes[i], &keys[i], 1, eval_one, NULL);
    }
    fixture_reopen(fixture);
    for (size_t i = 0; i < COUNT; i++) {
        assert_int_equal(client_finish(&changes[i]), STORE_OK);
        assert_int_equal(number_of(client_get(client, keys[i])), 1);
    }
}

static void note_change(void *context)
{
    atomic_fetch_add((atomic_int *)context, 1);
}

static enum store_status try_get(struct client *client, struct str key, bool before_serving)
{
    struct store_get get = {.keys = &key, .key_count = 1, .before_serving = before_serving};
    struct str row;
    return client_run_get(client, get, &row);
}

static enum store_status try_range(struct client *client, bool before_serving)
{
    struct range_spec spec = {.lo = key_number(&client->arena, 7, 0, 0),
                              .hi = key_number(&client->arena, 8, 0, 0),
                              .before_serving = before_serving};
    return client_range(client, spec).status;
}

/* A member that watches may not serve before it has announced what it knows; until then only reads
 * with `before_serving` succeed. A store that cannot be shared may always serve. */
static void reads_before_serving(struct fixture *fixture)
{
    struct client *client = client_create(fixture);
    client->store = fixture->inner; /* the wrapper of a variant is not a member */
    struct str key = key_number(&client->arena, 7, 1, 1);
    client_put(client, key, STR("v"));
    atomic_int changes = 0;
    store_watch(client->store, note_change, &changes);
    bool may_serve = store_may_serve(client->store);
    assert_int_equal(may_serve, !fixture->variant->postgresql);
    assert_int_equal(try_get(client, key, true), STORE_OK);
    assert_int_equal(try_range(client, true), STORE_OK);
    assert_int_equal(try_get(client, key, false), may_serve ? STORE_OK : STORE_FAILED);
    assert_int_equal(try_range(client, false), may_serve ? STORE_OK : STORE_FAILED);
    store_announce(client->store, (struct store_progress){.seen = 7, .settled = 5});
    while (!store_may_serve(client->store) || store_slowest(client->store).seen != 7) {
        usleep(1000); /* until the next heartbeat */
    }
    assert_int_equal(store_slowest(client->store).settled, 5);
    assert_int_equal(try_get(client, key, false), STORE_OK);
    assert_int_equal(try_range(client, false), STORE_OK);
    assert_true(store_is_leader(client->store));
    store_watch(client->store, NULL, NULL);
    int seen = atomic_load(&changes);
    client_put(client, key, STR("w"));
    assert_int_equal(atomic_load(&changes), seen);
}

const struct contract_case life_cases[] = {
    {"the seed is kept", seed_is_kept},
    {"closing waits for updates", closing_waits_for_updates},
    {"reads before serving", reads_before_serving},
    {0},
};
