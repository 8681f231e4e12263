/* Writes items. A call is one update of the store: its declared keys are the rows of its items, the
 * idempotency token, the sizes of the item collections that it changes, and the cursors of indexes
 * that are being filled. write_eval() is a pure function of these rows and runs on the committer,
 * so it should be quick; write_item.c has the evaluation of one item. Conditions and updates can be
 * expensive; the store may run them before on another thread: write_prepare(). */
#include "base/bytes.h"
#include "engine/backfill_scan.h"
#include "engine/expiry.h"
#include "engine/token.h"
#include "engine/write_internal.h"
#include "err/messages.h"

const struct space_cursor *write_cursor(const struct items_write *call, uint32_t space)
{
    for (size_t i = 0; i < call->cursor_count; i++) {
        if (call->cursors[i].space == space) {
            return &call->cursors[i];
        }
    }
    return NULL;
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
    write_reset(write, arena);
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
    if (write_decide(write, &old, arena) && write->kind == WRITE_CHECK) {
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
        if (!write_evaluate(&evaluation)) {
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
            if (table->indexes[k].status == STATUS_CREATING && write_cursor(call, space) == NULL) {
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
