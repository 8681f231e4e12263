/* Simulated faults. On the threads of calls, under a mutex of its own; nothing of it runs while the
 * simulation is off. */
#include "meter/simulation_internal.h"

#include <time.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/mem.h"
#include "err/messages.h"
#include "meter/meter_internal.h"
#include "model/builder.h"

enum {
    PARTITION_READ_UNITS = 3000,
    PARTITION_WRITE_UNITS = 1000,
    TABLE_UNITS_MAX = 40000, /* of an on-demand table, by account */
    UNLIMITED = 1000 * 1000 * 1000,
};

#define TABLE_TEXT                                                                                 \
    "The level of configured provisioned throughput for the table was exceeded. Consider "         \
    "increasing your provisioning level with the UpdateTable API."
#define INDEX_TEXT                                                                                 \
    "The level of configured provisioned throughput for one or more global secondary indexes of "  \
    "the table was exceeded. Consider increasing your provisioning level for the "                 \
    "under-provisioned global secondary indexes with the UpdateTable API"
#define ON_DEMAND_TEXT                                                                             \
    "Throughput exceeds the current capacity of your table or index. DynamoDB is automatically "   \
    "scaling your table or index so please try again shortly. If exceptions persist, check if "    \
    "you have a hot key: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/"        \
    "bp-partition-key-design.html."
#define MAXIMUM_TEXT                                                                               \
    "Throughput exceeds the maximum OnDemandThroughput configured on table or index"

bool simulation_is_on(const struct meter_thread *thread)
{
    return thread != NULL &&
           atomic_load_explicit(&thread->meter->simulation->is_on, memory_order_relaxed);
}

/* --- chance --- */

double simulation_draw(struct simulated_table *table)
{
    table->random += 0x9E3779B97F4A7C15u; /* splitmix64 */
    uint64_t z = table->random;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return (double)((z ^ z >> 31) >> 11) / (double)(1ull << 53);
}

bool simulation_happens(struct simulated_table *table, double rate)
{
    return rate > 0 && simulation_draw(table) < rate;
}

/* --- tables --- */

struct simulated_table *simulation_table(struct simulation *simulation, struct str name)
{
    struct simulated_table *table = map_get(&simulation->tables, name);
    if (table == NULL) {
        const struct simulation_settings *settings = map_get(&simulation->settings, name);
        settings = settings != NULL ? settings : map_get(&simulation->settings, STR("*"));
        if (settings != NULL) {
            table = mem_zalloc(sizeof(*table));
            table->settings = *settings;
            table->random = hash_64_seeded(name, simulation->seed);
            map_put(&simulation->tables, name, table);
        }
    }
    return table;
}

void simulation_restart(struct simulation *simulation)
{
    size_t at = 0;
    struct str name;
    void *value;
    while (map_next(&simulation->tables, &at, &name, &value)) {
        struct simulated_table *table = value;
        mem_free(table->keys);
        mem_free(table);
    }
    map_finish(&simulation->tables);
    map_init(&simulation->tables);
    simulation_forget_writes(simulation);
    atomic_store(&simulation->is_on, simulation->settings.count > 0);
}

/* --- units --- */

/* The units that a bucket gets each second, and the kind of limit. */
struct rate {
    double units;
    bool is_maximum; /* MaxOnDemandThroughput */
    bool is_account;
};

static struct rate rate_of(const struct simulated_table *state, const struct table *table,
                           const struct index *index, bool is_write)
{
    const struct simulation_settings *settings = &state->settings;
    double given = is_write ? settings->write_units : settings->read_units;
    if (settings->throttle == THROTTLE_PROVISIONED) {
        const struct throughput *own = index != NULL ? &index->throughput : &table->throughput;
        double units = (double)(is_write ? own->write_units : own->read_units);
        if (given < 0 && table->billing != BILLING_PROVISIONED) {
            units = UNLIMITED; /* it has no provisioned units of its own */
        }
        return (struct rate){.units = given >= 0 ? given : units};
    }
    struct unit_pair limit = index != NULL ? index->on_demand : table->on_demand;
    struct unit_pair warm = table_warm(table, index);
    int64_t maximum = is_write ? limit.write : limit.read;
    double units = (double)(is_write ? warm.write : warm.read);
    if (given >= 0) {
        return (struct rate){.units = given};
    }
    if (maximum > 0) {
        return (struct rate){.units = (double)maximum, .is_maximum = true};
    }
    return (struct rate){.units = MIN(units, TABLE_UNITS_MAX),
                         .is_account = units >= TABLE_UNITS_MAX};
}

