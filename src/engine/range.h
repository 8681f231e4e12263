/* engine/range.h: which row keys a Query or Scan reads. */
#ifndef GRAMME_ENGINE_RANGE_H
#define GRAMME_ENGINE_RANGE_H

#include "engine/engine.h"

struct key_range {
    struct str lo;
    struct str hi;
};

/* The rows of a table (index NULL) or index that meet a key condition. */
struct key_range range_of_query(struct engine *engine, const struct table *table,
                                const struct index *index, const struct key_condition *condition,
                                struct arena *arena);
/* Segment `segment` of `total`; 0 of 1 is all. */
struct key_range range_of_scan(const struct table *table, const struct index *index,
                               uint32_t segment, uint32_t total, struct arena *arena);

/* How an ExclusiveStartKey fits the keys. */
enum start_key {
    START_KEY_FITS,
    START_KEY_INCOMPLETE, /* attributes are missing, or there are others */
    START_KEY_MISMATCH,   /* of a wrong type, empty or too long */
};

/* The row key that an ExclusiveStartKey names, if it fits. */
MUST_USE enum start_key range_start_row(struct engine *engine, const struct table *table,
                                        const struct index *index, struct value start_key,
                                        struct arena *arena, struct str *out);
/* Whether a Query that starts there is outside only because of the partition key. */
MUST_USE bool range_fits_sort_key(struct engine *engine, const struct table *table,
                                  const struct index *index, struct key_condition condition,
                                  struct value start_key, struct str row, struct arena *arena);
/* Cuts off what comes up to and including `row`. False: the row lies outside the range. */
MUST_USE bool range_start_after(struct key_range *range, struct str row, bool backward,
                                struct arena *arena);

#endif
