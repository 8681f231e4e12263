/* Creates stores of each variant, and clients that wait for their calls. Used by all store tests;
 * each client is used by one thread. */
#include "support.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/bytes.h"

void make_directory(char out[64])
{
    const char *base = getenv("TMPDIR");
    snprintf(out, 64, "%.40s/gramme-store-XXXXXX", base != NULL ? base : "/tmp");
    if (mkdtemp(out) == NULL) {
        fail_msg("cannot make a directory %s", out);
    }
}

static int remove_entry(const char *path, const struct stat *stat, int type, struct FTW *ftw)
{
    (void)stat;
    (void)type;
    (void)ftw;
    return remove(path);
}

void remove_directory(const char *directory)
{
    nftw(directory, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}

static struct store *open_url(struct str url, struct store_options options)
{
    struct arena arena;
    arena_init(&arena);
    struct err err = ERR_INIT(&arena);
    struct store *store = NULL;
    options.worker_count = 2;
    if (!store_open(url, &options, &store, &err)) {
        fail_msg("cannot open %.*s: %.*s", STR_ARG(url), STR_ARG(err.message));
    }
    arena_finish(&arena);
    return store;
}

static struct store *open_directory(const char *directory, size_t cache_bytes, uint64_t seed)
{
    char url[80];
    snprintf(url, sizeof(url), "rocksdb:%s", directory);
    return open_url(str_from_c(url),
                    (struct store_options){.cache_bytes = cache_bytes, .seed = seed});
}

struct store *open_store(const char *directory, size_t cache_bytes)
{
    return open_directory(directory, cache_bytes, 0);
}

static void inject_faults(struct store *store)
{
    pg_fault_every(store, PG_FAULT_CUT, 97);
    pg_fault_every(store, PG_FAULT_CUT_COMMIT, 61);
    pg_fault_every(store, PG_FAULT_SERIALIZE, 11);
    pg_fault_every(store, PG_FAULT_IDLE, 83);
    pg_fault_every(store, PG_FAULT_WARNING, 29);
    pg_fault_every(store, PG_FAULT_CUT_READ, 101);
    pg_fault_every(store, PG_FAULT_CUT_DECISION, 3);
    pg_fault_every(store, PG_FAULT_WARN_DECISION, 5);
}

static struct store *open_inner(const struct fixture *fixture)
{
    const struct variant *variant = fixture->variant;
    if (variant->postgresql) {
        struct store_options options = {.seed = fixture->seed,
                                        .does_transfers = fixture->does_transfers};
        struct store *store = open_url(str_from_c(getenv("GRAMME_POSTGRESQL")), options);
        if (variant->faults) {
            inject_faults(store);
        }
        return store;
    }
    return variant->on_disk
               ? open_directory(fixture->directory, variant->cache_bytes, fixture->seed)
               : open_url(str_from_c(variant->url),
                          (struct store_options){.cache_bytes = variant->cache_bytes,
                                                 .seed = fixture->seed});
}

static void open_variant(struct fixture *fixture)
{
    fixture->inner = open_inner(fixture);
    fixture->store = fixture->inner;
    if (fixture->variant->eval_twice) {
        fixture->store = fault_create(fixture->inner);
        fault_every(fixture->store, FAULT_EVAL_TWICE, 2);
    }
}

static void empty_database(void)
{
    struct arena arena;
    arena_init(&arena);
    struct err err = ERR_INIT(&arena);
    struct str url = str_from_c(getenv("GRAMME_POSTGRESQL"));
    if (!pg_erase_all(str_skip(url, strlen("postgresql:")), &err)) {
        fail_msg("%.*s", STR_ARG(err.message));
    }
    arena_finish(&arena);
}

size_t fixture_key_len_max(const struct fixture *fixture)
{
    return fixture->variant->postgresql ? 2600 : STORE_KEY_LEN_MAX;
}

uint64_t fixture_room(struct fixture *fixture, uint32_t space)
{
    if (fixture->variant->postgresql) {
        int64_t count = pg_count_rows(fixture->inner, space);
        assert_true(count >= 0);
        return (uint64_t)count;
    }
    assert_true(rocks_flush(fixture->inner));
    return rocks_file_bytes(fixture->inner);
}

bool fixture_space_has_room(struct fixture *fixture, uint32_t space, uint64_t before)
{
    if (fixture->variant->postgresql) {
        return pg_count_rows(fixture->inner, space) != 0;
    }
    return rocks_file_bytes(fixture->inner) > before / 2;
}

static void create(struct fixture *fixture, const struct variant *variant, uint64_t seed)
{
    *fixture = (struct fixture){.variant = variant, .seed = seed};
    if (variant->on_disk) {
        make_directory(fixture->directory);
    }
    if (variant->postgresql) {
        empty_database();
    }
    open_variant(fixture);
}

void fixture_open(struct fixture *fixture, const struct variant *variant)
{
    create(fixture, variant, 0);
}

void fixture_join(struct fixture *fixture)
{
    assert_true(fixture->variant->postgresql);
    open_variant(fixture);
}

void fixture_recreate(struct fixture *fixture, uint64_t seed)
{
    const struct variant *variant = fixture->variant;
    fixture_close(fixture);
    create(fixture, variant, seed);
}

bool fixture_is_persistent(const struct fixture *fixture)
{
    return fixture->variant->on_disk || fixture->variant->postgresql;
}

void fixture_reopen(struct fixture *fixture)
{
    assert_true(fixture_is_persistent(fixture));
    store_close(fixture->store);
    open_variant(fixture);
    for (struct client *client = fixture->clients; client != NULL; client = client->next) {
        client->store = fixture->store;
    }
}

void fixture_close(struct fixture *fixture)
{
    store_close(fixture->store);
    while (fixture->clients != NULL) {
        struct client *client = fixture->clients;
        fixture->clients = client->next;
        client_destroy(client);
    }
    if (fixture->variant->on_disk) {
        remove_directory(fixture->directory);
    }
}

void fixture_settle(struct fixture *fixture)
{
    if (fixture->variant->cold) {
        assert_true(rocks_flush(fixture->inner));
    }
}

struct client *client_create_alone(struct store *store)
{
    struct client *client = mem_zalloc(sizeof(*client));
    client->store = store;
    client->box = waiting_mailbox_create();
    arena_init(&client->arena);
    return client;
}

struct client *client_create(struct fixture *fixture)
{
    struct client *client = client_create_alone(fixture->store);
    client->slow = fixture->variant->slow;
    client->next = fixture->clients;
    fixture->clients = client;
    return client;
}

void client_destroy(struct client *client)
{
    waiting_mailbox_destroy(client->box);
    arena_finish(&client->arena);
    mem_free(client);
}

void client_reset(struct client *client)
{
    arena_reset(&client->arena);
}

static void put_big_endian(char *out, uint64_t value, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        out[i] = (char)(value >> (8 * (bytes - 1 - i)) & 0xFF);
    }
}