/* The time by which the table's units are refilled. */
static int64_t unit_clock_us(const struct simulated_table *state)
{
    return state->settings.step_ms > 0 ? state->stepped_us : clock_monotonic_us();
}

/* Adds the units since the last call; returns the units that are left. */
static double fill(struct bucket *bucket, double rate, double burst_seconds, int64_t now_us)
{
    double full = rate * MAX(burst_seconds, 1);
    if (bucket->at_us == 0) {
        bucket->tokens = full;
    } else {
        bucket->tokens += rate * (double)(now_us - bucket->at_us) / 1e6;
        bucket->tokens = MIN(bucket->tokens, full);
    }
    bucket->at_us = MAX(now_us, 1);
    return bucket->tokens;
}

/* The limits of a partition key of the table (`index` NULL) or an index. */
static struct key_buckets *key_of(struct simulated_table *state, const struct index *index,
                                  struct value partition)
{
    uint64_t seed = index == NULL ? 0 : index->space;
    uint64_t hash = hash_64_seeded(str_make(partition.data, partition.len), seed);
    if (state->keys == NULL) {
        state->keys = mem_zalloc(SIMULATED_KEYS * sizeof(*state->keys));
    }
    struct key_buckets *key = &state->keys[hash % SIMULATED_KEYS];
    if (key->hash != hash) {
        *key = (struct key_buckets){.hash = hash};
    }
    return key;
}

/* --- throttling --- */

/* The limit that a request exceeds, for the error message. */
struct limit {
    const struct index *index; /* NULL: of the table */
    bool is_write;
    const char *kind; /* "ProvisionedThroughput", "KeyRangeThroughput", ... */
};

static bool throttle(const struct simulated_table *state, const struct table *table,
                     const struct limit *limit, struct meter *meter, struct arena *arena,
                     struct throttling *out, struct err *err)
{
    bool is_provisioned =
        state->settings.throttle == THROTTLE_PROVISIONED ||
        (state->settings.throttle == THROTTLE_OFF && table->billing == BILLING_PROVISIONED);
    struct str region = engine_region(meter->engine);
    struct str account = engine_account(meter->engine);
    struct str index = limit->index == NULL ? STR("") : limit->index->name;
    out->reason = arena_format(arena, "%s%s%sExceeded", limit->index != NULL ? "Index" : "Table",
                               limit->is_write ? "Write" : "Read", limit->kind);
    out->resource = arena_format(arena, "arn:aws:dynamodb:%.*s:%.*s:table/%.*s%s%.*s",
                                 STR_ARG(region), STR_ARG(account), STR_ARG(table->name),
                                 limit->index != NULL ? "/index/" : "", STR_ARG(index));
    if (is_provisioned) {
        return err_set(err, ERR_OVER_THROUGHPUT, "%s",
                       limit->index != NULL ? INDEX_TEXT : TABLE_TEXT);
    }
    return err_set(err, ERR_THROTTLING, "%s",
                   strcmp(limit->kind, "MaxOnDemandThroughput") == 0 ? MAXIMUM_TEXT
                                                                     : ON_DEMAND_TEXT);
}

/* Whether units are left; if not, fills in *out. */
static bool has_units(struct simulated_table *state, const struct meter_access *access,
                      const struct index *index, struct limit *out)
{
    const struct table *table = access->table;
    bool is_write = (access->flags & METER_WRITE) != 0;
    size_t number = index == NULL ? 0 : 1 + (size_t)(index - table->indexes);
    struct bucket *bucket = is_write ? &state->writes[number] : &state->reads[number];
    struct rate rate = rate_of(state, table, index, is_write);
    if (fill(bucket, rate.units, state->settings.burst_seconds, unit_clock_us(state)) > 0) {
        return true;
    }
    bool is_provisioned = state->settings.throttle == THROTTLE_PROVISIONED;
    *out = (struct limit){
        .index = index,
        .is_write = is_write,
        .kind = is_provisioned    ? "ProvisionedThroughput"
                : rate.is_maximum ? "MaxOnDemandThroughput"
                : rate.is_account ? "AccountLimit"
                                  : "KeyRangeThroughput",
    };
    return false;
}

