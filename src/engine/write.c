/* Writes items. A call is one update of the store: its declared keys are the rows of its items, the
 * idempotency token, the sizes of the item collections that it changes, and the cursors of indexes
 * that are being filled. write_eval() is a pure function of these rows and runs on the committer,
 * so it should be quick. Conditions and updates can be expensive; the store may run them before on
 * another thread: write_prepare(). */
#include "base/bytes.h"
#include "base/clock.h"
#include "engine/backfill_scan.h"
#include "engine/engine_internal.h"
#include "engine/expiry.h"
#include "engine/feed_internal.h"
#include "engine/history.h"
#include "engine/token.h"
#include "err/messages.h"

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

static struct space_cursor *cursor_of(const struct items_write *call, uint32_t space)
{
    for (size_t i = 0; i < call->cursor_count; i++) {
        if (call->cursors[i].space == space) {
            return &call->cursors[i];
        }
    }
    return NULL;
}

/* --- one item --- */

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
           backfill_scan_has(call->rows[cursor_of(call, index->space)->key],
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

/* First step, which can be expensive: decides whether the write may happen, and computes the new
 * item. Fails in write->err. */
static bool decide(struct item_write *write, const struct row *old, struct arena *arena)
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

/* Carries out a write after decide(). Fails in write->err. */
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

static void reset(struct item_write *write, struct arena *arena)
{
    write->err = ERR_INIT(arena);
    write->empty_index_key = false;
    write->old_item = VALUE_ABSENT;
    write->new_item = VALUE_ABSENT;
    write->old_size = 0;
    write->new_size = 0;
    write->capacity = (struct capacity){0};
}

/* Evaluates one write: decides, unless write_prepare() has, and adds what changes to the batch. */
static bool evaluate(const struct evaluation *evaluation)
{
    const struct items_write *call = evaluation->call;
    struct item_write *write = evaluation->write;
    if (call->update.is_prepared) {
        *write = call->decided[evaluation->key];
        return write->err.code == ERR_NONE && carry_out(evaluation);
    }
    reset(write, evaluation->arena);
    if (write->expiry != NULL && !expiry_is_due(call->call.engine, write, evaluation->old.item,
                                                evaluation->batch, evaluation->arena)) {
        write->old_size = evaluation->old.size;
        return true; /* the item was changed or deleted meanwhile */
    }
    return decide(write, &evaluation->old, evaluation->arena) && carry_out(evaluation);
}

/* --- item collections --- */

static struct str collection_key(const struct item_write *write, struct arena *arena)
{
    struct key_writer writer;
    key_start(&writer, arena, write->table->collection_space);
    key_add_bytes(&writer, str_make(write->key.row.data + KEY_SPACE_LEN, KEY_HASH_LEN));
    return key_finish(&writer);
}

/* The collection of a write among those of the call, or NULL. */
static struct item_collection *collection_of(struct items_write *call,
                                             const struct item_write *write)
{
    if (write->table->local_count == 0) {
        return NULL;
    }
    struct str part = str_make(write->key.row.data + KEY_SPACE_LEN, KEY_HASH_LEN);
    for (size_t i = 0; i < call->collection_count; i++) {
        struct str key = call->update.keys[call->collections[i].key];
        if (store_key_space(key) == write->table->collection_space &&
            str_eq(str_skip(key, KEY_SPACE_LEN), part)) {
            return &call->collections[i];
        }
    }
    return NULL;
}

/* Returns the size in the row of an item collection; 0 if it is absent. */
static int64_t collection_bytes(struct str row)
{
    assert(str_is_null(row) || row.len == 8);
    return str_is_null(row) ? 0 : (int64_t)get_u64_le(row.data);
}

static void put_collections(struct items_write *call, struct store_batch *batch,
                            const struct str *rows)
{
    for (size_t i = 0; i < call->collection_count; i++) {
        struct item_collection *collection = &call->collections[i];
        assert(collection->key < call->update.key_count);
        if (collection->bytes == collection_bytes(rows[collection->key])) {
            continue;
        }
        if (collection->bytes == 0) {
            store_batch_erase(batch, collection->key);
            continue;
        }
        char *value = arena_bytes(call->call.arena, 8);
        put_u64_le(value, (uint64_t)collection->bytes);
        store_batch_put(batch, collection->key, str_make(value, 8));
    }
}

/* False: the row of the token decides the call: it is a replay, or another request used the
 * token. */
static bool check_token(struct items_write *call, struct str row)
{
    struct str note;
    call->replayed = false;
    switch (
        token_check(row, call->token_digest, trusted_clock_ms(&call->call.engine->clock), &note)) {
    case TOKEN_FRESH:
        return true;
    case TOKEN_MISMATCH:
        return err_set(&call->call.err, ERR_IDEMPOTENT_PARAMETER_MISMATCH, "%s", "");
    case TOKEN_REPLAY:
        break;
    }
    call->replayed = true;
    call->replay_note = arena_copy(call->call.arena, note);
    return false;
}

/* --- preparing --- */

static void begin_preparing(struct items_write *call)
{
    struct arena *arena = call->call.arena;
    if (call->kept_rows == NULL) {
        call->kept_rows = ARENA_ARRAY(arena, struct str, call->update.key_count);
        call->decided = ARENA_ARRAY(arena, struct item_write, call->write_count);
        call->prepared_mark = arena_mark(arena);
    }
    /* frees the results of an earlier attempt that was discarded */
    arena_rewind(arena, call->prepared_mark);
    call->table_is_newer = false;
}

/* Keeps the row for write_eval(); a ConditionCheck needs only what was decided. When there is no
 * memory for the call nothing more is kept: write_eval() then fails. */
static void prepare_write(struct items_write *call, size_t index, struct str row)
{
    struct arena *arena = call->call.arena;
    struct item_write *write = &call->decided[index];
    *write = call->writes[index];
    reset(write, arena);
    if (arena_is_over_budget(arena)) {
        call->kept_rows[index] = STR_NULL;
        return;
    }
    if (write->kind != WRITE_CHECK && !str_is_null(row)) {
        row = arena_copy(arena, row);
    }
    struct row old = row_decode(row);
    call->table_is_newer |= old.table_version > write->table->version;
    call->kept_rows[index] = write->kind == WRITE_CHECK ? STR_NULL : row;
    if (decide(write, &old, arena) && write->kind == WRITE_CHECK) {
        write->new_item = VALUE_ABSENT; /* it is in the row */
    }
}

static void write_prepare(struct store_update *update, size_t index, struct str row)
{
    struct items_write *call = CONTAINER_OF(update, struct items_write, update);
    if (index == 0) {
        begin_preparing(call);
    }
    if (index < call->write_count) {
        prepare_write(call, index, row);
    } else {
        call->kept_rows[index] = str_is_null(row) ? STR_NULL : arena_copy(call->call.arena, row);
    }
}

/* Of the most expensive write. */
static size_t write_weight(const struct items_write *call)
{
    size_t most = 1;
    for (size_t i = 0; i < call->write_count; i++) {
        const struct item_write *write = &call->writes[i];
        size_t weight = 1;
        weight += write->condition != NULL ? condition_weight(write->condition) : 0;
        weight += write->update != NULL ? update_weight(write->update) : 0;
        most = MAX(most, weight);
    }
    return most;
}

/* --- the call --- */

static bool has_newer_table(const struct items_write *call, size_t index)
{
    return call->update.is_prepared
               ? call->table_is_newer
               : row_decode(call->rows[index]).table_version > call->writes[index].table->version;
}

/* Evaluates all writes of the call. False: call->call.err is set, or a write has failed. */
static bool evaluate_all(struct items_write *call, struct store_batch *batch)
{
    struct arena *arena = call->call.arena;
    for (size_t i = 0; i < call->write_count; i++) {
        struct item_write *write = &call->writes[i];
        if (has_newer_table(call, i)) {
            return err_set(&call->call.err, ERR_TABLE_CHANGED, MESSAGE_TABLE_CHANGED);
        }
        struct evaluation evaluation = {.call = call,
                                        .write = write,
                                        .key = i,
                                        .old_row = call->rows[i],
                                        .old = row_decode(call->rows[i]),
                                        .collection = collection_of(call, write),
                                        .batch = batch,
                                        .arena = arena};
        if (!evaluate(&evaluation)) {
            call->failed = true;
        }
        write->collection_bytes = evaluation.collection == NULL ? 0 : evaluation.collection->bytes;
        if (arena_is_over_budget(arena)) {
            return err_set_over_budget(&call->call.err, arena->budget);
        }
    }
    return !call->failed;
}

static void remember_token(struct items_write *call, struct store_batch *batch)
{
    struct str note = call->note == NULL ? STR("") : call->note(call);
    token_remember(&call->update, batch, call->token_key, call->token_digest, note,
                   trusted_clock_ms(&call->call.engine->clock));
}

static bool write_eval(struct store_update *update, const struct str *rows,
                       struct store_batch *batch)
{
    struct items_write *call = CONTAINER_OF(update, struct items_write, update);
    struct arena *arena = call->call.arena;
    call->failed = false;
    call->call.err = ERR_INIT(arena);
    if (arena_is_over_budget(arena)) {
        return err_set_over_budget(&call->call.err, arena->budget);
    }
    call->rows = update->is_prepared ? call->kept_rows : rows;
    if (call->token_key != SIZE_MAX && !check_token(call, call->rows[call->token_key])) {
        return false;
    }
    for (size_t i = 0; i < call->collection_count; i++) {
        call->collections[i].bytes = collection_bytes(call->rows[call->collections[i].key]);
    }
    expiry_erase_found(call, batch);
    if (!evaluate_all(call, batch)) {
        return false;
    }
    put_collections(call, batch, call->rows);
    if (call->token_key != SIZE_MAX) {
        remember_token(call, batch);
    }
    return true;
}

static void write_done(struct store_update *update)
{
    struct items_write *call = CONTAINER_OF(update, struct items_write, update);
    struct items_write *next = call->next;
    engine_set_store_error(&call->call.err, update->status);
    call->call.done(&call->call);
    if (next != NULL) {
        store_update(next->call.engine->store, &next->update);
    }
}

/* Declares the cursors of indexes that are being filled: at most one of each table. */
static size_t declare_cursors(struct items_write *call, struct str *keys, size_t count)
{
    struct arena *arena = call->call.arena;
    call->cursor_count = 0;
    call->cursors = ARENA_ARRAY(arena, struct space_cursor, call->write_count);
    for (size_t i = 0; i < call->write_count; i++) {
        const struct table *table = call->writes[i].table;
        for (size_t k = 0; k < table->index_count; k++) {
            uint32_t space = table->indexes[k].space;
            if (table->indexes[k].status == STATUS_CREATING && cursor_of(call, space) == NULL) {
                call->cursors[call->cursor_count++] =
                    (struct space_cursor){.space = space, .key = count};
                keys[count++] = backfill_scan_cursor_key(arena, space);
            }
        }
    }
    return count;
}

static bool keeps_history(const struct items_write *call)
{
    for (size_t i = 0; i < call->write_count; i++) {
        if (call->writes[i].table->history_space != 0) {
            return true;
        }
    }
    return false;
}

/* Whether the call deletes items, and writes none. */
static bool only_deletes(const struct items_write *call)
{
    bool deletes = false;
    for (size_t i = 0; i < call->write_count; i++) {
        enum write_kind kind = call->writes[i].kind;
        if (kind != WRITE_DELETE && kind != WRITE_CHECK) {
            return false;
        }
        deletes = deletes || kind == WRITE_DELETE;
    }
    return deletes;
}

/* Declares the sizes of the item collections, each one once. */
static size_t declare_collections(struct items_write *call, struct str *keys, size_t count)
{
    struct arena *arena = call->call.arena;
    call->collection_count = 0;
    call->collections = ARENA_ARRAY(arena, struct item_collection, call->write_count);
    for (size_t i = 0; i < call->write_count; i++) {
        struct item_write *write = &call->writes[i];
        if (write->table->local_count > 0 && collection_of(call, write) == NULL) {
            keys[count] = collection_key(write, arena);
            call->collections[call->collection_count++].key = count++;
        }
    }
    return count;
}

static void declare(struct items_write *call)
{
    struct arena *arena = call->call.arena;
    /* Each write has its item, and perhaps an item collection and a cursor; and there is a token.
     */
    struct str *keys = ARENA_ARRAY(arena, struct str, 3 * call->write_count + 1);
    size_t count = 0;
    for (; count < call->write_count; count++) {
        keys[count] = call->writes[count].key.row;
    }
    call->token_key = SIZE_MAX;
    if (!str_is_null(call->token)) {
        call->token_key = count;
        keys[count++] = token_key(call->call.engine, call->token, arena);
    }
    call->update = (struct store_update){
        .keys = keys,
        .arena = arena,
        .home = call->call.home,
        .eval = write_eval,
        .done = write_done,
        .weight = write_weight(call),
        .wants_time = keeps_history(call),
        .frees = only_deletes(call) ? STORE_FREES_ROWS : STORE_FREES_NOTHING,
    };
    call->kept_rows = NULL;
    call->next = NULL;
    count = declare_collections(call, keys, count);
    call->update.key_count = declare_cursors(call, keys, count);
}

/* Whether some call may be too expensive for the committer. */
static bool is_some_expensive(struct items_write *const *calls, size_t count)
{
    enum { WEIGHT_MAX = 10 };
    size_t weight = 0;
    for (size_t i = 0; i < count; i++) {
        weight = MAX(weight, calls[i]->update.weight);
    }
    return weight > WEIGHT_MAX;
}

/* Calls that share an arena must not be prepared while another one uses it: each is started when
 * the one before it is done. */
static void write_in_turn(struct items_write *const *calls, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        calls[i]->update.prepare = write_prepare;
        calls[i]->next = i + 1 < count ? calls[i + 1] : NULL;
    }
    store_update(calls[0]->call.engine->store, &calls[0]->update);
}

/* Deletions of expired items and puts of restores have no conditions to prepare. */
static bool is_internal(const struct items_write *call)
{
    return call->write_count == 0 || call->writes[0].is_internal;
}

void engine_write_items(struct items_write *const *calls, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        declare(calls[i]);
    }
    if (count > 1 && is_some_expensive(calls, count)) {
        write_in_turn(calls, count);
        return;
    }
    struct store *store = calls[0]->call.engine->store;
    if (count == 1) {
        calls[0]->update.prepare = is_internal(calls[0]) ? NULL : write_prepare;
        store_update(store, &calls[0]->update);
        return;
    }
    struct store_update **updates = ARENA_ARRAY(calls[0]->call.arena, struct store_update *, count);
    for (size_t i = 0; i < count; i++) {
        updates[i] = &calls[i]->update;
    }
    store_update_all(store, updates, count); /* from here on the arena is the store's */
}
