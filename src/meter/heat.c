/* Heavy hitters per table and index. On the collector's thread, or on one that answers a request of
 * the insight API. */
#include "meter/heat_internal.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"

#define NO_COUNTER UINT32_MAX

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
    mem_free(place->heap);
    mem_free(place->slots);
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

/* --- counters of one place --- */

static size_t counter_bytes(size_t counters)
{
    return counters * (sizeof(struct heat_counter) + 3 * sizeof(uint32_t));
}

static size_t slot_of(const struct heat_place *place, uint64_t hash)
{
    size_t mask = place->counter_max * 2 - 1;
    size_t at = (hash ^ hash >> 32) & mask;
    while (place->slots[at] != NO_COUNTER && place->counters[place->slots[at]].hash != hash) {
        at = (at + 1) & mask;
    }
    return at;
}

static void fill_slots(struct heat_place *place)
{
    for (size_t i = 0; i < place->counter_max * 2; i++) {
        place->slots[i] = NO_COUNTER;
    }
    for (size_t i = 0; i < place->counter_count; i++) {
        place->slots[slot_of(place, place->counters[i].hash)] = (uint32_t)i;
    }
}

/* Removes a key from the slots and closes the gap. */
static void remove_slot(struct heat_place *place, size_t at)
{
    size_t mask = place->counter_max * 2 - 1;
    place->slots[at] = NO_COUNTER;
    for (size_t next = (at + 1) & mask; place->slots[next] != NO_COUNTER;
         next = (next + 1) & mask) {
        uint32_t counter = place->slots[next];
        place->slots[next] = NO_COUNTER;
        place->slots[slot_of(place, place->counters[counter].hash)] = counter;
    }
}

static void heap_put(struct heat_place *place, size_t at, uint32_t counter)
{
    place->heap[at] = counter;
    place->counters[counter].heap_at = (uint32_t)at;
}

/* The count at `at` has grown: moves it away from the top. */
static void sift_down(struct heat_place *place, size_t at)
{
    uint32_t moved = place->heap[at];
    uint64_t count = place->counters[moved].count;
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= place->counter_count) {
            break;
        }
        if (child + 1 < place->counter_count && place->counters[place->heap[child + 1]].count <
                                                    place->counters[place->heap[child]].count) {
            child++;
        }
        if (place->counters[place->heap[child]].count >= count) {
            break;
        }
        heap_put(place, at, place->heap[child]);
        at = child;
    }
    heap_put(place, at, moved);
}

static void sift_up(struct heat_place *place, size_t at)
{
    uint32_t moved = place->heap[at];
    while (at > 0 &&
           place->counters[place->heap[(at - 1) / 2]].count > place->counters[moved].count) {
        heap_put(place, at, place->heap[(at - 1) / 2]);
        at = (at - 1) / 2;
    }
    heap_put(place, at, moved);
}

/* Makes room for more counters, as far as all places together may have them. */
static bool grow(struct heat *heat, struct heat_place *place)
{
    size_t wanted = place->counter_max == 0 ? HEAT_COUNTERS_MIN : place->counter_max * 2;
    size_t more = wanted - place->counter_max;
    if (wanted > HEAT_COUNTERS_MAX || heat->counters_total + more > HEAT_COUNTERS_TOTAL) {
        return false;
    }
    place->counters = mem_realloc(place->counters, wanted * sizeof(*place->counters));
    place->heap = mem_realloc(place->heap, wanted * sizeof(*place->heap));
    place->slots = mem_realloc(place->slots, wanted * 2 * sizeof(*place->slots));
    place->counter_max = wanted;
    heat->counters_total += more;
    heat->bytes += counter_bytes(more);
    fill_slots(place);
    return true;
}

/* A counter for a key that has none: a new one, or that of the key with the smallest count, which
 * then is the error of the new one. NULL: there is no room for any. */
static struct heat_counter *take_counter(struct heat *heat, struct heat_place *place, uint64_t hash)
{
    if (place->counter_count < place->counter_max || grow(heat, place)) {
        uint32_t number = (uint32_t)place->counter_count++;
        place->counters[number] = (struct heat_counter){.hash = hash};
        heap_put(place, number, number);
        sift_up(place, number);
        place->slots[slot_of(place, hash)] = number;
        return &place->counters[number];
    }
    if (place->counter_count == 0) {
        return NULL;
    }
    uint32_t number = place->heap[0];
    struct heat_counter *counter = &place->counters[number];
    remove_slot(place, slot_of(place, counter->hash));
    *counter = (struct heat_counter){
        .hash = hash, .count = counter->count, .error = counter->count, .heap_at = 0};
    place->slots[slot_of(place, hash)] = number;
    return counter;
}

static void count_second(struct heat_counter *counter, const struct heat_event *event)
{
    struct heat_second *second = &counter->seconds[event->second & 1];
    if (second->second != event->second) {
        if (second->second > event->second) {
            return; /* long past */
        }
        *second = (struct heat_second){.second = event->second};
    }
    *(event->is_write ? &second->write_units : &second->read_units) += event->units;
    counter->peak_read = MAX(counter->peak_read, second->read_units);
    counter->peak_write = MAX(counter->peak_write, second->write_units);
}

/* After an hour counting starts anew, so that what is shown is recent. */
static void start_anew(struct heat_place *place, uint32_t second)
{
    place->first_second = second;
    place->count = 0;
    place->read_units = place->write_units = 0;
    place->counter_count = 0;
    memset(place->range_reads, 0, sizeof(place->range_reads));
    memset(place->range_writes, 0, sizeof(place->range_writes));
    if (place->counter_max > 0) {
        fill_slots(place);
    }
}

void heat_add(struct heat *heat, const struct heat_event *event, const char *key)
{
    struct heat_place *place = heat->slots == NULL ? NULL : *place_slot(heat, event->space);
    if (place == NULL) {
        heat->lost++;
        return;
    }
    if (place->first_second == 0 || event->second - place->first_second > HEAT_WINDOW_SECONDS) {
        start_anew(place, event->second);
    }
    place->count++;
    size_t range = event->hash >> 58;
    *(event->is_write ? &place->write_units : &place->read_units) += event->units;
    *(event->is_write ? &place->range_writes[range] : &place->range_reads[range]) += event->units;
    struct heat_counter *counter = NULL;
    if (place->counter_max > 0) {
        uint32_t number = place->slots[slot_of(place, event->hash)];
        counter = number == NO_COUNTER ? NULL : &place->counters[number];
    }
    if (counter == NULL) {
        counter = take_counter(heat, place, event->hash);
        if (counter == NULL) {
            heat->lost++;
            return;
        }
        counter->key_len = event->key_len;
        counter->is_cut = event->is_cut != 0;
        memcpy(counter->key, key, event->key_len);
    }
    counter->count++;
    *(event->is_write ? &counter->write_units : &counter->read_units) += event->units;
    count_second(counter, event);
    sift_down(place, counter->heap_at);
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
    bool is_full = place->counter_count == place->counter_max && place->counter_count > 0;
    return is_full ? place->counters[place->heap[0]].count : 0;
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
    for (size_t i = 0; i < place->counter_count; i++) {
        all[i] = &place->counters[i];
    }
    qsort(all, place->counter_count, sizeof(*all), compare);
    size_t count = MIN(limit, place->counter_count);
    memcpy(out, all, count * sizeof(*all));
    mem_free(all);
    return count;
}
