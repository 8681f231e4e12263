/* engine/copy.h: copies all rows of a store to another store, of any kind. No engine may use either
 * of them. The cursor is a row of the target, written together with the copied rows:
 *
 *   catalog | "copy" |    version 1, the source's seed (u64, big-endian), the key of the first row
 *                         that is not copied yet
 *
 * It is erased when all rows are copied and compared. A store with this row cannot be served. */
#ifndef GRAMME_ENGINE_COPY_H
#define GRAMME_ENGINE_COPY_H

#include "err/err.h"
#include "store/store.h"

struct copy_progress {
    uint64_t rows; /* copied, or compared, so far */
    uint64_t bytes;
    bool is_comparing;
};

/* A table that was compared. */
struct copy_table {
    struct str name;
    uint64_t items;
    uint64_t rows; /* also those of indexes, streams and so on, like the next */
    uint64_t bytes;
    uint64_t checksum;
};

struct copy_options {
    /* Called now and then, and after the last row; on the caller's thread. */
    void (*progress)(void *context, const struct copy_progress *progress);
    /* Called for each table that is equal in both stores. */
    void (*table)(void *context, const struct copy_table *table);
    void *context;
};

struct copy_result {
    uint64_t rows; /* compared */
    uint64_t bytes;
    uint64_t counters;
    bool was_resumed;
};

/* Copies all rows and counters of `source` to `target`, then reads and compares both. `target` must
 * have the seed of the source, and be empty or the target of a call that was interrupted. Blocks.
 */
MUST_USE bool store_copy(struct store *source, struct store *target,
                         const struct copy_options *options, struct copy_result *out,
                         struct err *err);

/* Whether the store is the target of a copy that was not finished; on failure *err says so. */
MUST_USE bool copy_check_finished(struct store *store, struct err *err);

#endif
