/* store/batch_internal.h: what an eval has asked for, in order, before a store carries it out. */
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
    struct str log; /* BATCH_APPEND, BATCH_ADVANCE: which log; the key is a prefix */
    struct str value;
    struct store_count delta;
    uint64_t stamp; /* BATCH_ADVANCE */
};

struct store_batch {
    const struct store_update *update;
    struct batch_op *ops; /* malloc'ed, kept from one update to the next */
    size_t op_count;
    size_t op_capacity;
};

/* Forgets the operations; the batch is for `update` now. {0} is an empty batch. */
void store_batch_start(struct store_batch *batch, const struct store_update *update);
void store_batch_finish(struct store_batch *batch);

#endif
