/* Adds an update to the group: evaluates it, then carries out the operations of its batch on the
 * counters, on the overlay and on the RocksDB batch of the group. Nothing is visible or durable
 * before group_commit.c writes the group. With the turn to commit. */
#include "base/bytes.h"
#include "base/clock.h"
#include "store/rocks/commit/commit_group.h"
#include "store/rocks/reads/reads.h"

/* Reads a counter that is not in the cache. NULL: it cannot be read. */
static struct counter *read_counter(struct rocks_group *group, struct str key)
{
    struct str row;
    rocksdb_pinnableslice_t *pin;
    if (rocks_group_read(group, key, TIER_BLOCKING, &row, &pin) != READ_OK) {
        return NULL;
    }
    struct counter *counter = counters_learn(group->counters, key, row);
    if (pin != NULL) {
        rocksdb_pinnableslice_destroy(pin);
    }
    return counter;
}

/* Whether the operation is discarded, because its space was dropped. */
static bool is_discarded(const struct rocks_group *group, const struct batch_op *op)
{
    return UNLIKELY(space_set_has(&group->rocks->gone, store_key_space(op->key)));
}

/* False: the counter cannot be read. */
static bool add_to_counter(struct rocks_group *group, struct str key, struct store_count delta)
{
    struct counter *counter = counters_find(group->counters, key);
    if (UNLIKELY(counter == NULL)) {
        counter = read_counter(group, key);
    }
    if (LIKELY(counter != NULL)) {
        counters_add(group->counters, counter, delta);
    }
    return counter != NULL;
}

/* Subtracts what the first `count` operations of the batch have added. */
static void undo_adds(struct rocks_group *group, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct batch_op *op = &group->batch.ops[i];
        if (op->kind == BATCH_ADD && !is_discarded(group, op)) {
            struct store_count delta = {.count = -op->delta.count, .bytes = -op->delta.bytes};
            bool is_known = add_to_counter(group, op->key, delta);
            assert(is_known);
        }
    }
}

/* Carries out the additions to counters, before anything else of the update: a counter whose row
 * cannot be read fails the update, and no other one of the group. No update adds to a counter that
 * it writes otherwise, so the order does not matter. */
static bool add_to_counters(struct rocks_group *group)
{
    for (size_t i = 0; i < group->batch.op_count; i++) {
        const struct batch_op *op = &group->batch.ops[i];
        if (op->kind == BATCH_ADD && !is_discarded(group, op) &&
            UNLIKELY(!add_to_counter(group, op->key, op->delta))) {
            undo_adds(group, i);
            return false;
        }
    }
    return true;
}

static void append(struct rocks_group *group, struct str prefix, struct str value)
{
    char key[STORE_PREFIX_LEN + 8];
    memcpy(key, prefix.data, STORE_PREFIX_LEN);
    uint64_t stamp = ++group->rocks->last_stamp;
    assert(stamp != 0); /* it has not wrapped around: stamps only grow */
    put_u64_be(key + STORE_PREFIX_LEN, stamp);
    rocksdb_writebatch_put(group->writes, key, sizeof(key), value.data, value.len);
    group->stamped = true;
}

static void carry_out(struct rocks_group *group, const struct batch_op *op)
{
    if (op->kind == BATCH_ADD || is_discarded(group, op)) {
        return; /* add_to_counters() has added */
    }
    switch (op->kind) {
    case BATCH_PUT:
    case BATCH_PUT_OWNED:
        preparations_note_write(&group->preparations, op->key);
        overlay_set(group->newest, op->key, op->value);
        counters_replace(group->counters, op->key, op->value);
        rocksdb_writebatch_put(group->writes, op->key.data, op->key.len, op->value.data,
                               op->value.len);
        break;
    case BATCH_ERASE:
    case BATCH_ERASE_OWNED:
    case BATCH_ERASE_COUNTER:
        preparations_note_write(&group->preparations, op->key);
        overlay_set(group->newest, op->key, STR_NULL);
        counters_replace(group->counters, op->key, STR_NULL);
        rocksdb_writebatch_delete(group->writes, op->key.data, op->key.len);
        break;
    case BATCH_ADD:
        break;
    case BATCH_APPEND:
        append(group, op->key, op->value);
        break;
    case BATCH_ADVANCE:
        /* A single process appends in the order of prefixes, so only the stamp must be moved. */
        group->stamped = group->stamped || op->stamp > group->rocks->last_stamp;
        group->rocks->last_stamp = MAX(group->rocks->last_stamp, op->stamp);
        break;
    }
}

enum evaluation rocks_group_join(struct rocks_group *group, struct store_update *update,
                                 enum tier tier)
{
    enum evaluation evaluation = rocks_group_evaluate(group, update, tier);
    if (evaluation != EVALUATED) {
        return evaluation;
    }
    assert(group->member_count < GROUP_UPDATES_MAX);
    group->members[group->member_count++] = update;
    if (reserve_is_released(&group->rocks->reserve) && update->status == STORE_OK &&
        !reserve_accepts(&group->rocks->reserve, update, &group->batch)) {
        update->status = STORE_FAILED;
    }
    if (update->status == STORE_OK && UNLIKELY(!add_to_counters(group))) {
        update->status = STORE_FAILED;
    }
    if (update->status == STORE_OK) {
        for (size_t i = 0; i < group->batch.op_count; i++) {
            carry_out(group, &group->batch.ops[i]);
        }
    }
    return EVALUATED;
}

enum evaluation rocks_group_join_with_disk(struct rocks_group *group, struct store_update *update)
{
    struct read_speed *speed = &group->rocks->read_speed;
    if (!read_speed_is_quick(speed)) {
        return NEEDS_DISK;
    }
    int64_t start_ns = clock_monotonic_ns();
    enum evaluation evaluation = rocks_group_join(group, update, TIER_BLOCKING);
    read_speed_note(speed, clock_monotonic_ns() - start_ns);
    return evaluation;
}

void rocks_group_join_in_any_case(struct rocks_group *group, struct store_update *update)
{
    update->is_prepared = false;
    group->must_evaluate = true;
    enum evaluation evaluation = rocks_group_join(group, update, TIER_BLOCKING);
    group->must_evaluate = false;
    assert(evaluation == EVALUATED);
}