struct str key_text(struct arena *arena, uint32_t space, const char *part, const char *sort)
{
    size_t sort_len = strlen(sort);
    char *key = arena_zalloc(arena, STORE_PREFIX_LEN + sort_len);
    put_big_endian(key, space, STORE_SPACE_LEN);
    memcpy(key + STORE_SPACE_LEN, part, MIN(strlen(part), (size_t)STORE_PART_LEN));
    memcpy(key + STORE_PREFIX_LEN, sort, sort_len);
    return str_make(key, STORE_PREFIX_LEN + sort_len);
}

struct str key_number(struct arena *arena, uint32_t space, uint64_t part, uint64_t sort)
{
    char *key = arena_zalloc(arena, STORE_PREFIX_LEN + 8);
    put_big_endian(key, space, STORE_SPACE_LEN);
    put_big_endian(key + STORE_SPACE_LEN, part, 8);
    put_big_endian(key + STORE_PREFIX_LEN, sort, 8);
    return str_make(key, STORE_PREFIX_LEN + 8);
}

struct str key_space(struct arena *arena, uint32_t space)
{
    return str_make(key_text(arena, space, "", "").data, STORE_SPACE_LEN);
}

struct str random_bytes(struct arena *arena, uint64_t seed, size_t len)
{
    char *bytes = arena_zalloc(arena, len);
    struct random random;
    random_init_seed(&random, seed);
    for (size_t i = 0; i + 8 <= len; i += 8) {
        uint64_t value = random_next(&random);
        memcpy(bytes + i, &value, 8);
    }
    return str_make(bytes, len);
}

