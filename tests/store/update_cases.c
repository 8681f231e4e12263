/* Cases of the contract for updates: rules 1, 2, 3, 5 and 7. Run by contract_test. */
#include "contract.h"

#include <stdatomic.h>

static void put_and_get(struct fixture *fixture)
{
    struct client *client = client_create(fixture);
    struct str key = key_text(&client->arena, 7, "p", "s");
    assert_true(str_is_null(client_get(client, key)));
    client_put(client, key, STR("one"));
    CHECK_STR_EQ("put", client_get(client, key), STR("one"));
    client_put(client, key, STR("two"));
    CHECK_STR_EQ("put again", client_get(client, key), STR("two"));
    client_erase(client, key);
    assert_true(str_is_null(client_get(client, key)));
}

static void empty_row_is_a_row(struct fixture *fixture)
{
    struct client *client = client_create(fixture);
    struct str key = key_text(&client->arena, 7, "p", "");
    client_put(client, key, STR(""));
    fixture_settle(fixture);
    struct str row = client_get(client, key);
    assert_false(str_is_null(row));
    assert_int_equal(row.len, 0);
}

static bool eval_refuse(void *context, struct arena *arena, const struct str *rows,
                        struct store_batch *batch)
{
    const struct str *keys = context;
    (void)arena;
    (void)rows;
    store_batch_put(batch, 0, STR("no"));
    store_batch_put_owned(batch, keys[1], STR("no"));
    store_batch_add(batch, keys[2], (struct store_count){.count = 1});
    store_batch_append(batch, str_make(keys[3].data, STORE_PREFIX_LEN), STR("no"));
    return false;
}

static void no_write_writes_nothing(struct fixture *fixture)
{
    struct client *client = client_create(fixture);
    struct str keys[] = {
        key_text(&client->arena, 7, "p", "a"), key_text(&client->arena, 7, "p", "b"),
        key_text(&client->arena, 8, "p", "c"), key_text(&client->arena, 9, "p", "d")};
    client_put(client, keys[0], STR("before"));
    assert_int_equal(client_update(client, keys, 1, eval_refuse, keys), STORE_NO_WRITE);
    CHECK_STR_EQ("declared", client_get(client, keys[0]), STR("before"));
    assert_true(str_is_null(client_get(client, keys[1])));
    assert_int_equal(client_get_count(client, keys[2]).count, 0);
    struct rows rows = client_range(client, (struct range_spec){.lo = str_make("\0\0\0\x09", 4),
                                                                .hi = str_make("\0\0\0\x0A", 4)});
    assert_int_equal(rows.count, 0);
}

static bool eval_sees_rows(void *context, struct arena *arena, const struct str *rows,
                           struct store_batch *batch)
{
    (void)arena;
    bool *good = context;
    *good = str_is_null(rows[0]) && str_eq(rows[1], STR("there"));
    store_batch_put(batch, 0, STR("new"));
    store_batch_erase(batch, 1);
    return true;
}

static void eval_sees_absent_and_present(struct fixture *fixture)
{
    struct client *client = client_create(fixture);
    struct str keys[] = {key_text(&client->arena, 7, "p", "a"),
                         key_text(&client->arena, 7, "q", "b")};
    client_put(client, keys[1], STR("there"));
    fixture_settle(fixture);
    bool good = false;
    assert_int_equal(client_update(client, keys, 2, eval_sees_rows, &good), STORE_OK);
    assert_true(good);
    CHECK_STR_EQ("put", client_get(client, keys[0]), STR("new"));
    assert_true(str_is_null(client_get(client, keys[1])));
}

static bool eval_several_writes(void *context, struct arena *arena, const struct str *rows,
                                struct store_batch *batch)
{
    const struct str *keys = context;
    (void)arena;
    (void)rows;
    store_batch_erase(batch, 0);
    store_batch_put(batch, 0, STR("last"));
    store_batch_put(batch, 1, STR("first"));
    store_batch_erase(batch, 1);
    store_batch_put_owned(batch, keys[2], STR("owned"));
    store_batch_erase_owned(batch, keys[2]);
    return true;
}

