/* store/fault/fault.h: a store around another one that lets chosen calls fail, for tests. */
#ifndef GRAMME_STORE_FAULT_FAULT_H
#define GRAMME_STORE_FAULT_FAULT_H

#include "store/store.h"

enum fault_kind {
    FAULT_GET,           /* STORE_FAILED */
    FAULT_RANGE,         /* STORE_FAILED before the first row */
    FAULT_RANGE_MIDDLE,  /* STORE_FAILED after the first row, if there is one */
    FAULT_UPDATE_BEFORE, /* STORE_FAILED; eval does not run */
    FAULT_UPDATE_AFTER,  /* written, but answered with STORE_UNKNOWN */
    FAULT_EVAL_TWICE,    /* no failure: eval runs once more than it has to */
    FAULT_KIND_COUNT
};

/* Takes over `inner`: closing the new store closes it. */
MUST_USE struct store *fault_create(struct store *inner);

/* Plans for one kind: the nth call from now (1 is the next), or every nth. 0: none any more. */
void fault_nth(struct store *store, enum fault_kind kind, uint64_t nth);
void fault_every(struct store *store, enum fault_kind kind, uint64_t nth);
/* How many faults of the kind have happened. */
MUST_USE uint64_t fault_count(const struct store *store, enum fault_kind kind);

#endif
