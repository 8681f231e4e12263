/* Makes room for new patterns, tables and places of heat: removes those of deleted tables, which
 * are kept as long as there is room (a test that deletes its tables at the end may still be
 * checked). On the collector's thread. */
#include "meter/meter_internal.h"

#include <stdlib.h>

#include "base/clock.h"

enum { EVICT_MS = 1000, EVICT_IDLE_MS = 10 * 1000 };

/* Whether more than this part of the room is used. The mutex is held, as in the functions below. */
static bool is_used(const struct meter *meter, double part)
{
    size_t own = meter->pattern_count - meter->other_count;
    return (double)own > part * PATTERNS_MAX || (double)meter->other_count > part * OTHERS_MAX ||
           (double)meter->bytes > part * PATTERN_BYTES_MAX ||
           (double)meter->tables.count > part * METER_TABLES_MAX;
}

/* A deleted table. */
struct gone {
    struct table_sums *table;
    int64_t last_ms; /* when it was last used */
};

static int compare(const void *a, const void *b)
{
    int64_t left = ((const struct gone *)a)->last_ms;
    int64_t right = ((const struct gone *)b)->last_ms;
    return left < right ? -1 : left > right;
}

static void find_last_use(const struct meter *meter, struct gone *gone, size_t count,
                          const struct map *by_name)
{
    for (size_t i = 0; i < meter->pattern_count; i++) {
        const struct pattern *pattern = meter->patterns[i];
        struct str name = pattern->table->name;
        struct gone *at = str_is_null(name) ? NULL : map_get(by_name, name);
        if (at != NULL) {
            at->last_ms = MAX(at->last_ms, pattern->sums.last_ms);
        }
    }
    qsort(gone, count, sizeof(*gone), compare);
}

/* The tables that are not in `live`, the longest unused ones first. */
static size_t find_gone(struct meter *meter, const struct map *live, struct arena *arena,
                        struct gone **out)
{
    struct gone *gone = ARENA_ARRAY(arena, struct gone, meter->tables.count);
    struct map by_name;
    size_t count = 0;
    size_t at = 0;
    struct str name;
    void *table;
    map_init(&by_name);
    while (map_next(&meter->tables, &at, &name, &table)) {
        if (name.len > 0 && map_get(live, name) == NULL) {
            gone[count] = (struct gone){.table = table};
            map_put(&by_name, name, &gone[count]);
            count++;
        }
    }
    find_last_use(meter, gone, count, &by_name);
    map_finish(&by_name);
    *out = gone;
    return count;
}

/* Patterns to be removed: of the first `count` tables. */
static size_t ids_of(const struct meter *meter, const struct gone *gone, size_t count,
                     struct arena *arena, uint64_t **out)
{
    struct map chosen;
    size_t found = 0;
    *out = ARENA_ARRAY(arena, uint64_t, meter->pattern_count);
    map_init(&chosen);
    for (size_t i = 0; i < count; i++) {
        map_put(&chosen, gone[i].table->name, gone[i].table);
    }
    for (size_t i = 0; i < meter->pattern_count; i++) {
        struct str table = meter->patterns[i]->table->name;
        if (!str_is_null(table) && map_get(&chosen, table) != NULL) {
            (*out)[found++] = meter->patterns[i]->text.id;
        }
    }
    map_finish(&chosen);
    return found;
}

/* How many tables must be removed until a quarter of the room is free. */
static size_t choose(const struct meter *meter, const struct gone *gone, size_t count)
{
    size_t patterns = 0;
    size_t chosen = 0;
    for (; chosen < count; chosen++) {
        bool enough = meter->tables.count - chosen < METER_TABLES_MAX * 3 / 4 &&
                      meter->pattern_count - patterns < PATTERNS_MAX * 3 / 4 &&
                      patterns >= meter->pattern_count / 4; /* also a quarter of the bytes */
        if (enough) {
            break;
        }
        patterns += gone[chosen].table->pattern_count;
    }
    return chosen;
}