static void later_writes_of_one_update_win(struct fixture *fixture)
{
    struct client *client = client_create(fixture);
    struct str keys[] = {key_text(&client->arena, 7, "p", "a"),
                         key_text(&client->arena, 7, "p", "b"),
                         key_text(&client->arena, 8, "p", "c")};
    client_put(client, keys[1], STR("before"));
    assert_int_equal(client_update(client, keys, 2, eval_several_writes, keys), STORE_OK);
    CHECK_STR_EQ("erase, put", client_get(client, keys[0]), STR("last"));
    assert_true(str_is_null(client_get(client, keys[1])));
    assert_true(str_is_null(client_get(client, keys[2])));
}

static bool eval_increment(void *context, struct arena *arena, const struct str *rows,
                           struct store_batch *batch)
{
    (void)context;
    store_batch_put(batch, 0, number_row(arena, number_of(rows[0]) + 1));
    return true;
}

/* Starts all updates from one thread, so that they are committed in groups, in which each must see
 * the earlier ones. */
static void updates_in_flight_see_each_other(struct fixture *fixture)
{
    enum { COUNT = 500 };
    struct client *client = client_create(fixture);
    struct str key = key_text(&client->arena, 7, "p", "counter");
    struct change *changes = mem_zalloc(COUNT * sizeof(*changes));
    for (size_t i = 0; i < COUNT; i++) {
        client_start(client, &changes[i], &key, 1, eval_increment, NULL);
    }
    for (size_t i = 0; i < COUNT; i++) {
        assert_int_equal(client_finish(&changes[i]), STORE_OK);
    }
    mem_free(changes);
    assert_int_equal(number_of(client_get(client, key)), COUNT);
}

enum { COUNTER_THREADS = 4, COUNTER_ROUNDS = 40, COUNTER_IN_FLIGHT = 10, COUNTERS = 3 };

static void count_up(struct worker *worker)
{
    struct client *client = worker->client;
    struct str keys[COUNTERS];
    for (size_t i = 0; i < COUNTERS; i++) {
        keys[i] = key_number(&client->arena, 7, i, 0);
    }
    for (int round = 0; round < COUNTER_ROUNDS; round++) {
        struct change changes[COUNTER_IN_FLIGHT];
        for (size_t i = 0; i < COUNTER_IN_FLIGHT; i++) {
            client_start(client, &changes[i], &keys[i % COUNTERS], 1, eval_increment, NULL);
        }
        for (size_t i = 0; i < COUNTER_IN_FLIGHT; i++) {
            assert_int_equal(client_finish(&changes[i]), STORE_OK);
        }
    }
}

static void threads_count_to_the_total(struct fixture *fixture)
{
    struct client *client = client_create(fixture);
    client_put(client, key_number(&client->arena, 7, 0, 0),
               STR("\0\0\0\0\0\0\0"
                   "\0"));
    fixture_settle(fixture);
    run_threads(fixture, COUNTER_THREADS, count_up, NULL);
    uint64_t total = 0;
    for (size_t i = 0; i < COUNTERS; i++) {
        total += number_of(client_get(client, key_number(&client->arena, 7, i, 0)));
    }
    assert_int_equal(total, COUNTER_THREADS * COUNTER_ROUNDS * COUNTER_IN_FLIGHT);
}

/* Transfers money between accounts; every snapshot of all accounts must have the same sum. */
enum { ACCOUNTS = 12, MONEY_EACH = 100, TRANSFERS = 300 };

struct bank {
    struct str accounts[ACCOUNTS];
    atomic_int busy;
    atomic_int looks;
};

static bool eval_transfer(void *context, struct arena *arena, const struct str *rows,
                          struct store_batch *batch)
{
    uint64_t amount = *(const uint64_t *)context;
    uint64_t from = number_of(rows[0]);
    if (from < amount) {
        return false;
    }
    store_batch_put(batch, 0, number_row(arena, from - amount));
    store_batch_put(batch, 1, number_row(arena, number_of(rows[1]) + amount));
    return true;
}

static void look_at_bank(struct worker *worker)
{
    struct bank *bank = worker->context;
    do {
        struct str rows[ACCOUNTS];
        client_reset(worker->client);
        assert_int_equal(client_get_many(worker->client, bank->accounts, ACCOUNTS, true, rows),
                         STORE_OK);
        uint64_t sum = 0;
        for (size_t i = 0; i < ACCOUNTS; i++) {
            sum += number_of(rows[i]);
        }
        assert_int_equal(sum, ACCOUNTS * MONEY_EACH);
        atomic_fetch_add(&bank->looks, 1);
    } while (atomic_load(&bank->busy) > 0);
}

