/* engine/range.h: computes the row keys that a Query or Scan reads. */
#ifndef GRAMME_ENGINE_RANGE_H
#define GRAMME_ENGINE_RANGE_H

#include "engine/engine.h"

struct key_range {
    struct str lo;
    struct str hi;
};

/* Returns the range of the rows of a table (index NULL) or index that satisfy a key condition. */
struct key_range range_of_query(struct engine *engine, const struct table *table,
                                const struct index *index, const struct key_condition *condition,
                                struct arena *arena);
/* Returns the range of segment `segment` of `total`; 0 of 1 is the whole table or index. */
struct key_range range_of_scan(const struct table *table, const struct index *index,
                               uint32_t segment, uint32_t total, struct arena *arena);

/* Whether an ExclusiveStartKey matches the key schema. */
enum start_key {
    START_KEY_FITS,
    START_KEY_INCOMPLETE, /* attributes are missing, or there are others */
    START_KEY_MISMATCH,   /* of a wrong type, empty or too long */
};

/* Computes the row key of an ExclusiveStartKey, if it matches the key schema. */
MUST_USE enum start_key range_start_row(struct engine *engine, const struct table *table,
                                        const struct index *index, struct value start_key,
                                        struct arena *arena, struct str *out);
/* Returns whether a start key outside a Query's range has only another partition key. */
MUST_USE bool range_fits_sort_key(struct engine *engine, const struct table *table,
                                  const struct index *index, struct key_condition condition,
                                  struct value start_key, struct str row, struct arena *arena);
/* Removes everything up to and including `row` from the range. False: the row is outside of it. */
MUST_USE bool range_start_after(struct key_range *range, struct str row, bool backward,
                                struct arena *arena);

#endif