/* A read that is in progress. */
struct reading {
    struct store_get get;
    struct client *client;
    struct str *out;
    bool done;
};

static void finish_get(struct store_get *get)
{
    struct reading *reading = CONTAINER_OF(get, struct reading, get);
    for (size_t i = 0; get->status == STORE_OK && i < get->key_count; i++) {
        reading->out[i] = str_is_null(get->rows[i])
                              ? STR_NULL
                              : arena_copy(&reading->client->arena, get->rows[i]);
    }
    reading->done = true;
}

enum store_status client_run_get(struct client *client, struct store_get get, struct str *out)
{
    struct arena arena;
    arena_init(&arena);
    struct reading reading = {.get = get, .client = client, .out = out};
    reading.get.arena = &arena;
    reading.get.home = waiting_mailbox_box(client->box);
    reading.get.done = finish_get;
    store_get(client->store, &reading.get);
    waiting_mailbox_run(client->box, &reading.done);
    arena_finish(&arena);
    return reading.get.status;
}

enum store_status client_get_many(struct client *client, const struct str *keys, size_t count,
                                  bool snapshot, struct str *out)
{
    struct store_get get = {.keys = keys, .key_count = count, .snapshot = snapshot};
    return client_run_get(client, get, out);
}

struct store_count client_get_count(struct client *client, struct str key)
{
    struct store_get get = {.keys = &key, .key_count = 1, .are_counters = true};
    struct str row;
    assert_int_equal(client_run_get(client, get, &row), STORE_OK);
    return store_count_value(row);
}

struct str client_get(struct client *client, struct str key)
{
    struct str row;
    assert_int_equal(client_get_many(client, &key, 1, false, &row), STORE_OK);
    return row;
}

struct ranging {
    struct store_range range;
    struct client *client;
    struct rows rows;
    size_t rows_max;
    bool done;
    bool left; /* the store has called range.before_thread_change */
};

static void note_leaving(struct store_range *range)
{
    CONTAINER_OF(range, struct ranging, range)->left = true;
}

static bool take_row(struct store_range *range, struct str key, struct str value)
{
    struct ranging *ranging = CONTAINER_OF(range, struct ranging, range);
    struct rows *rows = &ranging->rows;
    struct arena *arena = &ranging->client->arena;
    assert_false(range->may_take_long && !ranging->left);
    if (ranging->client->slow && !range->may_take_long && rows->count % 8 == 3) {
        range->put_off = true;
        return false;
    }
    if (rows->count == rows->capacity) {
        size_t capacity = MAX(rows->capacity * 2, (size_t)64);
        struct str *keys = ARENA_ARRAY(arena, struct str, capacity);
        struct str *values = ARENA_ARRAY(arena, struct str, capacity);
        if (rows->count > 0) {
            memcpy(keys, rows->keys, rows->count * sizeof(*keys));
            memcpy(values, rows->values, rows->count * sizeof(*values));
        }
        rows->keys = keys;
        rows->values = values;
        rows->capacity = capacity;
    }
    rows->keys[rows->count] = arena_copy(arena, key);
    rows->values[rows->count++] = arena_copy(arena, value);
    return rows->count != ranging->rows_max;
}