static void move_money(struct worker *worker)
{
    struct bank *bank = worker->context;
    struct random random;
    random_init_seed(&random, worker->seed);
    for (int i = 0; i < TRANSFERS; i++) {
        size_t from = random_below(&random, ACCOUNTS);
        size_t to = (from + 1 + random_below(&random, ACCOUNTS - 1)) % ACCOUNTS;
        struct str keys[] = {bank->accounts[from], bank->accounts[to]};
        uint64_t amount = random_below(&random, 60);
        enum store_status status = client_update(worker->client, keys, 2, eval_transfer, &amount);
        assert_true(status == STORE_OK || status == STORE_NO_WRITE);
    }
    atomic_fetch_sub(&bank->busy, 1);
}

static void work_at_bank(struct worker *worker)
{
    if (worker->index < 3) {
        move_money(worker);
    } else {
        look_at_bank(worker);
    }
}

static void transfers_keep_the_sum(struct fixture *fixture)
{
    struct client *client = client_create(fixture);
    struct bank bank = {.busy = 3};
    for (size_t i = 0; i < ACCOUNTS; i++) {
        bank.accounts[i] = key_number(&client->arena, 7, i, 0);
        client_put(client, bank.accounts[i], number_row(&client->arena, MONEY_EACH));
    }
    fixture_settle(fixture);
    run_threads(fixture, 5, work_at_bank, &bank);
    assert_true(atomic_load(&bank.looks) > 0);
}

/* One update writes many rows; a snapshot must contain all or none of its changes. */
enum { TOGETHER = 100, TOGETHER_ROUNDS = 60 };

struct together {
    struct str keys[TOGETHER];
    atomic_bool over;
};

static bool eval_put_all(void *context, struct arena *arena, const struct str *rows,
                         struct store_batch *batch)
{
    (void)rows;
    struct str row = number_row(arena, *(const uint64_t *)context);
    for (size_t i = 0; i < TOGETHER; i++) {
        store_batch_put(batch, i, row);
    }
    return true;
}

static void work_together(struct worker *worker)
{
    struct together *together = worker->context;
    if (worker->index == 0) {
        for (uint64_t round = 1; round <= TOGETHER_ROUNDS; round++) {
            assert_int_equal(
                client_update(worker->client, together->keys, TOGETHER, eval_put_all, &round),
                STORE_OK);
        }
        atomic_store(&together->over, true);
        return;
    }
    while (!atomic_load(&together->over)) {
        struct str rows[TOGETHER];
        client_reset(worker->client);
        assert_int_equal(client_get_many(worker->client, together->keys, TOGETHER, true, rows),
                         STORE_OK);
        for (size_t i = 1; i < TOGETHER; i++) {
            CHECK_STR_EQ("snapshot", rows[i], rows[0]);
        }
        struct rows ranged =
            client_range(worker->client, (struct range_spec){.lo = together->keys[0],
                                                             .hi = together->keys[TOGETHER - 1]});
        assert_true(ranged.count == 0 || ranged.count == TOGETHER - 1);
    }
}

static void hundred_rows_change_together(struct fixture *fixture)
{
    struct client *client = client_create(fixture);
    struct together together = {0};
    for (size_t i = 0; i < TOGETHER; i++) {
        together.keys[i] = key_number(&client->arena, 7, i, 0);
    }
    run_threads(fixture, 3, work_together, &together);
    assert_int_equal(number_of(client_get(client, together.keys[TOGETHER - 1])), TOGETHER_ROUNDS);
}

/* Keeps rows by value consistent with rows by key, like an index. */
enum { INDEXED = 10, INDEX_THREADS = 4, INDEX_ROUNDS = 100 };

struct indexed_change {
    uint64_t id;
    uint64_t value;
};

static bool eval_indexed(void *context, struct arena *arena, const struct str *rows,
                         struct store_batch *batch)
{
    const struct indexed_change *change = context;
    if (!str_is_null(rows[0])) {
        store_batch_erase_owned(batch, key_number(arena, 8, number_of(rows[0]), change->id));
    }
    if (change->value == 0) {
        store_batch_erase(batch, 0);
    } else {
        store_batch_put(batch, 0, number_row(arena, change->value));
        store_batch_put_owned(batch, key_number(arena, 8, change->value, change->id), STR("x"));
    }
    return true;
}

