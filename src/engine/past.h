/* engine/past.h: computes the rows of a table or index before some writes, for reads that return an
 * older state: the simulation of stale reads and of index lag (meter/simulation.h). */
#ifndef GRAMME_ENGINE_PAST_H
#define GRAMME_ENGINE_PAST_H

#include "engine/engine.h"

/* A write that is to be ignored. */
struct past_write {
    struct str row;        /* key of the item's row */
    struct value old_item; /* VALUE_ABSENT: there was none */
    struct value new_item; /* VALUE_ABSENT: there is none */
};

/* A row that differs from the current one. */
struct past_row {
    struct str key;
    struct str row; /* STR_NULL: there was none */
};

/* Rows in ascending order of keys. */
struct past {
    const struct past_row *rows;
    size_t count;
};

/* The rows lo <= key < hi of a table or index. */
struct past_range {
    const struct table *table;
    const struct index *index; /* NULL: of the table */
    struct str lo;
    struct str hi;
};

/* Computes which rows of the range were different before `writes`, which are all writes of a
 * period, in their order. The rows live in `arena` and borrow from `writes`. */
struct past past_before(const struct engine *engine, const struct past_range *range,
                        const struct past_write *writes, size_t count, struct arena *arena);

#endif
