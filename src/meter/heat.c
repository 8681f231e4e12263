/* Heavy hitters per table and index. On the collector's thread, or on one that answers a request of
 * the insight API. */
#include "meter/heat_internal.h"

#include <stdlib.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"

static struct heat_place **place_slot(const struct heat *heat, uint32_t space)
{
    size_t at = space * 2654435761u & (HEAT_PLACE_SLOTS - 1);
    while (heat->slots[at] != NULL && heat->slots[at]->space != space) {
        at = (at + 1) & (HEAT_PLACE_SLOTS - 1);
    }
    return &heat->slots[at];
}

static void place_destroy(struct heat_place *place)
{
    mem_free((char *)place->table.data);
    mem_free((char *)place->index.data);
    mem_free(place->counters);
    mem_free(place);
}

void heat_forget(struct heat *heat)
{
    for (size_t i = 0; heat->slots != NULL && i < HEAT_PLACE_SLOTS; i++) {
        if (heat->slots[i] != NULL) {
            place_destroy(heat->slots[i]);
            heat->slots[i] = NULL;
        }
    }
    heat->place_count = heat->counters_total = 0;
    heat->bytes = heat->slots == NULL ? 0 : HEAT_PLACE_SLOTS * sizeof(*heat->slots);
    heat->lost = 0;
}

void heat_finish(struct heat *heat)
{
    heat_forget(heat);
    mem_free(heat->slots);
    heat->slots = NULL;
}

static struct str keep(struct str text)
{
    if (str_is_null(text)) {
        return STR_NULL;
    }
    char *copy = mem_alloc(text.len + 1);
    memcpy(copy, text.data, text.len);
    return str_make(copy, text.len);
}

void heat_name_place(struct heat *heat, uint32_t space, struct str table, struct str index)
{
    if (heat->slots == NULL) {
        heat->slots = mem_zalloc(HEAT_PLACE_SLOTS * sizeof(*heat->slots));
        heat->bytes += HEAT_PLACE_SLOTS * sizeof(*heat->slots);
    }
    struct heat_place **slot = place_slot(heat, space);
    if (*slot != NULL || heat->place_count >= HEAT_PLACES_MAX) {
        return;
    }
    struct heat_place *place = mem_zalloc(sizeof(*place));
    place->space = space;
    place->table = keep(table);
    place->index = keep(index);
    *slot = place;
    heat->place_count++;
    heat->bytes += sizeof(*place) + table.len + index.len + 48;
}

bool heat_is_full(const struct heat *heat)
{
    return heat->place_count > (size_t)HEAT_PLACES_MAX * 9 / 10;
}

static void remove_place(struct heat *heat, struct heat_place *place)
{
    heat->counters_total -= place->counter_max;
    heat->bytes -= place->counter_max * sizeof(struct heat_counter) + sizeof(*place) +
                   place->table.len + place->index.len + 48;
    heat->place_count--;
    place_destroy(place);
}

/* Whether a newer place has the same name. `newest`: by table and index. */
static bool is_outdated(struct map *newest, const struct heat_place *place, struct buf *name)
{
    name->len = 0;
    buf_add(name, place->table);
    buf_add_char(name, '/');
    buf_add(name, str_is_null(place->index) ? STR("") : place->index);
    const struct heat_place *other = map_get(newest, buf_str(name));
    if (other == NULL || other->space < place->space) {
        map_put(newest, buf_str(name), (void *)place);
    }
    return other != NULL && other->space > place->space;
}

void heat_keep_only(struct heat *heat, const struct map *tables)
{
    struct heat_place **old = heat->slots;
    struct map newest;
    struct buf name = {0};
    map_init(&newest);
    for (size_t i = 0; i < HEAT_PLACE_SLOTS; i++) {
        if (old[i] != NULL) {
            (void)is_outdated(&newest, old[i], &name);
        }
    }
    heat->slots = mem_zalloc(HEAT_PLACE_SLOTS * sizeof(*heat->slots));
    for (size_t i = 0; i < HEAT_PLACE_SLOTS; i++) {
        struct heat_place *place = old[i];
        if (place != NULL && map_get(tables, place->table) != NULL &&
            !is_outdated(&newest, place, &name)) {
            *place_slot(heat, place->space) = place;
        } else if (place != NULL) {
            remove_place(heat, place);
        }
    }
    map_finish(&newest);
    buf_finish(&name);
    mem_free(old);
}

/* --- counters of one place --- */

/* The counter of a key, or the free one where it would be. */
static struct heat_counter *find_counter(const struct heat_place *place, uint64_t hash)
{
    size_t mask = place->counter_max - 1;
    size_t at = (hash ^ hash >> 32) & mask;
    while (place->counters[at].hash != 0 && place->counters[at].hash != hash) {
        at = (at + 1) & mask;
    }
    return &place->counters[at];
}