static void change_indexed(struct worker *worker)
{
    struct random random;
    random_init_seed(&random, worker->seed);
    for (int i = 0; i < INDEX_ROUNDS; i++) {
        struct indexed_change change = {.id = random_below(&random, INDEXED),
                                        .value = random_below(&random, 5)};
        struct str key = key_number(&worker->client->arena, 7, change.id, 0);
        assert_int_equal(client_update(worker->client, &key, 1, eval_indexed, &change), STORE_OK);
    }
}

static void owned_rows_follow_their_owner(struct fixture *fixture)
{
    run_threads(fixture, INDEX_THREADS, change_indexed, NULL);
    struct client *client = client_create(fixture);
    size_t present = 0;
    for (uint64_t id = 0; id < INDEXED; id++) {
        uint64_t value = number_of(client_get(client, key_number(&client->arena, 7, id, 0)));
        if (value != 0) {
            present++;
            struct str row = client_get(client, key_number(&client->arena, 8, value, id));
            CHECK_STR_EQ("index", row, STR("x"));
        }
    }
    struct rows index = client_range(client, (struct range_spec){.lo = str_make("\0\0\0\x08", 4),
                                                                 .hi = str_make("\0\0\0\x09", 4)});
    assert_int_equal(index.count, present);
}

/* All threads add to the same counters, in updates of rows that they do not share. */
enum { ADD_THREADS = 4, ADDS = 150 };

struct adding {
    struct str counters[2];
    struct store_count delta;
};

static bool eval_add(void *context, struct arena *arena, const struct str *rows,
                     struct store_batch *batch)
{
    const struct adding *adding = context;
    (void)arena;
    if (adding->delta.count % 7 == 0) {
        return false;
    }
    store_batch_put(batch, 0, number_row(arena, number_of(rows[0]) + 1));
    store_batch_add(batch, adding->counters[0], adding->delta);
    store_batch_add(batch, adding->counters[0], adding->delta);
    store_batch_add(batch, adding->counters[1], (struct store_count){.bytes = adding->delta.count});
    return true;
}

static bool eval_erase_counter(void *context, struct arena *arena, const struct str *rows,
                               struct store_batch *batch)
{
    (void)arena;
    (void)rows;
    store_batch_erase_counter(batch, *(const struct str *)context);
    return true;
}

static void add_many(struct worker *worker)
{
    struct client *client = worker->client;
    struct str key = key_number(&client->arena, 7, worker->index, 1);
    struct adding adding = {.counters = {key_text(&client->arena, 8, "count", ""),
                                         key_text(&client->arena, 8, "other", "")}};
    for (int64_t i = 1; i <= ADDS; i++) {
        adding.delta = (struct store_count){.count = i, .bytes = -i};
        enum store_status expected = i % 7 == 0 ? STORE_NO_WRITE : STORE_OK;
        assert_int_equal(client_update(client, &key, 1, eval_add, &adding), expected);
    }
}

static void adds_add_up(struct fixture *fixture)
{
    struct client *client = client_create(fixture);
    assert_int_equal(client_get_count(client, key_text(&client->arena, 8, "count", "")).count, 0);
    run_threads(fixture, ADD_THREADS, add_many, NULL);
    int64_t sum = 0;
    for (int64_t i = 1; i <= ADDS; i++) {
        sum += i % 7 == 0 ? 0 : i;
    }
    struct store_count count = client_get_count(client, key_text(&client->arena, 8, "count", ""));
    struct store_count other = client_get_count(client, key_text(&client->arena, 8, "other", ""));
    assert_int_equal(count.count, 2 * sum * ADD_THREADS);
    assert_int_equal(count.bytes, -2 * sum * ADD_THREADS);
    assert_int_equal(other.count, 0);
    assert_int_equal(other.bytes, sum * ADD_THREADS);
    struct str key = key_text(&client->arena, 8, "count", "");
    assert_int_equal(client_update(client, NULL, 0, eval_erase_counter, &key), STORE_OK);
    assert_int_equal(client_get_count(client, key).count, 0);
}

