/* model/capacity.h: capacity units of reads and writes, by the rules of DynamoDB. */
#ifndef GRAMME_MODEL_CAPACITY_H
#define GRAMME_MODEL_CAPACITY_H

#include "model/table.h"

#define CAPACITY_INDEX_MAX (TABLE_GSI_MAX + TABLE_LSI_MAX)

/* Units of one call on one table. */
struct capacity {
    double table;
    double indexes[CAPACITY_INDEX_MAX]; /* by the position of the index in the table */
    bool index_used[CAPACITY_INDEX_MAX];
};

/* Write units of an item of that many bytes: one per started KB, at least one. */
static inline double capacity_write_units(size_t bytes)
{
    size_t started = bytes <= 1024 ? 1 : (bytes + 1023) / 1024;
    return (double)started;
}

/* Read units: one per started 4 KB, at least one; half of that if eventually consistent. */
static inline double capacity_read_units(size_t bytes, bool consistent)
{
    size_t started = bytes <= 4096 ? 1 : (bytes + 4095) / 4096;
    double units = (double)started;
    return consistent ? units : units / 2;
}

/* Adds units of an index, given by its position in the table. */
static inline void capacity_add_index(struct capacity *capacity, size_t index, double units)
{
    capacity->indexes[index] += units;
    capacity->index_used[index] = true;
}

/* Returns the units of the table and all its indexes. */
static inline double capacity_total(const struct capacity *capacity)
{
    double total = capacity->table;
    for (size_t i = 0; i < CAPACITY_INDEX_MAX; i++) {
        total += capacity->indexes[i];
    }
    return total;
}

#endif
