/* engine/copy.h: copies everything from one store to another, of any kind. No engine runs on either
 * of them. How far it has come is a row of the target, written with the rows themselves:
 *
 *   catalog | "copy" |    version 1, the source's seed (u64, big-endian), the key of the first row
 *                         that is not yet copied
 *
 * It is erased when everything is copied and compared. A store with this row cannot be served. */
#ifndef GRAMME_ENGINE_COPY_H
#define GRAMME_ENGINE_COPY_H

#include "err/err.h"
#include "store/store.h"

struct copy_progress {
    uint64_t rows; /* copied, or compared, so far */
    uint64_t bytes;
    bool is_comparing;
};

struct copy_options {
    /* Called now and then, and after the last row; on the caller's thread. */
    void (*progress)(void *context, const struct copy_progress *progress);
    void *context;
};

struct copy_result {
    uint64_t rows; /* compared */
    uint64_t bytes;
    uint64_t counters;
    bool was_resumed;
};

/* Copies all rows and counters of `source` to `target`, which must be empty, or the target of an
 * earlier call that was interrupted, and have the source's seed; then reads both and compares.
 * Waits for the stores. */
MUST_USE bool store_copy(struct store *source, struct store *target,
                         const struct copy_options *options, struct copy_result *out,
                         struct err *err);

/* Whether the store is the target of a copy that was not finished; on failure *err says so. */
MUST_USE bool copy_check_finished(struct store *store, struct err *err);

#endif