/* Moves counters to a new table of `wanted`, without those whose count is at most `cut`. */
static void rebuild(struct heat_place *place, size_t wanted, uint64_t cut)
{
    struct heat_counter *old = place->counters;
    size_t old_max = place->counter_max;
    place->counters = mem_zalloc(wanted * sizeof(*place->counters));
    place->counter_max = wanted;
    place->counter_count = 0;
    for (size_t i = 0; i < old_max; i++) {
        if (old[i].hash != 0 && old[i].count > cut) {
            struct heat_counter *counter = find_counter(place, old[i].hash);
            *counter = old[i];
            counter->count -= cut;
            place->counter_count++;
        }
    }
    place->offset += cut;
    mem_free(old);
}

static int compare_counts(const void *a, const void *b)
{
    uint64_t left = *(const uint64_t *)a;
    uint64_t right = *(const uint64_t *)b;
    return left < right ? -1 : left > right;
}

/* About the median of all counts, from some of them; at least 1. */
static uint64_t median_count(const struct heat_place *place)
{
    enum { SAMPLES = 64 };
    uint64_t counts[SAMPLES];
    size_t count = 0;
    for (size_t i = 0; i < place->counter_max && count < SAMPLES; i++) {
        if (place->counters[i].hash != 0) { /* hashes are in no order: any will do */
            counts[count++] = place->counters[i].count;
        }
    }
    qsort(counts, count, sizeof(*counts), compare_counts);
    return count == 0 ? 1 : MAX(counts[count / 2], (uint64_t)1);
}

/* The largest count of those that must go if `keep` counters are to stay. */
static uint64_t cut_for(const struct heat_place *place, size_t keep)
{
    uint64_t *counts = mem_alloc((place->counter_count + 1) * sizeof(*counts));
    size_t count = 0;
    for (size_t i = 0; i < place->counter_max; i++) {
        if (place->counters[i].hash != 0) {
            counts[count++] = place->counters[i].count;
        }
    }
    qsort(counts, count, sizeof(*counts), compare_counts);
    uint64_t cut = count > keep ? counts[count - keep - 1] : 0;
    mem_free(counts);
    return cut;
}

/* Changes the number of counters of a place; without those whose count is at most `cut`. */
static void resize(struct heat *heat, struct heat_place *place, size_t wanted, uint64_t cut)
{
    heat->counters_total -= place->counter_max;
    heat->bytes -= place->counter_max * sizeof(struct heat_counter);
    rebuild(place, wanted, cut);
    heat->counters_total += wanted;
    heat->bytes += wanted * sizeof(struct heat_counter);
}

/* Halves the counters of the place that has the most. False: all have the minimum. */
static bool shrink_largest(struct heat *heat)
{
    struct heat_place *largest = NULL;
    for (size_t i = 0; i < HEAT_PLACE_SLOTS; i++) {
        struct heat_place *place = heat->slots[i];
        if (place != NULL && (largest == NULL || place->counter_max > largest->counter_max)) {
            largest = place;
        }
    }
    if (largest == NULL || largest->counter_max <= HEAT_COUNTERS_MIN) {
        return false;
    }
    size_t wanted = largest->counter_max / 2;
    resize(heat, largest, wanted, cut_for(largest, wanted / 2));
    return true;
}

/* Gives a new place its first counters, taken from other places if all are in use. */
static void give_first_counters(struct heat *heat, struct heat_place *place)
{
    while (heat->counters_total + HEAT_COUNTERS_MIN > HEAT_COUNTERS_TOTAL && shrink_largest(heat)) {
    }
    if (heat->counters_total + HEAT_COUNTERS_MIN <= HEAT_COUNTERS_TOTAL) {
        resize(heat, place, HEAT_COUNTERS_MIN, 0);
    }
}

/* Makes room for one more: more counters, as far as all places together may have them, or fewer
 * keys. False: there is no room for any. */
static bool make_room(struct heat *heat, struct heat_place *place)
{
    size_t wanted = place->counter_max * 2;
    if (place->counter_max == 0) {
        give_first_counters(heat, place);
    } else if (place->counter_count >= place->counter_max / 4 * 3) {
        bool may_grow = wanted <= HEAT_COUNTERS_MAX &&
                        heat->counters_total + place->counter_max <= HEAT_COUNTERS_TOTAL;
        if (may_grow) {
            resize(heat, place, wanted, 0);
        } else {
            rebuild(place, place->counter_max, median_count(place));
        }
    }
    return place->counter_max > 0;
}