static void big_rows(struct fixture *fixture)
{
    struct client *client = client_create(fixture);
    static const size_t sizes[] = {400 * 1024, 1 << 20, (1 << 20) + 1, 9 << 20};
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        char *data = mem_alloc(sizes[i]);
        for (size_t at = 0; at < sizes[i]; at++) {
            data[at] = (char)(at * 31 + i);
        }
        struct str key = key_number(&client->arena, 7, i, 0);
        client_put(client, key, str_make(data, sizes[i]));
        fixture_settle(fixture);
        assert_true(str_eq(client_get(client, key), str_make(data, sizes[i])));
        struct rows rows = client_range(
            client, (struct range_spec){.lo = key, .hi = key_number(&client->arena, 7, i + 1, 0)});
        assert_int_equal(rows.count, 1);
        assert_true(str_eq(rows.values[0], str_make(data, sizes[i])));
        mem_free(data);
        client_reset(client);
    }
}

static void big_keys(struct fixture *fixture)
{
    const size_t key_len = fixture_key_len_max(fixture);
    struct client *client = client_create(fixture);
    char *key = arena_zalloc(&client->arena, key_len + 1);
    struct random random;
    random_init_seed(&random, 1);
    for (size_t i = STORE_PREFIX_LEN; i < key_len; i++) {
        key[i] = (char)random_next(&random); /* incompressible */
    }
    key[3] = 7;
    for (int i = 0; i < 10; i++) {
        key[key_len - 1] = (char)i;
        client_put(client, str_make(key, key_len), number_row(&client->arena, (uint64_t)i));
    }
    fixture_settle(fixture);
    key[key_len - 1] = 4;
    assert_int_equal(number_of(client_get(client, str_make(key, key_len))), 4);
    for (int backward = 0; backward < 2; backward++) {
        struct rows rows = client_range(client, (struct range_spec){.lo = str_make(key, key_len),
                                                                    .hi = str_make("\0\0\0\x08", 4),
                                                                    .backward = backward != 0});
        assert_int_equal(rows.count, 6);
        assert_int_equal(number_of(rows.values[0]), backward ? 9 : 4);
        assert_int_equal(number_of(rows.values[5]), backward ? 4 : 9);
    }
}

struct big_put {
    struct str value;
    struct str counter;
};

static bool eval_big_put(void *context, struct arena *arena, const struct str *rows,
                         struct store_batch *batch)
{
    const struct big_put *put = context;
    (void)arena;
    (void)rows;
    store_batch_put(batch, 0, put->value);
    store_batch_add(batch, put->counter,
                    (struct store_count){.count = 1, .bytes = (int64_t)put->value.len});
    return true;
}

/* Starts more updates than fit in one group, by count and by bytes. */
static void many_big_updates_in_flight(struct fixture *fixture)
{
    enum { COUNT = 1500, ROW = 8000 };
    struct client *client = client_create(fixture);
    struct change *changes = mem_zalloc(COUNT * sizeof(*changes));
    struct str *keys = ARENA_ARRAY(&client->arena, struct str, COUNT);
    struct big_put put = {.value = str_make(arena_zalloc(&client->arena, ROW), ROW),
                          .counter = key_text(&client->arena, 8, "bytes", "")};
    for (size_t i = 0; i < COUNT; i++) {
        keys[i] = key_number(&client->arena, 7, i, 0);
        client_start(client, &changes[i], &keys[i], 1, eval_big_put, &put);
    }
    for (size_t i = 0; i < COUNT; i++) {
        assert_int_equal(client_finish(&changes[i]), STORE_OK);
    }
    mem_free(changes);
    struct store_count counted = client_get_count(client, put.counter);
    assert_int_equal(counted.count, COUNT);
    assert_int_equal(counted.bytes, COUNT * ROW);
    assert_int_equal(client_get(client, keys[COUNT - 1]).len, ROW);
}

/* Each of the updates adds one to the row, but for every fifth, which writes nothing. */
enum { TOGETHER_UPDATES = 40 };

static bool eval_add_one(void *context, struct arena *arena, const struct str *rows,
                         struct store_batch *batch)
{
    if (*(const bool *)context) {
        return false;
    }
    store_batch_put(batch, 0, number_row(arena, number_of(rows[0]) + 1));
    return true;
}

