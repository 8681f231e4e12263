/* Cases of the contract for ranges, in both directions. In the cold variant most of them start on
 * the caller's thread and are continued by a worker. Run by contract_test. */
#include "contract.h"

#include <stdatomic.h>
#include <stdio.h>

static struct str space_key(uint32_t space)
{
    static const char keys[] = "\0\0\0\0\0\0\0\1\0\0\0\2\0\0\0\3\0\0\0\4\0\0\0\5\0\0\0\6\0\0\0\7"
                               "\0\0\0\x08\0\0\0\x09\0\0\0\x0A";
    return str_make(keys + (size_t)4 * space, 4);
}

/* Returns the sort parts of the rows, concatenated. */
static struct str sorts_of(struct client *client, struct range_spec spec)
{
    struct rows rows = client_range(client, spec);
    assert_int_equal(rows.status, STORE_OK);
    struct str text = STR("");
    for (size_t i = 0; i < rows.count; i++) {
        text = arena_format(&client->arena, "%.*s%.*s", STR_ARG(text),
                            STR_ARG(str_skip(rows.keys[i], STORE_PREFIX_LEN)));
    }
    return text;
}

static void bounds(struct fixture *fixture)
{
    struct client *client = client_create(fixture);
    struct arena *arena = &client->arena;
    for (const char *sort = "bdfhj"; *sort != '\0'; sort++) {
        char text[] = {*sort, '\0'};
        client_put(client, key_text(arena, 7, "p", text), STR("v"));
    }
    client_put(client, key_text(arena, 7, "o", "!"), STR("v"));
    client_put(client, key_text(arena, 7, "q", "!"), STR("v"));
    client_put(client, key_text(arena, 6, "p", "!"), STR("v"));
    client_put(client, key_text(arena, 8, "p", "!"), STR("v"));
    fixture_settle(fixture);
    static const struct {
        const char *lo;
        const char *hi;
        size_t rows_max;
        const char *forward;
        const char *backward;
    } cases[] = {
        {"", "z", 0, "bdfhj", "jhfdb"},
        {"b", "j", 0, "bdfh", "hfdb"},
        {"c", "k", 0, "dfhj", "jhfd"},
        {"d", "e", 0, "d", "d"},
        {"d", "d", 0, "", ""},
        {"e", "f", 0, "", ""},
        {"j", "b", 0, "", ""},
        {"k", "z", 0, "", ""},
        {"", "b", 0, "", ""},
        {"", "z", 2, "bd", "jh"},
        {"", "z", 5, "bdfhj", "jhfdb"},
        {"", "z", 1, "b", "j"},
        {"bb", "jj", 0, "dfhj", "jhfd"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct range_spec spec = {.lo = key_text(arena, 7, "p", cases[i].lo),
                                  .hi = key_text(arena, 7, "p", cases[i].hi),
                                  .rows_max = cases[i].rows_max};
        CHECK_STR_EQ(cases[i].forward, sorts_of(client, spec), str_from_c(cases[i].forward));
        spec.backward = true;
        CHECK_STR_EQ(cases[i].backward, sorts_of(client, spec), str_from_c(cases[i].backward));
    }
    struct range_spec all = {.lo = space_key(7), .hi = space_key(8)};
    CHECK_STR_EQ("a space", sorts_of(client, all), STR("!bdfhj!"));
    all.backward = true;
    CHECK_STR_EQ("a space", sorts_of(client, all), STR("!jhfdb!"));
    all = (struct range_spec){.lo = space_key(6), .hi = space_key(9)};
    CHECK_STR_EQ("three spaces", sorts_of(client, all), STR("!!bdfhj!!"));
    all = (struct range_spec){.lo = space_key(9), .hi = space_key(10)};
    CHECK_STR_EQ("an empty space", sorts_of(client, all), STR(""));
}

/* Compares random ranges, after random writes, with a sorted array as the model. */
enum { MODEL_PARTS = 13, MODEL_SORTS = 211, MODEL_KEYS = MODEL_PARTS * MODEL_SORTS };

struct model {
    uint64_t values[MODEL_KEYS]; /* 0: absent */
};

static struct str model_key(struct arena *arena, uint64_t id)
{
    /* Parts differ in all their bytes, as hashes do; sorts have different lengths. */
    uint64_t part = id / MODEL_SORTS;
    uint64_t sort = id % MODEL_SORTS;
    char text[32];
    int len = snprintf(text, sizeof(text), "%03llu%.*s", (unsigned long long)sort, (int)(sort % 9),
                       "xxxxxxxxx");
    struct str key = key_number(arena, 7, part * 0x0101010101010101u, 0);
    char *copy = arena_bytes(arena, STORE_PREFIX_LEN + (size_t)len);
    memcpy(copy, key.data, STORE_PREFIX_LEN);
    memcpy(copy + STORE_PREFIX_LEN, text, (size_t)len);
    return str_make(copy, STORE_PREFIX_LEN + (size_t)len);
}

/* Returns a row large enough that a range spans several blocks, so that the cold variant has to
 * wait for reads in the middle. */
static struct str model_row(struct arena *arena, uint64_t value)
{
    struct random random;
    random_init_seed(&random, value);
    uint64_t *words = arena_alloc(arena, 16 * sizeof(*words));
    for (size_t i = 0; i < 16; i++) {
        words[i] = random_next(&random);
    }
    return str_make(words, 16 * sizeof(*words));
}

static void check_model_row(struct arena *arena, struct str row, uint64_t value)
{
    assert_int_equal(str_is_null(row), value == 0);
    assert_true(value == 0 || str_eq(row, model_row(arena, value)));
}

struct model_write {
    struct model *model;
    uint64_t ids[100];
    size_t count;
    uint64_t value; /* 0: erase */
};

static bool eval_model(void *context, struct arena *arena, const struct str *rows,
                       struct store_batch *batch)
{
    const struct model_write *write = context;
    for (size_t i = 0; i < write->count; i++) {
        check_model_row(arena, rows[i], write->model->values[write->ids[i]]);
        if (write->value == 0) {
            store_batch_erase(batch, i);
        } else {
            store_batch_put(batch, i, model_row(arena, write->value));
        }
    }
    return true;
}

/* Writes adjacent or scattered keys. */
static void write_to_model(struct client *client, struct model *model, struct random *random)
{
    struct model_write write = {.model = model, .count = 1 + random_below(random, 100)};
    struct str keys[100];
    uint64_t at = random_below(random, MODEL_KEYS);
    uint64_t step = random_below(random, 2) == 0 ? 1 : 997;
    for (size_t i = 0; i < write.count; i++) {
        write.ids[i] = (at + i * step) % MODEL_KEYS;
        keys[i] = model_key(&client->arena, write.ids[i]);
    }
    write.value = random_below(random, 3) == 0 ? 0 : 1 + random_below(random, 1000000);
    assert_int_equal(client_update(client, keys, write.count, eval_model, &write), STORE_OK);
    for (size_t i = 0; i < write.count; i++) {
        model->values[write.ids[i]] = write.value;
    }
}

static void compare_range(struct client *client, const struct model *model, struct random *random)
{
    uint64_t a = random_below(random, MODEL_KEYS);
    uint64_t width = random_below(random, 4) == 0 ? MODEL_KEYS : MODEL_SORTS;
    uint64_t b = a + random_below(random, width);
    b = MIN(b, (uint64_t)MODEL_KEYS);
    bool backward = random_below(random, 2) == 0;
    struct range_spec spec = {.lo = model_key(&client->arena, a),
                              .hi = b == MODEL_KEYS ? space_key(8) : model_key(&client->arena, b),
                              .backward = backward,
                              .rows_max = random_below(random, 3) * 25};
    struct rows rows = client_range(client, spec);
    assert_int_equal(rows.status, STORE_OK);
    size_t count = 0;
    for (uint64_t i = 0; i < b - a && (spec.rows_max == 0 || count < spec.rows_max); i++) {
        uint64_t id = backward ? b - 1 - i : a + i;
        if (model->values[id] == 0) {
            continue;
        }
        assert_true(count < rows.count);
        CHECK_STR_EQ("key", rows.keys[count], model_key(&client->arena, id));
        check_model_row(&client->arena, rows.values[count], model->values[id]);
        count++;
    }
    assert_int_equal(rows.count, count);
}

static void agree_with_a_model(struct fixture *fixture)
{
    struct client *client = client_create(fixture);
    struct random random;
    random_init_seed(&random, test_seed("ranges agree with a model"));
    struct model *model = mem_zalloc(sizeof(*model));
    for (int round = 0; round < 25; round++) {
        for (int i = 0; i < 8; i++) {
            write_to_model(client, model, &random);
        }
        fixture_settle(fixture);
        for (int i = 0; i < 40; i++) {
            client_reset(client);
            compare_range(client, model, &random);
        }
    }
    mem_free(model);
}

/* Odd rows are written and deleted while even ones stay: a range must return every even row once,
 * in order. */
enum { BUSY_ROWS = 400, BUSY_RANGES = 60 };

struct busy {
    atomic_bool over;
};

static void come_and_go(struct worker *worker)
{
    struct busy *busy = worker->context;
    struct random random;
    random_init_seed(&random, worker->seed);
    while (!atomic_load(&busy->over)) {
        client_reset(worker->client);
        uint64_t id = random_below(&random, BUSY_ROWS / 2) * 2 + 1;
        struct str key = key_number(&worker->client->arena, 7, id / 40, id);
        if (random_below(&random, 2) == 0) {
            client_put(worker->client, key, number_row(&worker->client->arena, id));
        } else {
            client_erase(worker->client, key);
        }
        if (random_below(&random, 64) == 0) {
            fixture_settle(worker->fixture);
        }
    }
}

static void check_even_rows(const struct rows *rows, bool backward)
{
    uint64_t evens = 0;
    for (size_t i = 0; i < rows->count; i++) {
        int order = i == 0 ? 1 : str_cmp(rows->keys[i], rows->keys[i - 1]);
        assert_true(i == 0 || (backward ? order < 0 : order > 0));
        evens += number_of(rows->values[i]) % 2 == 0;
    }
    assert_int_equal(evens, BUSY_ROWS / 2);
}

static void work_on_busy(struct worker *worker)
{
    struct busy *busy = worker->context;
    if (worker->index > 0) {
        come_and_go(worker);
        return;
    }
    for (int i = 0; i < BUSY_RANGES; i++) {
        client_reset(worker->client);
        struct range_spec spec = {.lo = space_key(7), .hi = space_key(8), .backward = i % 2 == 1};
        struct rows rows = client_range(worker->client, spec);
        assert_int_equal(rows.status, STORE_OK);
        check_even_rows(&rows, spec.backward);
    }
    atomic_store(&busy->over, true);
}

static void rows_come_and_go_meanwhile(struct fixture *fixture)
{
    struct client *client = client_create(fixture);
    for (uint64_t id = 0; id < BUSY_ROWS; id += 2) {
        client_put(client, key_number(&client->arena, 7, id / 40, id),
                   number_row(&client->arena, id));
    }
    fixture_settle(fixture);
    struct busy busy = {0};
    run_threads(fixture, 3, work_on_busy, &busy);
}

/* An emptied queue: many deleted rows before the only live one. */
struct stretch {
    bool erase;
    size_t count;
};

static bool eval_stretch(void *context, struct arena *arena, const struct str *rows,
                         struct store_batch *batch)
{
    const struct stretch *stretch = context;
    (void)arena;
    (void)rows;
    for (size_t i = 0; i < stretch->count; i++) {
        if (stretch->erase) {
            store_batch_erase(batch, i);
        } else {
            store_batch_put(batch, i, STR("v"));
        }
    }
    return true;
}

static void over_many_dead_rows(struct fixture *fixture)
{
    enum { ROWS = 6000, AT_ONCE = 100 };
    struct client *client = client_create(fixture);
    for (int erase = 0; erase < 2; erase++) {
        for (uint64_t at = 0; at < ROWS; at += AT_ONCE) {
            struct str keys[AT_ONCE];
            for (uint64_t i = 0; i < AT_ONCE; i++) {
                keys[i] = key_number(&client->arena, 7, 1, at + i);
            }
            struct stretch stretch = {.erase = erase != 0, .count = AT_ONCE};
            assert_int_equal(client_update(client, keys, AT_ONCE, eval_stretch, &stretch),
                             STORE_OK);
        }
        fixture_settle(fixture);
    }
    client_put(client, key_number(&client->arena, 7, 1, ROWS), STR("last"));
    client_put(client, key_number(&client->arena, 7, 0, 0), STR("first"));
    struct range_spec spec = {.lo = space_key(7), .hi = space_key(8)};
    struct rows rows = client_range(client, spec);
    assert_int_equal(rows.status, STORE_OK);
    assert_int_equal(rows.count, 2);
    CHECK_STR_EQ("forward", rows.values[1], STR("last"));
    spec.backward = true;
    rows = client_range(client, spec);
    assert_int_equal(rows.count, 2);
    CHECK_STR_EQ("backward", rows.values[1], STR("first"));
}

/* Small rows, then large ones, then small ones again: a store that reads many rows at once because
 * the first ones were small must return them all the same. */
static size_t uneven_length(uint64_t id)
{
    enum { SMALL_ROWS = 200, LARGE_ROWS = 12 };
    bool is_large = id >= SMALL_ROWS && id < SMALL_ROWS + LARGE_ROWS;
    return is_large ? (size_t)300000 + id : id % 7;
}

static void over_rows_of_uneven_sizes(struct fixture *fixture)
{
    enum { ROWS = 420 };
    struct client *client = client_create(fixture);
    char *bytes = mem_alloc(uneven_length(211));
    memset(bytes, 'x', uneven_length(211));
    for (uint64_t id = 0; id < ROWS; id++) { /* in two parts */
        client_put(client, key_number(&client->arena, 7, id / 205, id),
                   str_make(bytes, uneven_length(id)));
    }
    mem_free(bytes);
    for (int backward = 0; backward < 2; backward++) {
        client_reset(client);
        struct range_spec spec = {
            .lo = space_key(7), .hi = space_key(8), .backward = backward != 0};
        struct rows rows = client_range(client, spec);
        assert_int_equal(rows.status, STORE_OK);
        assert_int_equal(rows.count, ROWS);
        for (uint64_t i = 0; i < ROWS; i++) {
            uint64_t id = backward != 0 ? ROWS - 1 - i : i;
            assert_true(str_eq(rows.keys[i], key_number(&client->arena, 7, id / 205, id)));
            assert_int_equal(rows.values[i].len, uneven_length(id));
        }
    }
}

const struct contract_case range_cases[] = {
    {"ranges keep their bounds", bounds},
    {"ranges agree with a model", agree_with_a_model},
    {"ranges while rows come and go", rows_come_and_go_meanwhile},
    {"ranges over many dead rows", over_many_dead_rows},
    {"ranges over rows of uneven sizes", over_rows_of_uneven_sizes},
    {0},
};
