/* meter/what_if_internal.h: assumptions of the cost view, and the consumed units and stored bytes
 * that follow from them. Estimates from averages: an item of half the size may or may not cost a
 * unit less. */
#ifndef GRAMME_METER_WHAT_IF_INTERNAL_H
#define GRAMME_METER_WHAT_IF_INTERNAL_H

#include "meter/insight_internal.h"

enum { INDEX_CHANGES_MAX = 16 };

/* An index that is dropped, or gets another projection. */
struct index_change {
    struct str table;
    struct str index;
    bool is_dropped;
    double entry_ratio; /* size of an entry after the change, by that of before */
};

struct what_if {
    double traffic;   /* times as many calls */
    double item_size; /* times as large items */
    struct index_change indexes[INDEX_CHANGES_MAX];
    size_t index_count;
    struct str changes[INDEX_CHANGES_MAX + 2]; /* in words */
    size_t change_count;
};

struct what_if_units {
    double read;
    double write;
};

/* Returns assumptions that change nothing. */
struct what_if what_if_nothing(void);
/* Reads the parameters of a request; mistakes are recorded in the request. Reads entries of
 * indexes. */
void what_if_read(struct insight *insight, struct what_if *out);
/* Returns the units of a pattern under the assumptions: on its table, or on the index of `arm`.
 * `entry_bytes` is the average size of an item of the table, or an entry of the index. */
struct what_if_units what_if_units(const struct what_if *what_if, const struct pattern *pattern,
                                   const struct arm *arm, double entry_bytes);
/* Returns how many times as many bytes a table (`index` STR_NULL) or index would hold; 0: the index
 * is dropped. */
double what_if_stored(const struct what_if *what_if, struct str table, struct str index);

#endif
