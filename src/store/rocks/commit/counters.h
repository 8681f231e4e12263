/* store/rocks/commit/counters.h: a cache of the values of counters, so that the committer does not
 * read a counter before each write. The cache is valid as long as every change goes through it and
 * every group is written; after a group that failed the committer calls counters_forget(). Only the
 * thread that has the turn to commit calls these functions. */
#ifndef GRAMME_STORE_ROCKS_COMMIT_COUNTERS_H
#define GRAMME_STORE_ROCKS_COMMIT_COUNTERS_H

#include "store/store.h"

struct counters;

struct counter {
    struct str key;
    struct store_count value;
    bool changed; /* and not written yet */
    bool is_listed;
    struct counter *next_listed;
};

/* Creates an empty cache. */
MUST_USE struct counters *counters_create(void);
/* Frees the cache. */
void counters_destroy(struct counters *counters);

/* Finds a counter by key; NULL: it is not in the cache. */
MUST_USE struct counter *counters_find(const struct counters *counters, struct str key);
/* Adds a counter to the cache; `row` is its row in the database, STR_NULL if absent. */
MUST_USE struct counter *counters_learn(struct counters *counters, struct str key, struct str row);
/* Adds to the value of a counter, and marks it as changed. */
void counters_add(struct counters *counters, struct counter *counter, struct store_count delta);
/* A row was put or erased directly: sets the value if the key is that of a cached counter. */
void counters_replace(struct counters *counters, struct str key, struct str row);

/* Returns the counters that may have changed, linked by next_listed. */
MUST_USE struct counter *counters_listed(const struct counters *counters);
/* The group was written: no counter is changed any more. */
void counters_settle(struct counters *counters);
/* Empties the cache. */
void counters_forget(struct counters *counters);

#endif