/* Adds the sums of a pattern to those of "other" without a table. */
static void fold(struct meter *meter, struct pattern *pattern)
{
    struct pattern *other =
        meter_other_for(meter, STR_NULL, (pattern->text.flags & METER_WRITE) != 0);
    meter_account(meter, pattern, false);
    meter_account(meter, other, false);
    for (size_t i = 0; i < pattern->arms.count; i++) {
        pattern->sums.table_units +=
            pattern->arms.arms[i].read_units + pattern->arms.arms[i].write_units;
    }
    pattern_sums_add(&other->sums, &pattern->sums);
    if (meter->options.keep) {
        pattern_add_unsaved(other, &pattern->sums);
    }
    meter_account(meter, other, true);
    pattern->is_evicted = true;
}

static void remove_unused_tables(struct meter *meter, struct arena *arena)
{
    struct table_sums **unused = ARENA_ARRAY(arena, struct table_sums *, meter->tables.count);
    size_t count = 0;
    size_t at = 0;
    struct str name;
    void *value;
    while (map_next(&meter->tables, &at, &name, &value)) {
        struct table_sums *table = value;
        if (name.len > 0 && table->pattern_count == 0) {
            unused[count++] = table;
        }
    }
    for (size_t i = 0; i < count; i++) {
        meter_remove_table(meter, unused[i]);
    }
}

/* Removes the patterns and their tables. */
static void remove_all(struct meter *meter, const uint64_t *ids, size_t count, struct arena *arena)
{
    for (size_t i = 0; i < count; i++) {
        struct pattern *pattern = meter_pattern(meter, ids[i]);
        if (pattern != NULL) {
            fold(meter, pattern);
        }
    }
    meter_remove_evicted(meter);
    remove_unused_tables(meter, arena);
}

static void list_tables(struct meter *meter, struct arena *arena, struct map *out)
{
    enum { ALL = 100000 };
    static char here; /* a value that is not NULL */
    struct table_names names;
    engine_list_tables(meter->engine, arena, STR_NULL, ALL, &names);
    map_init(out);
    for (size_t i = 0; i < names.count; i++) {
        map_put(out, names.names[i], &here);
    }
}

/* Forgets the heat of deleted tables if there is no room, and chooses the patterns to remove if
 * there are too many. Returns how many. */
static size_t choose_removed(struct meter *meter, bool is_full, bool is_hot, struct arena *arena,
                             uint64_t **out_ids)
{
    struct map live;
    struct gone *gone;
    list_tables(meter, arena, &live);
    pthread_mutex_lock(&meter->mutex);
    if (is_hot) {
        heat_keep_only(&meter->heat, &live);
    }
    size_t count = is_full ? find_gone(meter, &live, arena, &gone) : 0;
    count = count == 0 ? 0 : ids_of(meter, gone, choose(meter, gone, count), arena, out_ids);
    pthread_mutex_unlock(&meter->mutex);
    map_finish(&live);
    return count;
}

void meter_evict(struct meter *meter)
{
    int64_t now_ms = clock_monotonic_us() / 1000;
    pthread_mutex_lock(&meter->mutex);
    bool is_full = is_used(meter, 0.9);
    bool is_hot = heat_is_full(&meter->heat);
    pthread_mutex_unlock(&meter->mutex);
    if ((!is_full && !is_hot) || now_ms < meter->next_evict_ms) {
        return;
    }
    struct arena arena;
    uint64_t *ids;
    arena_init(&arena);
    size_t count = choose_removed(meter, is_full, is_hot, &arena, &ids);
    if (count > 0 && meter_unkeep(meter, ids, count)) {
        pthread_mutex_lock(&meter->mutex);
        remove_all(meter, ids, count, &arena);
        pthread_mutex_unlock(&meter->mutex);
    }
    meter->next_evict_ms = now_ms + (count > 0 ? EVICT_MS : EVICT_IDLE_MS);
    arena_finish(&arena);
}
