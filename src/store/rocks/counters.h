/* store/rocks/counters.h: what counters hold now, so that a group need not read them before it
 * writes them. Right as long as every change goes through here and every group is written; after
 * one that was not, forget all. */
#ifndef GRAMME_STORE_ROCKS_COUNTERS_H
#define GRAMME_STORE_ROCKS_COUNTERS_H

#include "store/store.h"

struct counters;

struct counter {
    struct str key;
    struct store_count value;
    bool changed; /* not yet written */
    bool is_listed;
    struct counter *next_listed;
};

MUST_USE struct counters *counters_create(void);
void counters_destroy(struct counters *counters);

/* NULL: not known. */
MUST_USE struct counter *counters_find(const struct counters *counters, struct str key);
/* `row` is what the store holds, STR_NULL if nothing. */
MUST_USE struct counter *counters_learn(struct counters *counters, struct str key, struct str row);
void counters_add(struct counters *counters, struct counter *counter, struct store_count delta);
/* The row of a key was written in another way; it may be a counter's. */
void counters_replace(struct counters *counters, struct str key, struct str row);

/* Those that may have changed, linked by next_listed. */
MUST_USE struct counter *counters_listed(const struct counters *counters);
/* The changes are written. */
void counters_settle(struct counters *counters);
void counters_forget(struct counters *counters);

#endif
