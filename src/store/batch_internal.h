/* store/batch_internal.h: the operations that an eval has added, in order. For stores. */
#ifndef GRAMME_STORE_BATCH_INTERNAL_H
#define GRAMME_STORE_BATCH_INTERNAL_H

#include "store/store.h"

enum batch_op_kind {
    BATCH_PUT,
    BATCH_ERASE,
    BATCH_PUT_OWNED,
    BATCH_ERASE_OWNED,
    BATCH_ADD,
    BATCH_ERASE_COUNTER,
    BATCH_APPEND,
    BATCH_ADVANCE
};

struct batch_op {
    enum batch_op_kind kind;
    struct str key;
    struct str log; /* BATCH_APPEND, BATCH_ADVANCE: identifies the log; `key` is a prefix */
    struct str value;
    struct store_count delta;
    uint64_t stamp; /* BATCH_ADVANCE */
};

struct store_batch {
    const struct store_update *update;
    struct batch_op *ops; /* reused by the next update */
    size_t op_count;
    size_t op_capacity;
};

/* Empties the batch and makes it that of `update`. {0} is a valid empty batch. */
void store_batch_start(struct store_batch *batch, const struct store_update *update);
/* Frees the memory of the batch. */
void store_batch_finish(struct store_batch *batch);

#endif
