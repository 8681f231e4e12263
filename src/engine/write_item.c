/* Evaluates one write of a call, in three steps: decides whether it may happen and computes the new
 * item; adds everything that changes (the item, its index entries, its records) to the batch; adds
 * to the size of the item collection. Called by write.c inside of evals, on the committer; the
 * first step also by write_prepare(), on another thread of the store. */
#include "engine/backfill_scan.h"
#include "engine/expiry.h"
#include "engine/feed_internal.h"
#include "engine/history.h"
#include "engine/write_internal.h"
#include "err/messages.h"

static void keep_old(struct item_write *write, struct value item, struct arena *arena)
{
    if (!value_is_absent(item)) {
        struct str copy = arena_copy(arena, str_make(item.data, item.len));
        write->old_item = (struct value){(const uint8_t *)copy.data, copy.len};
    }
}

/* A failed condition costs the same capacity as a write of the existing item. */
static bool check_condition(struct item_write *write, const struct row *old, struct arena *arena)
{
    if (write->condition == NULL || condition_holds(write->condition, old->item)) {
        return true;
    }
    if (write->want_old_on_failure) {
        keep_old(write, old->item, arena);
    }
    write->capacity.table = capacity_write_units(old->size);
    return err_set(&write->err, ERR_CONDITIONAL_CHECK_FAILED, MESSAGE_CONDITION_FAILED);
}

/* UpdateItem charges its actions on top of the item: see docs/internals/decisions.md. */
static bool check_updated_size(struct item_write *write)
{
    size_t charged = write->new_size;
    size_t overhead =
        write->flat_size || write->update == NULL ? 0 : update_overhead(write->update);
    if (overhead > 0) {
        charged = MAX(charged, write->new_size - item_size(write->key_value) + 3 + overhead);
    }
    size_t local =
        write->table->local_count > 0 ? index_local_size(write->table, write->new_item) : 0;
    if (charged > ITEM_BYTES_MAX || write->new_size + local > ITEM_BYTES_MAX) {
        return err_set(&write->err, ERR_VALIDATION, MESSAGE_UPDATED_ITEM_SIZE);
    }
    return true;
}

/* Index keys are checked before the size, and both before the item is written, if the size is then
 * known to be too large: an update may ask for many times the largest item. */
static bool apply_update(struct item_write *write, const struct row *old, struct arena *arena)
{
    struct update_result result;
    if (!update_eval(write->update, old->item, write->key_value, arena, &result, &write->err)) {
        return false;
    }
    if (result.too_large) {
        return item_check_changed_index_keys(write, old->item, &result) &&
               err_set(&write->err, ERR_VALIDATION, MESSAGE_UPDATED_ITEM_SIZE);
    }
    write->new_item = update_write(&result, arena);
    return true;
}

static bool make_new_item(struct item_write *write, const struct row *old, struct arena *arena)
{
    switch (write->kind) {
    case WRITE_PUT:
        write->new_item = write->item;
        write->new_size = write->item_size;
        return true;
    case WRITE_DELETE:
        return true;
    case WRITE_CHECK:
        write->new_item = old->item;
        write->new_size = old->size;
        return true;
    case WRITE_UPDATE:
        break;
    }
    if (write->update == NULL) { /* only the key was given */
        write->new_item = value_is_absent(old->item) ? write->key_value : old->item;
    } else if (!apply_update(write, old, arena)) {
        return false;
    }
    if (value_is_absent(write->new_item)) { /* there is no item, and the update creates none */
        return true;
    }
    write->new_size = item_size(write->new_item);
    return item_check_changed_index_keys(write, old->item, NULL) && check_updated_size(write);
}

/* Whether two rows of different spaces belong to the same partition key. */
static bool is_same_part(struct str a, struct str b)
{
    return memcmp(a.data + STORE_SPACE_LEN, b.data + STORE_SPACE_LEN, STORE_PART_LEN) == 0;
}

/* The write units of changing the entry of an item: of its deletion and its insertion, if it moved.
 */
static double entry_units(const struct index_entry *before, const struct index_entry *after,
                          bool moved)
{
    double deleted = str_is_null(before->key) ? 0 : capacity_write_units(before->size);
    double inserted = str_is_null(after->key) ? 0 : capacity_write_units(after->size);
    return moved ? deleted + inserted : MAX(deleted, inserted);
}