static void finish_range(struct store_range *range)
{
    CONTAINER_OF(range, struct ranging, range)->done = true;
}

struct rows client_range(struct client *client, struct range_spec spec)
{
    struct arena arena;
    arena_init(&arena);
    struct ranging ranging = {.range = {.lo = spec.lo,
                                        .hi = spec.hi,
                                        .backward = spec.backward,
                                        .before_serving = spec.before_serving,
                                        .arena = &arena,
                                        .home = waiting_mailbox_box(client->box),
                                        .row = take_row,
                                        .done = finish_range,
                                        .before_thread_change = note_leaving},
                              .client = client,
                              .rows_max = spec.rows_max};
    store_range(client->store, &ranging.range);
    waiting_mailbox_run(client->box, &ranging.done);
    arena_finish(&arena);
    ranging.rows.status = ranging.range.status;
    ranging.rows.is_unreadable = ranging.range.is_unreadable;
    return ranging.rows;
}

struct rows client_read_space(struct client *client, uint32_t space)
{
    struct rows rows =
        client_range(client, (struct range_spec){.lo = key_space(&client->arena, space),
                                                 .hi = key_space(&client->arena, space + 1)});
    assert_int_equal(rows.status, STORE_OK);
    return rows;
}

static bool eval_change(struct store_update *update, const struct str *rows,
                        struct store_batch *batch)
{
    struct change *change = CONTAINER_OF(update, struct change, update);
    if (update->is_prepared) {
        assert_null(rows);
        assert_int_equal(change->kept_count, update->key_count);
        rows = change->kept_rows;
    }
    return change->eval(change->context, update->arena, rows, batch);
}

static void prepare_change(struct store_update *update, size_t index, struct str row)
{
    struct change *change = CONTAINER_OF(update, struct change, update);
    if (index == 0) {
        change->kept_rows = ARENA_ARRAY(update->arena, struct str, update->key_count);
        change->kept_count = 0;
    }
    assert_int_equal(index, change->kept_count);
    change->kept_rows[change->kept_count++] =
        str_is_null(row) ? STR_NULL : arena_copy(update->arena, row);
}

static void finish_change(struct store_update *update)
{
    CONTAINER_OF(update, struct change, update)->done = true;
}

void client_prepare(struct client *client, struct change *change, const struct str *keys,
                    size_t count, eval_function *eval, void *context)
{
    *change = (struct change){.update = {.keys = keys,
                                         .key_count = count,
                                         .arena = &change->arena,
                                         .home = waiting_mailbox_box(client->box),
                                         .eval = eval_change,
                                         .done = finish_change,
                                         .prepare = client->slow ? prepare_change : NULL,
                                         .weight = (size_t)1 << 30,
                                         .frees = client->frees},
                              .eval = eval,
                              .context = context,
                              .client = client};
    arena_init(&change->arena);
}

static void start(struct client *client, struct change *change, const struct str *keys,
                  size_t count, eval_function *eval, void *context, bool may_block)
{
    client_prepare(client, change, keys, count, eval, context);
    change->update.home->may_block = may_block;
    store_update(client->store, &change->update);
    change->update.home->may_block = false;
}

void client_start(struct client *client, struct change *change, const struct str *keys,
                  size_t count, eval_function *eval, void *context)
{
    start(client, change, keys, count, eval, context, false);
}

enum store_status client_finish(struct change *change)
{
    waiting_mailbox_run(change->client->box, &change->done);
    arena_finish(&change->arena);
    return change->update.status;
}

enum store_status client_update(struct client *client, const struct str *keys, size_t count,
                                eval_function *eval, void *context)
{
    struct change change;
    bool may_block = client->update_count++ % 2 == 0; /* both values must give the same result */
    start(client, &change, keys, count, eval, context, may_block);
    return client_finish(&change);
}