static void count_second(struct heat_counter *counter, const struct heat_event *event)
{
    struct heat_second *second = &counter->seconds[event->second & 1];
    if (second->second != event->second) {
        if (second->second > event->second) {
            return; /* too old */
        }
        *second = (struct heat_second){.second = event->second};
    }
    *(event->is_write ? &second->write_units : &second->read_units) += event->units;
    counter->peak_read = MAX(counter->peak_read, second->read_units);
    counter->peak_write = MAX(counter->peak_write, second->write_units);
}

/* Starts counting at zero after an hour, so that the counts are recent. */
static void start_anew(struct heat_place *place, uint32_t second)
{
    place->first_second = second;
    place->count = 0;
    place->read_units = place->write_units = 0;
    place->counter_count = 0;
    place->offset = 0;
    memset(place->range_reads, 0, sizeof(place->range_reads));
    memset(place->range_writes, 0, sizeof(place->range_writes));
    if (place->counter_max > 0) {
        memset(place->counters, 0, place->counter_max * sizeof(*place->counters));
    }
}

static void count_range(struct heat_place *place, const struct heat_event *event)
{
    size_t range = event->hash >> 58;
    place->count++;
    *(event->is_write ? &place->write_units : &place->read_units) += event->units;
    *(event->is_write ? &place->range_writes[range] : &place->range_reads[range]) += event->units;
}

/* The counter of a key, a new one if it has none. NULL: there is no room. */
static struct heat_counter *take_counter(struct heat *heat, struct heat_place *place,
                                         const struct heat_event *event, const char *key)
{
    uint64_t hash = event->hash == 0 ? 1 : event->hash;
    struct heat_counter *counter = place->counter_max == 0 ? NULL : find_counter(place, hash);
    if (counter != NULL && counter->hash != 0) {
        return counter;
    }
    if (!make_room(heat, place)) {
        return NULL;
    }
    counter = find_counter(place, hash);
    *counter = (struct heat_counter){
        .hash = hash, .key_len = event->key_len, .is_cut = event->is_cut != 0};
    memcpy(counter->key, key, event->key_len);
    place->counter_count++;
    return counter;
}

void heat_add(struct heat *heat, const struct heat_event *event, const char *key)
{
    struct heat_place *place = heat->slots == NULL ? NULL : *place_slot(heat, event->space);
    if (place == NULL) {
        heat->lost++;
        return;
    }
    /* Blocks of different threads are added in any order: an event may be older than the first
     * one. */
    int32_t age = (int32_t)(event->second - place->first_second);
    if (place->first_second == 0 || age > HEAT_WINDOW_SECONDS) {
        start_anew(place, event->second);
    }
    count_range(place, event);
    struct heat_counter *counter = take_counter(heat, place, event, key);
    if (counter == NULL) {
        heat->lost++;
        return;
    }
    counter->count++;
    *(event->is_write ? &counter->write_units : &counter->read_units) += event->units;
    count_second(counter, event);
}

struct heat_place *heat_find(const struct heat *heat, struct str table, struct str index)
{
    struct heat_place *found = NULL; /* the newest, if a table of that name was deleted before */
    for (size_t i = 0; heat->slots != NULL && i < HEAT_PLACE_SLOTS; i++) {
        struct heat_place *place = heat->slots[i];
        if (place != NULL && place->count > 0 && str_eq(place->table, table) &&
            str_eq(place->index, index) && (found == NULL || found->space < place->space)) {
            found = place;
        }
    }
    return found;
}

int64_t heat_since_ms(const struct heat_place *place)
{
    int64_t ago_ms = clock_monotonic_us() / 1000 - (int64_t)place->first_second * 1000;
    return place->first_second == 0 ? clock_wall_ms() : clock_wall_ms() - ago_ms;
}

uint64_t heat_error_max(const struct heat_place *place)
{
    return place->offset;
}

static int compare(const void *a, const void *b)
{
    uint64_t left = (*(const struct heat_counter *const *)a)->count;
    uint64_t right = (*(const struct heat_counter *const *)b)->count;
    return left > right ? -1 : left < right;
}

size_t heat_top(const struct heat_place *place, size_t limit, const struct heat_counter **out)
{
    const struct heat_counter **all = mem_alloc((place->counter_count + 1) * sizeof(*all));
    size_t found = 0;
    for (size_t i = 0; i < place->counter_max; i++) {
        if (place->counters[i].hash != 0) {
            all[found++] = &place->counters[i];
        }
    }
    qsort(all, found, sizeof(*all), compare);
    size_t count = MIN(limit, place->counter_count);
    memcpy(out, all, count * sizeof(*all));
    mem_free(all);
    return count;
}
