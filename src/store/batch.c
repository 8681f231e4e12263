/* Collects the operations of an eval in a struct store_batch. Called by eval functions, on the
 * thread on which the store runs them. */
#include "base/mem.h"
#include "store/batch_internal.h"

void store_batch_start(struct store_batch *batch, const struct store_update *update)
{
    batch->update = update;
    batch->op_count = 0;
}

void store_batch_finish(struct store_batch *batch)
{
    mem_free(batch->ops);
    *batch = (struct store_batch){0};
}

static void add_op(struct store_batch *batch, struct batch_op op)
{
    assert(op.key.len >= STORE_PREFIX_LEN);
    assert(op.key.len <= STORE_KEY_LEN_MAX);
    if (str_is_null(op.value)) {
        op.value = STR(""); /* an empty value is a row; STR_NULL would mean absent */
    }
    if (batch->op_count == batch->op_capacity) {
        batch->op_capacity = MAX(batch->op_capacity * 2, (size_t)64);
        batch->ops = mem_realloc(batch->ops, batch->op_capacity * sizeof(*batch->ops));
    }
    batch->ops[batch->op_count++] = op;
}

static struct str declared(const struct store_batch *batch, size_t index)
{
    assert(index < batch->update->key_count);
    return batch->update->keys[index];
}

void store_batch_put(struct store_batch *batch, size_t index, struct str value)
{
    add_op(batch,
           (struct batch_op){.kind = BATCH_PUT, .key = declared(batch, index), .value = value});
}

void store_batch_erase(struct store_batch *batch, size_t index)
{
    add_op(batch, (struct batch_op){.kind = BATCH_ERASE, .key = declared(batch, index)});
}

void store_batch_put_owned(struct store_batch *batch, struct str key, struct str value)
{
    add_op(batch, (struct batch_op){.kind = BATCH_PUT_OWNED, .key = key, .value = value});
}

void store_batch_erase_owned(struct store_batch *batch, struct str key)
{
    add_op(batch, (struct batch_op){.kind = BATCH_ERASE_OWNED, .key = key});
}

void store_batch_erase_counter(struct store_batch *batch, struct str key)
{
    add_op(batch, (struct batch_op){.kind = BATCH_ERASE_COUNTER, .key = key});
}

void store_batch_add(struct store_batch *batch, struct str key, struct store_count delta)
{
    add_op(batch, (struct batch_op){.kind = BATCH_ADD, .key = key, .delta = delta});
}

void store_batch_append(struct store_batch *batch, struct str prefix, struct str value)
{
    store_batch_append_to_log(batch, prefix, prefix, value);
}

void store_batch_append_to_log(struct store_batch *batch, struct str log, struct str prefix,
                               struct str value)
{
    assert(prefix.len == STORE_PREFIX_LEN);
    assert(log.len == STORE_PREFIX_LEN);
    add_op(batch,
           (struct batch_op){.kind = BATCH_APPEND, .key = prefix, .log = log, .value = value});
}

void store_batch_advance_log(struct store_batch *batch, struct str log, struct str prefix,
                             uint64_t stamp)
{
    assert(prefix.len == STORE_PREFIX_LEN);
    assert(log.len == STORE_PREFIX_LEN);
    add_op(batch,
           (struct batch_op){.kind = BATCH_ADVANCE, .key = prefix, .log = log, .stamp = stamp});
}