static bool eval_put(void *context, struct arena *arena, const struct str *rows,
                     struct store_batch *batch)
{
    (void)rows;
    store_batch_put(batch, 0, arena_copy(arena, *(const struct str *)context));
    return true;
}

enum store_status client_try_put(struct client *client, struct str key, struct str value)
{
    return client_update(client, &key, 1, eval_put, &value);
}

bool client_try_put_many(struct client *client, const struct str *keys, struct str *values,
                         size_t count)
{
    bool good = true;
    struct change *changes = mem_alloc(count * sizeof(*changes));
    for (size_t i = 0; i < count; i++) {
        client_start(client, &changes[i], &keys[i], 1, eval_put, &values[i]);
    }
    for (size_t i = 0; i < count; i++) {
        good = client_finish(&changes[i]) == STORE_OK && good;
    }
    mem_free(changes);
    return good;
}

void client_put(struct client *client, struct str key, struct str value)
{
    assert_int_equal(client_try_put(client, key, value), STORE_OK);
}

static bool eval_erase(void *context, struct arena *arena, const struct str *rows,
                       struct store_batch *batch)
{
    (void)context;
    (void)arena;
    (void)rows;
    store_batch_erase(batch, 0);
    return true;
}

void client_erase(struct client *client, struct str key)
{
    enum store_frees before = client->frees;
    client->frees = STORE_FREES_ROWS;
    assert_int_equal(client_update(client, &key, 1, eval_erase, NULL), STORE_OK);
    client->frees = before;
}

struct appending {
    struct str prefix;
    struct str value;
};

static bool eval_append(void *context, struct arena *arena, const struct str *rows,
                        struct store_batch *batch)
{
    (void)arena;
    (void)rows;
    struct appending *appending = context;
    store_batch_append(batch, appending->prefix, appending->value);
    return true;
}

void client_append(struct client *client, struct str prefix, struct str value)
{
    struct appending appending = {.prefix = prefix, .value = value};
    assert_int_equal(client_update(client, NULL, 0, eval_append, &appending), STORE_OK);
}

struct thread {
    pthread_t thread;
    struct worker worker;
    void (*main)(struct worker *worker);
};

static void *thread_main(void *arg)
{
    struct thread *thread = arg;
    thread->main(&thread->worker);
    return NULL;
}

void run_threads(struct fixture *fixture, size_t count, void (*main)(struct worker *worker),
                 void *context)
{
    struct thread *threads = mem_zalloc(count * sizeof(*threads));
    struct random random;
    random_init(&random);
    for (size_t i = 0; i < count; i++) {
        threads[i].main = main;
        threads[i].worker = (struct worker){.fixture = fixture,
                                            .client = client_create(fixture),
                                            .index = i,
                                            .seed = random_next(&random),
                                            .context = context};
        assert_int_equal(pthread_create(&threads[i].thread, NULL, thread_main, &threads[i]), 0);
    }
    for (size_t i = 0; i < count; i++) {
        pthread_join(threads[i].thread, NULL);
    }
    mem_free(threads);
}

uint64_t test_seed(const char *test)
{
    const char *given = getenv("TEST_SEED");
    uint64_t seed;
    if (given != NULL) {
        seed = strtoull(given, NULL, 10);
    } else {
        random_system(&seed, sizeof(seed));
        seed %= 1000000000;
    }
    print_message("           %s: TEST_SEED=%llu\n", test, (unsigned long long)seed);
    return seed;
}

uint64_t random_below(struct random *random, uint64_t limit)
{
    return random_next(random) % limit;
}

uint64_t number_of(struct str row)
{
    assert(str_is_null(row) || row.len == 8);
    return str_is_null(row) ? 0 : get_u64_le(row.data);
}

struct str number_row(struct arena *arena, uint64_t number)
{
    char *row = arena_bytes(arena, 8);
    put_u64_le(row, number);
    return str_make(row, 8);
}
