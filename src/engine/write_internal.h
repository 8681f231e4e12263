/* engine/write_internal.h: what write.c and write_item.c share. */
#ifndef GRAMME_ENGINE_WRITE_INTERNAL_H
#define GRAMME_ENGINE_WRITE_INTERNAL_H

#include "engine/engine_internal.h"

/* The size of one item collection: a counter that is read and written as a declared row, because
 * a write must be refused when the collection is full. */
struct item_collection {
    size_t key; /* index among the declared keys */
    int64_t bytes;
};

/* The cursor of a backfill scan that fills a space of one of the call's tables: a declared row. */
struct space_cursor {
    uint32_t space;
    size_t key; /* index among the declared keys */
};

/* Returns the cursor of the backfill scan that fills a space; NULL: the call declares none. */
const struct space_cursor *write_cursor(const struct items_write *call, uint32_t space);

/* The evaluation of one write of a call. */
struct evaluation {
    const struct items_write *call;
    struct item_write *write;
    size_t key; /* index of its declared key */
    struct str old_row;
    struct row old;
    struct item_collection *collection; /* or NULL */
    struct store_batch *batch;
    struct arena *arena;
};

/* --- write_item.c --- */

/* Clears the outcome of an earlier evaluation. */
void write_reset(struct item_write *write, struct arena *arena);
/* Decides whether the write may happen, and computes the new item: the part of an evaluation that
 * can be expensive. Fails in write->err. The new item may borrow `old`. */
MUST_USE bool write_decide(struct item_write *write, const struct row *old, struct arena *arena);
/* Evaluates one write: decides, unless write_prepare() has, and adds all changes to the batch.
 * Fails in write->err. */
MUST_USE bool write_evaluate(const struct evaluation *evaluation);

#endif
