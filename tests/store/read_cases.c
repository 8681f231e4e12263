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

/* bytes_max is the limit of all rows together; a get of exactly so many bytes succeeds. */
static void gets_obey_bytes_max(struct fixture *fixture)
{
    enum { COUNT = 10, ROW_BYTES = 1000 };
    static char bytes[ROW_BYTES];
    struct client *client = client_create(fixture);
    struct str keys[COUNT + 1];
    for (uint64_t i = 0; i <= COUNT; i++) {
        keys[i] = key_number(&client->arena, 7, i * 977, i);
        if (i < COUNT) {
            client_put(client, keys[i], str_make(bytes, sizeof(bytes)));
        }
    }
    fixture_settle(fixture);
    static const struct {
        size_t bytes_max;
        enum store_status status;
    } cases[] = {
        {0, STORE_OK},
        {COUNT * ROW_BYTES, STORE_OK},
        {COUNT * ROW_BYTES + 1, STORE_OK},
        {COUNT * ROW_BYTES - 1, STORE_TOO_MUCH},
        {ROW_BYTES, STORE_TOO_MUCH},
        {1, STORE_TOO_MUCH},
    };
    for (size_t i = 0; i < 2 * COUNT_OF(cases); i++) {
        struct store_get get = {.keys = keys,
                                .key_count = COUNT + 1,
                                .snapshot = i % 2 != 0,
                                .bytes_max = cases[i / 2].bytes_max};
        struct str rows[COUNT + 1];
        assert_int_equal(client_run_get(client, get, rows), cases[i / 2].status);
        if (cases[i / 2].status == STORE_OK) {
            assert_int_equal(rows[COUNT - 1].len, ROW_BYTES);
            assert_true(str_is_null(rows[COUNT]));
        }
    }
}

/* A chain of requests: done() of a get starts an update with the row plus one, and done() of that
 * starts the get again, with the same structs. */
enum { CHAIN_LEN = 10 };

struct chain {
    struct client *client;
    struct str key;
    struct arena get_arena;
    struct arena update_arena;
    struct store_get get;
    struct store_update update;
    uint64_t number;
    bool done;
};

static bool eval_chain(struct store_update *update, const struct str *rows,
                       struct store_batch *batch)
{
    struct chain *chain = CONTAINER_OF(update, struct chain, update);
    assert_int_equal(number_of(rows[0]), chain->number);
    store_batch_put(batch, 0, number_row(update->arena, chain->number + 1));
    return true;
}

static void chain_updated(struct store_update *update)
{
    struct chain *chain = CONTAINER_OF(update, struct chain, update);
    assert_int_equal(update->status, STORE_OK);
    store_get(chain->client->store, &chain->get);
}

static void chain_got(struct store_get *get)
{
    struct chain *chain = CONTAINER_OF(get, struct chain, get);
    assert_int_equal(get->status, STORE_OK);
    chain->number = number_of(get->rows[0]);
    if (chain->number == CHAIN_LEN) {
        chain->done = true;
        return;
    }
    store_update(chain->client->store, &chain->update);
}

static void done_may_start_requests(struct fixture *fixture)
{
    for (int may_block = 0; may_block < 2; may_block++) {
        struct client *client = client_create(fixture);
        struct chain chain = {.client = client,
                              .key = key_number(&client->arena, 7, 1, (uint64_t)may_block)};
        arena_init(&chain.get_arena);
        arena_init(&chain.update_arena);
        struct mailbox *home = waiting_mailbox_box(client->box);
        chain.get = (struct store_get){.keys = &chain.key,
                                       .key_count = 1,
                                       .arena = &chain.get_arena,
                                       .home = home,
                                       .done = chain_got};
        chain.update = (struct store_update){.keys = &chain.key,
                                             .key_count = 1,
                                             .arena = &chain.update_arena,
                                             .home = home,
                                             .eval = eval_chain,
                                             .done = chain_updated};
        home->may_block = may_block != 0;
        store_get(client->store, &chain.get);
        waiting_mailbox_run(client->box, &chain.done);
        home->may_block = false;
        assert_int_equal(number_of(client_get(client, chain.key)), CHAIN_LEN);
        arena_finish(&chain.get_arena);
        arena_finish(&chain.update_arena);
    }
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

/* Thread 0 adds to two counters in each update, the others read both in a snapshot, with one that
 * is absent and one of a dropped space. */
enum { COUNTED_ROUNDS = 60, DROPPED_SPACE = 9 };

static struct str counter_key(struct arena *arena, uint64_t number)
{
    return key_number(arena, number == 3 ? DROPPED_SPACE : 8, number, 0);
}

static bool eval_add_to_two(void *context, struct arena *arena, const struct str *rows,
                            struct store_batch *batch)
{
    (void)context;
    (void)rows;
    store_batch_add(batch, counter_key(arena, 0), (struct store_count){.count = 1, .bytes = 10});
    store_batch_add(batch, counter_key(arena, 1), (struct store_count){.count = 2, .bytes = -10});
    return true;
}

static void add_or_read_counters(struct worker *worker)
{
    struct client *client = worker->client;
    if (worker->index == 0) {
        for (int i = 0; i < COUNTED_ROUNDS; i++) {
            struct str key = key_number(&client->arena, 7, (uint64_t)i, 0);
            assert_int_equal(client_update(client, &key, 1, eval_add_to_two, NULL), STORE_OK);
        }
        return;
    }
    int64_t seen = 0;
    while (seen < COUNTED_ROUNDS) {
        client_reset(client);
        struct str keys[4];
        struct str rows[4];
        for (uint64_t i = 0; i < 4; i++) {
            keys[i] = counter_key(&client->arena, i);
        }
        struct store_get get = {
            .keys = keys, .key_count = 4, .snapshot = true, .are_counters = true};
        assert_int_equal(client_run_get(client, get, rows), STORE_OK);
        struct store_count one = store_count_value(rows[0]);
        struct store_count two = store_count_value(rows[1]);
        assert_true(one.count >= seen);
        assert_int_equal(two.count, 2 * one.count);
        assert_int_equal(one.bytes, 10 * one.count);
        assert_int_equal(two.bytes, -one.bytes);
        assert_true(str_is_null(rows[2]));
        assert_true(str_is_null(rows[3]));
        seen = one.count;
    }
}

static void counters_in_a_snapshot_agree(struct fixture *fixture)
{
    struct client *client = client_create(fixture);
    struct str key = key_number(&client->arena, 7, 0, 0);
    store_drop_space(client->store, DROPPED_SPACE);
    client_put(client, key, STR("v")); /* the drop is carried out */
    run_threads(fixture, 3, add_or_read_counters, NULL);
}

const struct contract_case read_cases[] = {
    {"a hundred keys, some absent", hundred_keys_some_absent},
    {"no keys at all", no_keys_at_all},
    {"gets obey bytes_max", gets_obey_bytes_max},
    {"done may start requests", done_may_start_requests},
    {"reads are never older than an answer", reads_are_never_older_than_an_answer},
    {"counters in a snapshot agree", counters_in_a_snapshot_agree},
    {0},
};