/* A local index shares the units of its table. */
static const struct index *charged_index(const struct meter_access *access)
{
    bool is_global = access->index != NULL && access->index->kind == INDEX_GLOBAL;
    return is_global ? access->index : NULL;
}

/* Whether a write may change an index: a PutItem if the item has its keys. What an update or delete
 * changes depends on the item, which has not been read yet. */
static bool may_change(const struct meter_access *access, const struct index *index)
{
    return index->kind == INDEX_GLOBAL &&
           (value_is_absent(access->item) || key_schema_is_in(&index->key, access->item));
}

/* A write needs units of its table and of all global indexes that it may change. */
static bool is_within_limits(struct simulated_table *state, const struct meter_access *access,
                             struct limit *out)
{
    const struct table *table = access->table;
    if (!has_units(state, access, charged_index(access), out)) {
        return false;
    }
    for (size_t i = 0; (access->flags & METER_WRITE) && i < table->index_count; i++) {
        if (may_change(access, &table->indexes[i]) &&
            !has_units(state, access, &table->indexes[i], out)) {
            return false;
        }
    }
    return true;
}

static struct value empty_map(struct arena *arena)
{
    struct builder builder;
    builder_init(&builder, arena, 16);
    builder_close_sorted(&builder, builder_open(&builder, VALUE_M), 0);
    return builder_finish(&builder);
}

/* The partition key in an index that a write gives its item, if the request says it: as the value
 * of an attribute of the item, or in an update that needs no other attribute. Else VALUE_ABSENT. */
static struct value index_key(const struct meter_access *access, const struct index *index,
                              struct arena *arena)
{
    struct str name = index->key.hash[0].name;
    struct update_result result;
    struct err ignored = ERR_INIT(arena);
    if (!value_is_absent(access->item)) {
        return may_change(access, index) ? value_map_get(access->item, name) : VALUE_ABSENT;
    }
    if (access->update == NULL ||
        !update_eval(access->update, VALUE_ABSENT, empty_map(arena), arena, &result, &ignored) ||
        result.has_no_item || result.too_large) {
        return VALUE_ABSENT;
    }
    return update_result_get(&result, name);
}

/* Whether a partition key has units left; if not, fills in *out. */
static bool has_key_units(struct simulated_table *state, const struct index *index,
                          struct value partition, bool is_write, struct limit *out)
{
    struct key_buckets *key = key_of(state, index, partition);
    double rate = is_write ? PARTITION_WRITE_UNITS : PARTITION_READ_UNITS;
    if (fill(is_write ? &key->write : &key->read, rate, 1, unit_clock_us(state)) > 0) {
        return true;
    }
    bool is_global = index != NULL && index->kind == INDEX_GLOBAL;
    *out = (struct limit){
        .index = is_global ? index : NULL, .is_write = is_write, .kind = "KeyRangeThroughput"};
    return false;
}

static bool is_within_partition(struct simulated_table *state, const struct meter_access *access,
                                struct arena *arena, struct limit *out)
{
    const struct table *table = access->table;
    bool is_write = (access->flags & METER_WRITE) != 0;
    if (!state->settings.partition_limits || value_is_absent(access->partition)) {
        return true;
    }
    if (!has_key_units(state, access->index, access->partition, is_write, out)) {
        return false;
    }
    for (size_t i = 0; is_write && i < table->index_count; i++) {
        const struct index *index = &table->indexes[i];
        struct value key =
            index->kind == INDEX_GLOBAL ? index_key(access, index, arena) : VALUE_ABSENT;
        if (!value_is_absent(key) && !has_key_units(state, index, key, true, out)) {
            return false;
        }
    }
    return true;
}

/* Writes, and reads of transactions, conflict with a transaction under way. BatchWriteItem reports
 * no conflicts. */
static bool may_conflict(const struct meter_access *access)
{
    const char *operation = access->operation == NULL ? "" : access->operation;
    return (access->flags & METER_WRITE) ? strncmp(operation, "BatchWriteItem", 14) != 0
                                         : strcmp(operation, "TransactGetItems") == 0;
}

