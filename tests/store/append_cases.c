/* Cases of the contract for rule 4: append. Run by contract_test. */
#include "contract.h"

#include <stdatomic.h>

#include "base/bytes.h"

static uint64_t stamp_of(struct str key)
{
    assert_int_equal(key.len, STORE_PREFIX_LEN + 8);
    return get_u64_be(key.data + STORE_PREFIX_LEN);
}

static struct str prefix_of(struct arena *arena, uint64_t part)
{
    return str_make(key_number(arena, 7, part, 0).data, STORE_PREFIX_LEN);
}

/* Returns all rows of a part with a stamp of at least `from`. */
static struct rows read_log(struct client *client, uint64_t part, uint64_t from)
{
    struct rows rows =
        client_range(client, (struct range_spec){.lo = key_number(&client->arena, 7, part, from),
                                                 .hi = prefix_of(&client->arena, part + 1)});
    assert_int_equal(rows.status, STORE_OK);
    for (size_t i = 1; i < rows.count; i++) {
        assert_true(stamp_of(rows.keys[i]) > stamp_of(rows.keys[i - 1]));
    }
    return rows;
}

static void rows_come_in_order(struct fixture *fixture)
{
    struct client *client = client_create(fixture);
    for (uint64_t i = 0; i < 50; i++) {
        client_append(client, prefix_of(&client->arena, i % 2), number_row(&client->arena, i));
    }
    fixture_settle(fixture);
    struct rows rows = read_log(client, 1, 0);
    assert_int_equal(rows.count, 25);
    for (uint64_t i = 0; i < rows.count; i++) {
        assert_int_equal(number_of(rows.values[i]), 2 * i + 1);
    }
}

struct two_appends {
    struct str prefix;
};

static bool eval_two_appends(void *context, struct arena *arena, const struct str *rows,
                             struct store_batch *batch)
{
    const struct two_appends *appends = context;
    (void)rows;
    store_batch_append(batch, appends->prefix, number_row(arena, 1));
    store_batch_append(batch, appends->prefix, number_row(arena, 2));
    return true;
}

static void one_update_appends_in_its_order(struct fixture *fixture)
{
    struct client *client = client_create(fixture);
    struct two_appends appends = {.prefix = prefix_of(&client->arena, 3)};
    assert_int_equal(client_update(client, NULL, 0, eval_two_appends, &appends), STORE_OK);
    struct rows rows = read_log(client, 3, 0);
    assert_int_equal(rows.count, 2);
    assert_int_equal(number_of(rows.values[0]), 1);
    assert_int_equal(number_of(rows.values[1]), 2);
}

/* A log with two parts: an update appends to `part`, or advances the log to it. */
struct log_step {
    uint64_t part;
    bool is_advance;
    uint64_t stamp; /* of an advance */
    uint64_t number;
};

static bool eval_log_step(void *context, struct arena *arena, const struct str *rows,
                          struct store_batch *batch)
{
    const struct log_step *step = context;
    (void)rows;
    struct str log = prefix_of(arena, 100);
    struct str prefix = prefix_of(arena, step->part);
    if (step->is_advance) {
        store_batch_advance_log(batch, log, prefix, step->stamp);
    } else {
        store_batch_append_to_log(batch, log, prefix, number_row(arena, step->number));
    }
    return true;
}

/* The stamps of a log grow over its parts, also beyond a stamp that an advance names. */
static void a_log_has_parts(struct fixture *fixture)
{
    struct client *client = client_create(fixture);
    struct log_step steps[] = {
        {.part = 10, .number = 1},
        {.part = 10, .number = 2},
        {.part = 11, .number = 3},
        {.part = 11, .is_advance = true, .stamp = 0}, /* the part is the newest already */
        {.part = 11, .number = 4},
        {.part = 12, .is_advance = true, .stamp = (uint64_t)1 << 40},
        {.part = 12, .number = 5},
    };
    for (size_t i = 0; i < COUNT_OF(steps); i++) {
        assert_int_equal(client_update(client, NULL, 0, eval_log_step, &steps[i]), STORE_OK);
    }
    fixture_settle(fixture);
    uint64_t number = 0;
    uint64_t stamp = 0;
    static const size_t counts[] = {2, 2, 1};
    for (uint64_t part = 10; part <= 12; part++) {
        struct rows rows = read_log(client, part, 0);
        assert_int_equal(rows.count, counts[part - 10]);
        for (size_t i = 0; i < rows.count; i++) {
            assert_int_equal(number_of(rows.values[i]), ++number);
            assert_true(stamp_of(rows.keys[i]) > stamp);
            stamp = stamp_of(rows.keys[i]);
        }
    }
    assert_true(stamp > (uint64_t)1 << 40);
}

/* Readers follow the log, each continuing after the last stamp that it has read; no reader may miss
 * a row. */
enum { LOG_PARTS = 2, LOG_WRITERS = 3, LOG_READERS = 2, LOG_ROUNDS = 150 };

struct following {
    atomic_int writers;
};

static void write_log(struct worker *worker)
{
    struct following *following = worker->context;
    for (uint64_t i = 0; i < LOG_ROUNDS; i++) {
        client_reset(worker->client);
        struct arena *arena = &worker->client->arena;
        client_append(worker->client, prefix_of(arena, i % LOG_PARTS),
                      number_row(arena, worker->index * LOG_ROUNDS + i));
        if (i % 50 == 49) {
            fixture_settle(worker->fixture);
        }
    }
    atomic_fetch_sub(&following->writers, 1);
}

static void follow_log(struct worker *worker)
{
    struct following *following = worker->context;
    uint64_t next[LOG_PARTS] = {0};
    size_t seen = 0;
    bool over = false;
    while (!over) {
        over = atomic_load(&following->writers) ==
               0; /* reads once more after the last writer has ended */
        for (uint64_t part = 0; part < LOG_PARTS; part++) {
            client_reset(worker->client);
            struct rows rows = read_log(worker->client, part, next[part]);
            seen += rows.count;
            if (rows.count > 0) {
                next[part] = stamp_of(rows.keys[rows.count - 1]) + 1;
            }
        }
    }
    assert_int_equal(seen, LOG_WRITERS * LOG_ROUNDS);
}

static void work_on_log(struct worker *worker)
{
    if (worker->index < LOG_WRITERS) {
        write_log(worker);
    } else {
        follow_log(worker);
    }
}

static void readers_miss_nothing(struct fixture *fixture)
{
    struct following following = {.writers = LOG_WRITERS};
    run_threads(fixture, LOG_WRITERS + LOG_READERS, work_on_log, &following);
}

const struct contract_case append_cases[] = {
    {"appended rows come in order", rows_come_in_order},
    {"one update appends in its order", one_update_appends_in_its_order},
    {"a log has parts", a_log_has_parts},
    {"readers of a log miss nothing", readers_miss_nothing},
    {0},
};
