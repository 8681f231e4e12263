/* Stale reads and index lag: recent writes are kept with the items before them, and eventually
 * consistent reads may return these. On the threads of calls, under the mutex of the simulation;
 * nothing of it runs while the simulation is off. */
#include "meter/simulation_internal.h"

#include "base/clock.h"
#include "base/mem.h"
#include "meter/meter_internal.h"

enum { STALE_US = 1000 * 1000 };

/* --- the ring of recent writes --- */

static struct recent_write *recent_at(const struct simulation *simulation, size_t i)
{
    return &simulation->recent[(simulation->recent_first + i) % RECENT_WRITES_MAX];
}

static void forget_oldest(struct simulation *simulation)
{
    struct recent_write *oldest = recent_at(simulation, 0);
    mem_free((char *)oldest->write.row.data);
    simulation->recent_bytes -= oldest->bytes;
    simulation->recent_first = (simulation->recent_first + 1) % RECENT_WRITES_MAX;
    simulation->recent_count--;
}

void simulation_forget_writes(struct simulation *simulation)
{
    while (simulation->recent_count > 0) {
        forget_oldest(simulation);
    }
    mem_free(simulation->recent);
    simulation->recent = NULL;
}

static struct value copy_value(char *to, struct value from)
{
    if (value_is_absent(from)) {
        return VALUE_ABSENT;
    }
    memcpy(to, from.data, from.len);
    return (struct value){(const uint8_t *)to, from.len};
}

static void remember(struct simulation *simulation, uint32_t space, const struct past_write *write)
{
    size_t bytes = write->row.len + write->old_item.len + write->new_item.len;
    while (simulation->recent_count > 0 && (simulation->recent_count == RECENT_WRITES_MAX ||
                                            simulation->recent_bytes + bytes > RECENT_BYTES_MAX)) {
        forget_oldest(simulation);
    }
    if (simulation->recent == NULL) {
        simulation->recent = mem_zalloc(RECENT_WRITES_MAX * sizeof(*simulation->recent));
    }
    char *copy = mem_alloc(bytes + 1);
    memcpy(copy, write->row.data, write->row.len);
    char *items = copy + write->row.len;
    *recent_at(simulation, simulation->recent_count++) = (struct recent_write){
        .space = space,
        .at_us = clock_monotonic_us(),
        .bytes = bytes,
        .write = {.row = str_make(copy, write->row.len),
                  .old_item = copy_value(items, write->old_item),
                  .new_item = copy_value(items + write->old_item.len, write->new_item)},
    };
    simulation->recent_bytes += bytes;
}

static bool wants_writes(const struct simulated_table *state)
{
    return state != NULL &&
           (state->settings.stale_read_rate > 0 || state->settings.index_lag_ms > 0);
}

bool simulation_wants_writes(struct meter_thread *thread, const struct table *table)
{
    if (LIKELY(!simulation_is_on(thread))) {
        return false;
    }
    struct simulation *simulation = thread->meter->simulation;
    pthread_mutex_lock(&simulation->mutex);
    bool wanted = wants_writes(simulation_table(simulation, table->name));
    pthread_mutex_unlock(&simulation->mutex);
    return wanted;
}

void simulation_remember(struct meter_thread *thread, const struct table *table,
                         const struct past_write *write)
{
    struct simulation *simulation = thread->meter->simulation;
    pthread_mutex_lock(&simulation->mutex);
    if (wants_writes(simulation_table(simulation, table->name))) {
        remember(simulation, table->space, write);
    }
    pthread_mutex_unlock(&simulation->mutex);
}

/* --- one item --- */

/* The oldest write of the item in the last second, or NULL. */
static const struct recent_write *find_recent(const struct simulation *simulation, uint32_t space,
                                              struct str row)
{
    int64_t since_us = clock_monotonic_us() - STALE_US;
    for (size_t i = 0; i < simulation->recent_count; i++) {
        const struct recent_write *recent = recent_at(simulation, i);
        if (recent->at_us > since_us && recent->space == space && str_eq(recent->write.row, row)) {
            return recent;
        }
    }
    return NULL;
}

static struct value copy_to_arena(struct arena *arena, struct value value)
{
    return value_is_absent(value) ? VALUE_ABSENT : copy_value(arena_bytes(arena, value.len), value);
}

bool simulation_is_stale(struct meter_thread *thread, const struct table *table, struct str row,
                         struct arena *arena, struct value *out)
{
    if (LIKELY(!simulation_is_on(thread))) {
        return false;
    }
    struct simulation *simulation = thread->meter->simulation;
    const struct recent_write *recent = NULL;
    pthread_mutex_lock(&simulation->mutex);
    struct simulated_table *state = simulation_table(simulation, table->name);
    if (state != NULL && simulation_happens(state, state->settings.stale_read_rate)) {
        recent = find_recent(simulation, table->space, row);
    }
    if (recent != NULL) {
        *out = copy_to_arena(arena, recent->write.old_item);
        simulation->stale_reads++;
    }
    pthread_mutex_unlock(&simulation->mutex);
    return recent != NULL;
}

/* --- ranges --- */

/* Returns the age of the state that a read returns; 0: the newest state. */
static int64_t decide_age_us(struct simulated_table *state, const struct index *index)
{
    int64_t age_us = 0;
    if (index != NULL && index->kind == INDEX_GLOBAL) {
        age_us = (int64_t)(state->settings.index_lag_ms * 1000);
    }
    if (simulation_happens(state, state->settings.stale_read_rate)) {
        age_us = MAX(age_us, (int64_t)STALE_US);
    }
    return age_us;
}

/* Copies the writes of a table that are younger than `age_us`, in their order. */
static size_t copy_recent(const struct simulation *simulation, uint32_t space, int64_t age_us,
                          struct arena *arena, struct past_write *out)
{
    int64_t since_us = clock_monotonic_us() - age_us;
    size_t count = 0;
    for (size_t i = 0; i < simulation->recent_count; i++) {
        const struct recent_write *recent = recent_at(simulation, i);
        if (recent->space == space && recent->at_us > since_us) {
            out[count++] = (struct past_write){
                .row = arena_copy(arena, recent->write.row),
                .old_item = copy_to_arena(arena, recent->write.old_item),
                .new_item = copy_to_arena(arena, recent->write.new_item),
            };
        }
    }
    return count;
}

const struct past *simulation_past(struct meter_thread *thread, const struct items_read *read,
                                   struct arena *arena)
{
    if (LIKELY(!simulation_is_on(thread))) {
        return NULL;
    }
    struct simulation *simulation = thread->meter->simulation;
    struct past_write *writes = NULL;
    size_t count = 0;
    pthread_mutex_lock(&simulation->mutex);
    struct simulated_table *state = simulation_table(simulation, read->table->name);
    int64_t age_us = state == NULL ? 0 : decide_age_us(state, read->index);
    if (age_us > 0 && simulation->recent_count > 0) {
        writes = ARENA_ARRAY(arena, struct past_write, simulation->recent_count);
        count = copy_recent(simulation, read->table->space, age_us, arena, writes);
    }
    pthread_mutex_unlock(&simulation->mutex);
    if (count == 0) {
        return NULL;
    }
    struct past *past = ARENA_NEW(arena, struct past);
    struct past_range range = {read->table, read->index, read->lo, read->hi};
    *past = past_before(thread->meter->engine, &range, writes, count, arena);
    if (past->count == 0) {
        return NULL;
    }
    pthread_mutex_lock(&simulation->mutex);
    simulation->stale_reads++;
    pthread_mutex_unlock(&simulation->mutex);
    return past;
}