/* Whether an access is throttled, by chance or by a limit; then fills in *out. */
static bool is_throttled(struct simulated_table *state, const struct meter_access *access,
                         struct arena *arena, struct limit *out)
{
    const struct simulation_settings *settings = &state->settings;
    *out = (struct limit){.index = charged_index(access),
                          .is_write = (access->flags & METER_WRITE) != 0,
                          .kind = "ProvisionedThroughput"};
    if (access->table->billing != BILLING_PROVISIONED &&
        settings->throttle != THROTTLE_PROVISIONED) {
        out->kind = "KeyRangeThroughput";
    }
    return simulation_happens(state, settings->throttle_rate) ||
           (settings->throttle != THROTTLE_OFF && !is_within_limits(state, access, out)) ||
           !is_within_partition(state, access, arena, out);
}

static bool admit(struct meter *meter, struct simulated_table *state,
                  const struct meter_access *access, struct arena *arena, struct throttling *out,
                  struct err *err)
{
    struct simulation *simulation = meter->simulation;
    const struct simulation_settings *settings = &state->settings;
    struct limit limit;
    state->stepped_us += (int64_t)(settings->step_ms * 1000);
    if (is_throttled(state, access, arena, &limit)) {
        simulation->throttled++;
        return throttle(state, access->table, &limit, meter, arena, out, err);
    }
    if (simulation_happens(state, settings->error_rate)) {
        simulation->errors++;
        return err_set(err, ERR_INTERNAL, MESSAGE_INTERNAL);
    }
    if (may_conflict(access) && simulation_happens(state, settings->conflict_rate)) {
        simulation->conflicts++;
        return err_set(err, ERR_TRANSACTION_CONFLICT, MESSAGE_TRANSACTION_CONFLICT);
    }
    return true;
}

bool simulation_admit(struct meter_thread *thread, const struct meter_access *access,
                      struct arena *arena, struct throttling *out, struct err *err)
{
    *out = (struct throttling){0};
    if (LIKELY(!simulation_is_on(thread)) || access->table == NULL) {
        return true;
    }
    struct simulation *simulation = thread->meter->simulation;
    pthread_mutex_lock(&simulation->mutex);
    struct simulated_table *state = simulation_table(simulation, access->table->name);
    bool is_admitted = state == NULL || admit(thread->meter, state, access, arena, out, err);
    pthread_mutex_unlock(&simulation->mutex);
    return is_admitted;
}

/* Charges the partition keys: of the table or index that was read, and for a write those of the
 * entries that it wrote to global indexes. */
static void charge_keys(struct simulated_table *state, const struct meter_access *access)
{
    const struct table *table = access->table;
    bool is_write = (access->flags & METER_WRITE) != 0;
    double units = access->table_units;
    for (size_t i = 0; access->arms != NULL && i < table->index_count; i++) {
        const struct index *index = &table->indexes[i];
        struct value key = is_write && index->kind == INDEX_GLOBAL && access->arms->index_used[i] &&
                                   !value_is_absent(access->item)
                               ? value_map_get(access->item, index->key.hash[0].name)
                               : VALUE_ABSENT;
        if (!value_is_absent(key)) {
            key_of(state, index, key)->write.tokens -= access->arms->indexes[i];
        }
        units = access->index == index ? access->arms->indexes[i] : units;
    }
    struct key_buckets *key = key_of(state, access->index, access->partition);
    *(is_write ? &key->write.tokens : &key->read.tokens) -= units;
}

static void charge(struct simulated_table *state, const struct meter_access *access)
{
    bool is_write = (access->flags & METER_WRITE) != 0;
    struct bucket *buckets = is_write ? state->writes : state->reads;
    buckets[0].tokens -= access->table_units;
    for (size_t i = 0; access->arms != NULL && i < access->table->index_count; i++) {
        bool is_local = access->table->indexes[i].kind == INDEX_LOCAL;
        buckets[is_local ? 0 : 1 + i].tokens -= access->arms->indexes[i];
    }
    if (state->settings.partition_limits && !value_is_absent(access->partition)) {
        charge_keys(state, access);
    }
}

void simulation_charge(struct simulation *simulation, const struct meter_access *accesses)
{
    pthread_mutex_lock(&simulation->mutex);
    for (; accesses != NULL; accesses = accesses->next) {
        struct simulated_table *state =
            accesses->table == NULL ? NULL : simulation_table(simulation, accesses->table->name);
        if (state != NULL) {
            charge(state, accesses);
        }
    }
    pthread_mutex_unlock(&simulation->mutex);
}

