/* Rule 8: times of updates, and settling. */
#include "contract.h"

#include <stdatomic.h>

#include "base/bytes.h"
#include "base/clock.h"

enum { SPACE = 7, WRITERS = 3, ROUNDS = 100, SETTLES = 10 };

/* An update with a time. It puts a row that its time names, owned by the declared key, whose row
 * holds the last time. */
struct timed {
    struct store_update update;
    struct arena arena;
    struct str key;
    int64_t before_ns; /* what the declared row held */
    bool done;
};

static bool eval_timed(struct store_update *update, const struct str *rows,
                       struct store_batch *batch)
{
    struct timed *timed = CONTAINER_OF(update, struct timed, update);
    timed->before_ns = str_is_null(rows[0]) ? 0 : (int64_t)number_of(rows[0]);
    store_batch_put(batch, 0, number_row(update->arena, (uint64_t)update->time_ns));
    store_batch_put_owned(batch, key_number(update->arena, SPACE, 1, (uint64_t)update->time_ns),
                          STR("x"));
    return true;
}

static void timed_done(struct store_update *update)
{
    CONTAINER_OF(update, struct timed, update)->done = true;
}

/* Returns the time; 0: it failed. */
static int64_t write_timed(struct client *client, uint64_t part)
{
    struct timed timed = {.key = key_number(&client->arena, SPACE, part, 0)};
    arena_init(&timed.arena);
    timed.update = (struct store_update){
        .keys = &timed.key,
        .key_count = 1,
        .arena = &timed.arena,
        .home = waiting_mailbox_box(client->box),
        .eval = eval_timed,
        .done = timed_done,
        .wants_time = true,
    };
    store_update(client->store, &timed.update);
    waiting_mailbox_run(client->box, &timed.done);
    bool ok = timed.update.status == STORE_OK;
    assert_true(ok || timed.update.status == STORE_UNKNOWN || timed.update.status == STORE_BUSY);
    assert_true(!ok || timed.update.time_ns > timed.before_ns);
    arena_finish(&timed.arena);
    return ok ? timed.update.time_ns : 0;
}

struct settled {
    struct store_settle settle;
    bool done;
};

static void settle_done(struct store_settle *settle)
{
    CONTAINER_OF(settle, struct settled, settle)->done = true;
}

static int64_t settle(struct client *client)
{
    struct settled settled = {0};
    do {
        settled.done = false;
        settled.settle = (struct store_settle){
            .arena = &client->arena,
            .home = waiting_mailbox_box(client->box),
            .done = settle_done,
        };
        store_settle(client->store, &settled.settle);
        waiting_mailbox_run(client->box, &settled.done);
    } while (settled.settle.status != STORE_OK);
    return settled.settle.time_ns;
}

static size_t count_until(struct client *client, int64_t time_ns)
{
    struct rows rows =
        client_range(client, (struct range_spec){
                                 .lo = key_number(&client->arena, SPACE, 1, 0),
                                 .hi = key_number(&client->arena, SPACE, 1, (uint64_t)time_ns + 1),
                             });
    assert_int_equal(rows.status, STORE_OK);
    return rows.count;
}

static void write_often(struct worker *worker)
{
    atomic_int *writers = worker->context;
    int64_t last_ns = 0;
    for (uint64_t i = 0; i < ROUNDS; i++) {
        client_reset(worker->client);
        int64_t time_ns = write_timed(worker->client, 100 + (i + worker->index) % 2);
        assert_true(time_ns == 0 || time_ns > last_ns);
        last_ns = MAX(time_ns, last_ns);
    }
    atomic_fetch_sub(writers, 1);
}

/* What was settled once is never joined by another row. */
static void settle_often(struct worker *worker)
{
    atomic_int *writers = worker->context;
    int64_t times[SETTLES];
    size_t counts[SETTLES];
    size_t count = 0;
    while (atomic_load(writers) > 0 && count < SETTLES) {
        client_reset(worker->client);
        times[count] = settle(worker->client);
        counts[count] = count_until(worker->client, times[count]);
        assert_true(count == 0 || times[count] > times[count - 1]);
        count++;
    }
    while (atomic_load(writers) > 0) {
        client_reset(worker->client);
        settle(worker->client);
    }
    for (size_t i = 0; i < count; i++) {
        client_reset(worker->client);
        assert_int_equal(count_until(worker->client, times[i]), counts[i]);
    }
}

static void work(struct worker *worker)
{
    if (worker->index < WRITERS) {
        write_often(worker);
    } else {
        settle_often(worker);
    }
}

static void times_are_causal(struct fixture *fixture)
{
    atomic_int writers = WRITERS;
    run_threads(fixture, WRITERS + 1, work, &writers);
}

static void times_survive_opening_again(struct fixture *fixture)
{
    struct client *client = client_create(fixture);
    int64_t before_ns = write_timed(client, 100);
    if (fixture_is_persistent(fixture)) {
        fixture_reopen(fixture);
        client = client_create(fixture);
    }
    int64_t settled_ns = settle(client);
    assert_true(settled_ns > before_ns);
    int64_t after_ns = write_timed(client, 101);
    assert_true(after_ns == 0 || after_ns > settled_ns);
}

/* The times of the store must go on, also when it is opened again. */
static void times_survive_a_clock_that_is_set_back(struct fixture *fixture)
{
    enum { BACK_MS = 3600 * 1000 };
    struct client *client = client_create(fixture);
    int64_t last_ns = write_timed(client, 100);
    clock_move_wall(-BACK_MS);
    for (uint64_t i = 0; i < 6; i++) {
        if (i == 3 && fixture_is_persistent(fixture)) {
            fixture_reopen(fixture);
            client = client_create(fixture);
        }
        int64_t time_ns = i % 2 == 0 ? write_timed(client, 100 + i) : settle(client);
        assert_true(time_ns == 0 || time_ns > last_ns);
        last_ns = MAX(last_ns, time_ns);
    }
    clock_move_wall(BACK_MS);
}

const struct contract_case time_cases[] = {
    {"times of updates are causal, and settled ones complete", times_are_causal},
    {"times go on after the store is opened again", times_survive_opening_again},
    {"times go on if the clock is set back", times_survive_a_clock_that_is_set_back},
    {0},
};
