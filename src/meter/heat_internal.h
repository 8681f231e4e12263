/* meter/heat_internal.h: which partition keys are used most, per table and index ("place"). A
 * Frequent-Items sketch (Misra and Gries 1982, with the batched decrement of Anderson et al. 2017):
 * a hash table of counters. When it is full, the median of all counts is subtracted from each,
 * counters that reach zero are removed, and the place's `offset` grows by it. So a key was used at
 * least `count` and at most `count + offset` times, and one without a counter at most `offset`
 * times; adding costs one probe, and two moved counters now and then. When the counters of all
 * places together reach their limit, a new place takes counters from the place that has the most.
 * Not thread-safe: the meter's mutex guards it. */
#ifndef GRAMME_METER_HEAT_INTERNAL_H
#define GRAMME_METER_HEAT_INTERNAL_H

#include "base/map.h"
#include "meter/block_internal.h"

enum {
    HEAT_COUNTERS_MIN = 16,           /* of one place; all places together can have so many */
    HEAT_COUNTERS_MAX = 1024,         /* of one place */
    HEAT_COUNTERS_TOTAL = 100 * 1000, /* of all places */
    HEAT_RANGES = 64,
    HEAT_PLACES_MAX = 6000,
    HEAT_PLACE_SLOTS = 16384,   /* more than twice that */
    HEAT_WINDOW_SECONDS = 3600, /* after this time all counts start at zero again */
};

/* Units of one second; two of them, because blocks of different threads may belong to different
 * seconds. */
struct heat_second {
    uint32_t second;
    float read_units;
    float write_units;
};

struct heat_counter {
    uint64_t hash;     /* 0: free */
    uint64_t count;    /* at least; see `offset` */
    double read_units; /* since it has this counter */
    double write_units;
    struct heat_second seconds[2];
    float peak_read;
    float peak_write;
    uint8_t key_len;
    bool is_cut;
    char key[HEAT_KEY_MAX]; /* of the value's encoding */
};

struct heat_place {
    uint32_t space;
    struct str table;
    struct str index; /* STR_NULL: the table itself */
    uint64_t count;
    double read_units;
    double write_units;
    uint32_t first_second;
    struct heat_counter *counters; /* by hash; a power of two, at most three quarters in use */
    size_t counter_count;
    size_t counter_max;
    uint64_t offset; /* subtracted from all counts so far */
    float range_reads[HEAT_RANGES];
    float range_writes[HEAT_RANGES];
};

struct heat {
    struct heat_place **slots; /* by space; a power of two, made with the first place */
    size_t place_count;
    size_t counters_total;
    uint64_t lost; /* accesses that were not counted */
    size_t bytes;
    int64_t since_ms;
};

/* Frees all memory of heat; a zeroed struct is empty again. */
void heat_finish(struct heat *heat);
/* Deletes all counters. */
void heat_forget(struct heat *heat);
/* Names the table or index of a space, unless it is known already. At most HEAT_PLACES_MAX. */
void heat_name_place(struct heat *heat, uint32_t space, struct str table, struct str index);
/* Whether there is little room for further places. */
MUST_USE bool heat_is_full(const struct heat *heat);
/* Removes the places of tables that are not in `tables` (a map by name), and those of earlier
 * tables and indexes of the same name. */
void heat_keep_only(struct heat *heat, const struct map *tables);
/* Counts one access of a key. If the place has no name it is added to heat->lost instead. */
void heat_add(struct heat *heat, const struct heat_event *event, const char *key);
/* The place, or NULL. An empty index is the table. */
struct heat_place *heat_find(const struct heat *heat, struct str table, struct str index);
/* Returns how often a key without a counter can have been used at most. */
uint64_t heat_error_max(const struct heat_place *place);
/* Returns when counting began, by the wall clock. */
int64_t heat_since_ms(const struct heat_place *place);
/* Returns the most used keys, most accesses first, and their number. */
size_t heat_top(const struct heat_place *place, size_t limit, const struct heat_counter **out);

#endif
