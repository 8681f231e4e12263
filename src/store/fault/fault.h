/* store/fault/fault.h: a store that wraps another one and lets chosen calls fail, for tests. */
#ifndef GRAMME_STORE_FAULT_FAULT_H
#define GRAMME_STORE_FAULT_FAULT_H

#include "store/store.h"

enum fault_kind {
    FAULT_GET,           /* STORE_FAILED */
    FAULT_RANGE,         /* STORE_FAILED before the first row */
    FAULT_RANGE_BAD,     /* the same with is_unreadable, as if the first row was in a bad block */
    FAULT_RANGE_MIDDLE,  /* STORE_FAILED after the first row, if there is one */
    FAULT_UPDATE_BEFORE, /* STORE_FAILED; eval does not run */
    FAULT_UPDATE_AFTER,  /* written, but the status is STORE_UNKNOWN */
    FAULT_UPDATE_LOST,   /* not written, but the status is STORE_UNKNOWN; eval does not run */
    FAULT_EVAL_TWICE,    /* not a failure: eval runs once more than needed */
    FAULT_KIND_COUNT
};

/* Wraps `inner` and takes ownership of it: store_close() of the new store closes both. */
MUST_USE struct store *fault_create(struct store *inner);

/* Lets the nth call from now fail; 1 is the next one, 0 cancels. */
void fault_nth(struct store *store, enum fault_kind kind, uint64_t nth);
/* Lets every nth call fail from now on; 0 cancels. */
void fault_every(struct store *store, enum fault_kind kind, uint64_t nth);
/* Returns how many faults of a kind have happened. */
MUST_USE uint64_t fault_count(const struct store *store, enum fault_kind kind);

#endif