/* --- slow answers --- */

int64_t simulation_delay_us(struct meter_thread *thread, const struct table *table)
{
    if (LIKELY(!simulation_is_on(thread)) || table == NULL) {
        return 0;
    }
    struct simulation *simulation = thread->meter->simulation;
    double ms = 0;
    pthread_mutex_lock(&simulation->mutex);
    struct simulated_table *state = simulation_table(simulation, table->name);
    bool is_delayed = state != NULL &&
                      state->settings.latency_ms + state->settings.latency_jitter_ms > 0 &&
                      (state->settings.latency_rate == 1 ||
                       simulation_happens(state, state->settings.latency_rate));
    if (is_delayed) {
        ms = state->settings.latency_ms;
        if (state->settings.latency_jitter_ms > 0) {
            ms += state->settings.latency_jitter_ms * simulation_draw(state);
        }
        simulation->delayed_count += ms > 0;
    }
    pthread_mutex_unlock(&simulation->mutex);
    return (int64_t)(ms * 1000);
}

/* Waits for the first task to be due, posts it, and so on. */
static void *delay_main(void *context)
{
    struct simulation *simulation = context;
    pthread_mutex_lock(&simulation->delay_mutex);
    while (!simulation->delay_stopping) {
        struct delayed *first = simulation->delayed;
        if (first == NULL) {
            pthread_cond_wait(&simulation->delay_changed, &simulation->delay_mutex);
        } else if (first->at_us > clock_monotonic_us()) {
            struct timespec until = {.tv_sec = first->at_us / 1000000,
                                     .tv_nsec = first->at_us % 1000000 * 1000};
            pthread_cond_timedwait(&simulation->delay_changed, &simulation->delay_mutex, &until);
        } else {
            simulation->delayed = first->next;
            mailbox_post(first->home, first->task);
            mem_free(first);
        }
    }
    pthread_mutex_unlock(&simulation->delay_mutex);
    return NULL;
}

void simulation_post_later(struct meter_thread *thread, struct mailbox *home, struct task *task,
                           int64_t delay_us)
{
    struct simulation *simulation = thread->meter->simulation;
    struct delayed *delayed = mem_alloc(sizeof(*delayed));
    *delayed =
        (struct delayed){.at_us = clock_monotonic_us() + delay_us, .home = home, .task = task};
    pthread_mutex_lock(&simulation->delay_mutex);
    struct delayed **at = &simulation->delayed;
    while (*at != NULL && (*at)->at_us <= delayed->at_us) {
        at = &(*at)->next;
    }
    delayed->next = *at;
    *at = delayed;
    if (!simulation->delay_started) {
        simulation->delay_started =
            pthread_create(&simulation->delay_thread, NULL, delay_main, simulation) == 0;
        assert(simulation->delay_started);
    }
    pthread_cond_signal(&simulation->delay_changed);
    pthread_mutex_unlock(&simulation->delay_mutex);
}

/* --- beginning and end --- */

struct simulation *simulation_create(void)
{
    struct simulation *simulation = mem_zalloc(sizeof(*simulation));
    pthread_condattr_t monotonic;
    pthread_mutex_init(&simulation->mutex, NULL);
    pthread_mutex_init(&simulation->delay_mutex, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&simulation->delay_changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    map_init(&simulation->settings);
    map_init(&simulation->tables);
    simulation->seed = 1;
    return simulation;
}

void simulation_destroy(struct simulation *simulation)
{
    size_t at = 0;
    struct str name;
    void *value;
    if (simulation == NULL) {
        return;
    }
    if (simulation->delay_started) {
        pthread_mutex_lock(&simulation->delay_mutex);
        simulation->delay_stopping = true;
        pthread_cond_signal(&simulation->delay_changed);
        pthread_mutex_unlock(&simulation->delay_mutex);
        pthread_join(simulation->delay_thread, NULL);
    }
    simulation_restart(simulation);
    while (map_next(&simulation->settings, &at, &name, &value)) {
        mem_free(value);
    }
    map_finish(&simulation->settings);
    map_finish(&simulation->tables);
    pthread_cond_destroy(&simulation->delay_changed);
    pthread_mutex_destroy(&simulation->delay_mutex);
    pthread_mutex_destroy(&simulation->mutex);
    mem_free(simulation);
}