static void updates_started_together(struct fixture *fixture)
{
    struct client *client = client_create(fixture);
    struct str key = key_text(&client->arena, 7, "p", "together");
    static struct change changes[TOGETHER_UPDATES];
    struct store_update *updates[TOGETHER_UPDATES];
    bool skips[TOGETHER_UPDATES];
    for (size_t i = 0; i < TOGETHER_UPDATES; i++) {
        skips[i] = i % 5 == 4;
        client_prepare(client, &changes[i], &key, 1, eval_add_one, &skips[i]);
        updates[i] = &changes[i].update;
    }
    waiting_mailbox_box(client->box)->may_block = true; /* has no effect for several updates */
    store_update_all(client->store, updates, TOGETHER_UPDATES);
    waiting_mailbox_box(client->box)->may_block = false;
    for (size_t i = 0; i < TOGETHER_UPDATES; i++) {
        assert_int_equal(client_finish(&changes[i]), skips[i] ? STORE_NO_WRITE : STORE_OK);
    }
    assert_int_equal(number_of(client_get(client, key)), TOGETHER_UPDATES - TOGETHER_UPDATES / 5);
    store_update_all(client->store, NULL, 0);
}

/* Writes a row that is filled with the update's number, in memory of the shared arena. */
static bool eval_fill(void *context, struct arena *arena, const struct str *rows,
                      struct store_batch *batch)
{
    (void)rows;
    uint8_t number = *(const uint8_t *)context;
    size_t len = 100 + (size_t)number * 7;
    char *row = arena_bytes(arena, len);
    memset(row, number, len);
    store_batch_put(batch, 0, str_make(row, len));
    return true;
}

static void updates_share_an_arena(struct fixture *fixture)
{
    enum { COUNT = 1000, ROUNDS = 2 }; /* many: the first are evaluated while others are started */
    struct client *client = client_create(fixture);
    struct change *changes = mem_zalloc(COUNT * sizeof(*changes));
    struct store_update **updates = mem_zalloc(COUNT * sizeof(*updates));
    struct str *keys = mem_zalloc(COUNT * sizeof(*keys));
    uint8_t *numbers = mem_zalloc(COUNT);
    for (size_t round = 0; round < ROUNDS; round++) {
        struct arena shared;
        arena_init(&shared);
        for (size_t i = 0; i < COUNT; i++) {
            numbers[i] = (uint8_t)(i + round);
            keys[i] = key_number(&client->arena, 7, i, 0);
            client_prepare(client, &changes[i], &keys[i], 1, eval_fill, &numbers[i]);
            changes[i].update.arena = &shared;
            changes[i].update.prepare = NULL;
            updates[i] = &changes[i].update;
        }
        store_update_all(client->store, updates, COUNT);
        for (size_t i = 0; i < COUNT; i++) {
            assert_int_equal(client_finish(&changes[i]), STORE_OK);
        }
        arena_finish(&shared);
        for (size_t i = 0; i < COUNT; i++) {
            struct str row = client_get(client, keys[i]);
            assert_int_equal(row.len, 100 + (size_t)numbers[i] * 7);
            for (size_t k = 0; k < row.len; k++) {
                assert_int_equal((uint8_t)row.data[k], numbers[i]);
            }
        }
    }
    mem_free(changes);
    mem_free(updates);
    mem_free(keys);
    mem_free(numbers);
}

const struct contract_case update_cases[] = {
    {"put and get", put_and_get},
    {"an empty row is a row", empty_row_is_a_row},
    {"no write writes nothing", no_write_writes_nothing},
    {"eval sees absent and present rows", eval_sees_absent_and_present},
    {"later writes of one update win", later_writes_of_one_update_win},
    {"updates in flight see each other", updates_in_flight_see_each_other},
    {"updates that are started together", updates_started_together},
    {"updates that share an arena", updates_share_an_arena},
    {"threads count to the total", threads_count_to_the_total},
    {"transfers keep the sum", transfers_keep_the_sum},
    {"a hundred rows change together", hundred_rows_change_together},
    {"owned rows follow their owner", owned_rows_follow_their_owner},
    {"adds add up", adds_add_up},
    {"big rows", big_rows},
    {"big keys", big_keys},
    {"many big updates in flight", many_big_updates_in_flight},
    {0},
};