/* Updates one index; returns by how many bytes it grew. */
static int64_t write_index(const struct evaluation *evaluation, size_t number,
                           const struct index_entry *before, const struct index_entry *after)
{
    struct item_write *write = evaluation->write;
    struct store_batch *batch = evaluation->batch;
    const struct index *index = &write->table->indexes[number];
    bool had = !str_is_null(before->key);
    bool has = !str_is_null(after->key);
    bool moved = had && has && !str_eq(before->key, after->key);
    assert(!had || store_key_space(before->key) == index->space);
    assert(!has || store_key_space(after->key) == index->space);
    assert(!has || index->kind != INDEX_LOCAL || is_same_part(after->key, write->key.row));
    if ((!had && !has) || (had && has && !moved && str_eq(before->row, after->row))) {
        return 0;
    }
    capacity_add_index(&write->capacity, number, entry_units(before, after, moved));
    if (had && (!has || moved)) {
        store_batch_erase_owned(batch, before->key);
    }
    if (has) {
        store_batch_put_owned(batch, after->key, after->row);
    }
    int64_t grown = (int64_t)(has ? after->size : 0) - (int64_t)(had ? before->size : 0);
    space_count(batch, evaluation->arena, index->space, (int64_t)has - (int64_t)had, grown);
    return grown;
}

/* Whether the index has an entry of the old item. */
static bool is_indexed(const struct evaluation *evaluation, const struct index *index)
{
    const struct items_write *call = evaluation->call;
    return index->status != STATUS_CREATING ||
           backfill_scan_has(call->rows[write_cursor(call, index->space)->key],
                             evaluation->write->key.row, evaluation->old.table_version,
                             index->since_version);
}

/* Updates all indexes; returns by how many bytes the local ones grew. */
static int64_t write_indexes(const struct evaluation *evaluation, struct str new_row)
{
    const struct engine *engine = evaluation->call->call.engine;
    struct item_write *write = evaluation->write;
    struct arena *arena = evaluation->arena;
    int64_t local_growth = 0;
    for (size_t i = 0; i < write->table->index_count; i++) {
        const struct index *index = &write->table->indexes[i];
        struct value indexed = is_indexed(evaluation, index) ? evaluation->old.item : VALUE_ABSENT;
        struct index_entry before = index_entry_of(engine, write->table, index, &write->key,
                                                   indexed, evaluation->old_row, arena);
        struct index_entry after = index_entry_of(engine, write->table, index, &write->key,
                                                  write->new_item, new_row, arena);
        int64_t grown = write_index(evaluation, i, &before, &after);
        if (index->kind == INDEX_LOCAL) {
            local_growth += grown;
        }
    }
    return local_growth;
}

/* First step. */
bool write_decide(struct item_write *write, const struct row *old, struct arena *arena)
{
    if (!value_is_absent(old->item) && !write->is_internal &&
        !value_eq(value_map_get(old->item, write->table->key.hash[0].name), write->key.hash)) {
        return err_set(&write->err, ERR_INTERNAL, MESSAGE_INTERNAL); /* hashes collided */
    }
    write->old_size = old->size;
    return check_condition(write, old, arena) && make_new_item(write, old, arena);
}

/* Whether the write changes nothing. Then the new item of an update is copied, because it may
 * borrow the old row, which is valid only until eval returns. */
static bool is_unchanged(const struct evaluation *evaluation)
{
    struct item_write *write = evaluation->write;
    if (write->kind == WRITE_CHECK) {
        write->new_item = VALUE_ABSENT;
        return true;
    }
    if (!value_eq(evaluation->old.item, write->new_item)) {
        return false;
    }
    if (write->kind == WRITE_UPDATE && !value_is_absent(write->new_item)) {
        struct str copy =
            arena_copy(evaluation->arena, str_make(write->new_item.data, write->new_item.len));
        write->new_item = (struct value){(const uint8_t *)copy.data, copy.len};
    }
    return true;
}

/* Puts or erases the row of the item. Returns the new row; STR_NULL: it is erased. */
static struct str apply_to_item(const struct evaluation *evaluation)
{
    const struct item_write *write = evaluation->write;
    assert(store_key_space(evaluation->call->update.keys[evaluation->key]) == write->table->space);
    assert(value_is_absent(write->new_item) == (write->new_size == 0));
    assert(write->new_size <= ITEM_BYTES_MAX);
    if (value_is_absent(write->new_item)) {
        store_batch_erase(evaluation->batch, evaluation->key);
        return STR_NULL;
    }
    struct str row =
        row_encode(evaluation->arena, write->new_item, write->new_size, write->table->version);
    store_batch_put(evaluation->batch, evaluation->key, row);
    return row;
}

/* Adds the expiry row of the item, and the records of its change. */
static void write_records(const struct evaluation *evaluation)
{
    const struct items_write *call = evaluation->call;
    const struct item_write *write = evaluation->write;
    const struct row *old = &evaluation->old;
    struct store_batch *batch = evaluation->batch;
    struct arena *arena = evaluation->arena;
    if (write->table->ttl_space != 0) {
        expiry_write(call->call.engine, write, old, batch, arena);
    }
    if (write->table->stream_space != 0) {
        stream_append(call->call.engine, write, old->item, batch, arena);
    }
    if (write->table->feed_space != 0) {
        feed_append(call->call.engine, write, old->item, batch, arena);
    }
    if (write->table->history_space != 0) {
        history_append(write, evaluation->old_row, call->update.time_ns, batch, arena);
    }
}

/* Second step: adds everything that the write changes to the batch. Returns by how many bytes the
 * item collection grows. */
static int64_t apply(const struct evaluation *evaluation)
{
    const struct item_write *write = evaluation->write;
    const struct row *old = &evaluation->old;
    assert(!value_is_absent(write->new_item) || !value_is_absent(old->item));
    struct str new_row = apply_to_item(evaluation);
    int64_t added =
        (int64_t)!value_is_absent(write->new_item) - (int64_t)!value_is_absent(old->item);
    int64_t grown = (int64_t)write->new_size - (int64_t)write->old_size;
    space_count(evaluation->batch, evaluation->arena, write->table->space, added, grown);
    grown += write_indexes(evaluation, new_row);
    write_records(evaluation);
    return grown;
}

/* Third step: adds to the size of the item collection. False: it is too large; write->err says so.
 */
static bool account(const struct evaluation *evaluation, int64_t grown)
{
    struct item_collection *collection = evaluation->collection;
    if (collection == NULL) {
        return true;
    }
    collection->bytes += grown;
    if (grown > 0 && collection->bytes > ITEM_COLLECTION_BYTES_MAX) {
        return err_set(&evaluation->write->err, ERR_ITEM_COLLECTION_SIZE_LIMIT_EXCEEDED,
                       MESSAGE_COLLECTION_SIZE);
    }
    return true;
}

/* Carries out a write after write_decide(). Fails in write->err. */
static bool carry_out(const struct evaluation *evaluation)
{
    struct item_write *write = evaluation->write;
    write->capacity.table = capacity_write_units(MAX(write->old_size, write->new_size));
    if (write->want_old) {
        keep_old(write, evaluation->old.item, evaluation->arena);
    }
    if (is_unchanged(evaluation)) {
        return true;
    }
    return index_check_entry_keys(evaluation->call->call.engine, write, evaluation->old.item,
                                  evaluation->arena) &&
           account(evaluation, apply(evaluation));
}

void write_reset(struct item_write *write, struct arena *arena)
{
    write->err = ERR_INIT(arena);
    write->empty_index_key = false;
    write->old_item = VALUE_ABSENT;
    write->new_item = VALUE_ABSENT;
    write->old_size = 0;
    write->new_size = 0;
    write->capacity = (struct capacity){0};
}

bool write_evaluate(const struct evaluation *evaluation)
{
    const struct items_write *call = evaluation->call;
    struct item_write *write = evaluation->write;
    if (call->update.is_prepared) {
        *write = call->decided[evaluation->key];
        return write->err.code == ERR_NONE && carry_out(evaluation);
    }
    write_reset(write, evaluation->arena);
    if (write->expiry != NULL && !expiry_is_due(call->call.engine, write, evaluation->old.item,
                                                evaluation->batch, evaluation->arena)) {
        write->old_size = evaluation->old.size;
        return true; /* the item was changed or deleted meanwhile */
    }
    return write_decide(write, &evaluation->old, evaluation->arena) && carry_out(evaluation);
}
