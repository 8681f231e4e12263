/* Functions for the thread that runs exports: takes an export over, stores its progress, finds the
 * items to read, and ends it. All functions wait for the store, on that thread. */
#include "base/bytes.h"
#include "engine/backup_internal.h"
#include "engine/engine_internal.h"
#include "engine/export_internal.h"

enum { FILES_AT_ONCE = 512 };

bool export_list_waiting(struct background *background, struct export_list *list)
{
    struct background_wait wait;
    list->call = background_call(background, list->call.arena, &wait);
    engine_list_exports(list);
    background_wait_for(background, &wait);
    return list->call.err.code == ERR_NONE;
}

/* --- changing the row --- */

static struct str file_key(struct arena *arena, struct str row_name, uint32_t number)
{
    struct str id = backup_id(row_name);
    char *sort = arena_bytes(arena, id.len + 4);
    memcpy(sort, id.data, id.len);
    put_u32_be(sort + id.len, number);
    return catalog_key(arena, "export-file", str_make(sort, id.len + 4));
}

struct export_change {
    struct background_update update;
    struct str key;
    struct str row_name;
    const struct export *wanted; /* NULL: only `attempt` is incremented */
    struct str file;             /* or STR_NULL */
    struct export *out;
    bool is_taken;
};

static bool change_eval(struct store_update *update, const struct str *rows,
                        struct store_batch *batch)
{
    struct export_change *change = CONTAINER_OF(update, struct export_change, update.update);
    struct arena *arena = update->arena;
    struct err err = ERR_INIT(arena);
    struct export export;
    change->is_taken = str_is_null(rows[0]) || !export_decode(arena, rows[0], &export, &err) ||
                       export.state != EXPORT_IN_PROGRESS ||
                       (change->wanted != NULL && change->wanted->attempt != export.attempt);
    if (change->is_taken) {
        return false;
    }
    if (change->wanted != NULL) {
        export = *change->wanted;
    } else {
        export.attempt++;
        *change->out = export;
    }
    store_batch_put(batch, 0, export_encode(arena, &export));
    if (!str_is_null(change->file)) {
        store_batch_put_owned(batch, file_key(arena, change->row_name, export.file_count - 1),
                              change->file);
    }
    return true;
}

static enum export_result run_change(struct background *background, struct arena *arena,
                                     struct export_change *change)
{
    change->key = export_key(arena, change->row_name);
    change->update.update = (struct store_update){
        .keys = &change->key,
        .key_count = 1,
        .arena = arena,
        .eval = change_eval,
    };
    enum store_status status = background_update(background, &change->update);
    return status == STORE_OK                             ? EXPORT_RESULT_OK
           : status == STORE_NO_WRITE && change->is_taken ? EXPORT_RESULT_TAKEN
                                                          : EXPORT_RESULT_FAILED;
}

enum export_result export_begin(struct background *background, struct arena *arena,
                                struct str row_name, struct export *out)
{
    struct export_change change = {.row_name = row_name, .out = out};
    return run_change(background, arena, &change);
}

enum export_result export_update(struct background *background, struct arena *arena,
                                 struct str row_name, const struct export *export, struct str file)
{
    struct export_change change = {.row_name = row_name, .wanted = export, .file = file};
    return run_change(background, arena, &change);
}

/* --- the lines of data files --- */

struct files_read {
    struct background_range range;
    struct buf *out;
    struct str *keys; /* of erasing */
    size_t key_count;
};

static bool add_line(struct store_range *range, struct str key, struct str value)
{
    (void)key;
    buf_add(CONTAINER_OF(range, struct files_read, range.range)->out, value);
    return true;
}

static void set_files_range(struct files_read *read, struct arena *arena, struct str row_name,
                            bool (*row)(struct store_range *, struct str, struct str))
{
    struct str prefix = catalog_key(arena, "export-file", backup_id(row_name));
    read->range.range = (struct store_range){
        .lo = prefix,
        .hi = key_after_prefix(arena, prefix),
        .arena = arena,
        .row = row,
    };
}

bool export_read_files(struct background *background, struct arena *arena, struct str row_name,
                       struct buf *out)
{
    struct files_read read = {.out = out};
    set_files_range(&read, arena, row_name, add_line);
    return background_range(background, &read.range) == STORE_OK;
}

static bool collect_key(struct store_range *range, struct str key, struct str value)
{
    (void)value;
    struct files_read *read = CONTAINER_OF(range, struct files_read, range.range);
    read->keys[read->key_count++] = arena_copy(range->arena, key);
    return read->key_count < FILES_AT_ONCE;
}

static bool erase_eval(struct store_update *update, const struct str *rows,
                       struct store_batch *batch)
{
    (void)rows;
    for (size_t i = 0; i < update->key_count; i++) {
        store_batch_erase(batch, i);
    }
    return true;
}

static bool erase_rows(struct background *background, struct arena *arena, const struct str *keys,
                       size_t count)
{
    struct background_update update = {.update = {.keys = keys,
                                                  .key_count = count,
                                                  .arena = arena,
                                                  .eval = erase_eval,
                                                  .frees = STORE_FREES_ROWS}};
    return count == 0 || background_update(background, &update) == STORE_OK;
}

static bool erase_files(struct background *background, struct arena *arena, struct str row_name)
{
    struct files_read read;
    bool good;
    do {
        read = (struct files_read){.keys = ARENA_ARRAY(arena, struct str, FILES_AT_ONCE)};
        set_files_range(&read, arena, row_name, collect_key);
        good = background_range(background, &read.range) == STORE_OK &&
               erase_rows(background, arena, read.keys, read.key_count);
    } while (good && read.key_count == FILES_AT_ONCE);
    return good;
}

/* --- the source --- */

static bool get_pin(struct background *background, struct arena *arena, struct str row_name,
                    struct backup *out, enum export_readiness *failure)
{
    struct background_wait wait;
    struct backup_get get = {.call = background_call(background, arena, &wait),
                             .row_name = row_name};
    engine_get_backup(&get);
    background_wait_for(background, &wait);
    *failure =
        get.call.err.code == ERR_BACKUP_NOT_FOUND ? EXPORT_SOURCE_GONE : EXPORT_SOURCE_FAILED;
    *out = get.backup;
    return get.call.err.code == ERR_NONE;
}

enum export_readiness export_find_source(struct background *background, struct arena *arena,
                                         const struct export *export, struct export_source *out)
{
    struct backup pin;
    struct backup pin_to = {.state = BACKUP_AVAILABLE};
    enum export_readiness failure;
    if (!get_pin(background, arena, export->pin, &pin, &failure) ||
        (export->is_incremental &&
         !get_pin(background, arena, export->pin_to, &pin_to, &failure))) {
        return failure;
    }
    int64_t last_ns = MAX(pin.instant_ns, pin_to.instant_ns);
    if (pin.state != BACKUP_AVAILABLE || background_settle(background, arena) < last_ns) {
        return EXPORT_SOURCE_LATER;
    }
    out->table = pin.table;
    out->history = (struct history_source){
        .space = pin.table.space,
        .history_space = pin.table.history_space,
        .instant_ns = pin.instant_ns,
        .until_ns = export->is_incremental ? pin_to.instant_ns : 0,
    };
    return EXPORT_SOURCE_READY;
}

/* --- the end --- */

static bool delete_pin(struct background *background, struct arena *arena, struct str row_name)
{
    struct background_wait wait;
    if (str_is_null(row_name)) {
        return true;
    }
    struct backup_delete remove = {
        .call = background_call(background, arena, &wait), .row_name = row_name, .by_expiry = true};
    engine_delete_backup(&remove);
    background_wait_for(background, &wait);
    enum err_code code = remove.call.err.code;
    return code == ERR_NONE || code == ERR_BACKUP_NOT_FOUND;
}

bool export_release(struct background *background, struct arena *arena, struct str row_name,
                    const struct export *export)
{
    bool pin = delete_pin(background, arena, export->pin);
    bool pin_to = delete_pin(background, arena, export->pin_to);
    return erase_files(background, arena, row_name) && pin && pin_to;
}

struct forget {
    struct background_update update;
    struct str row_name;
};

/* The token may have been used again since. */
static bool forget_eval(struct store_update *update, const struct str *rows,
                        struct store_batch *batch)
{
    const struct forget *forget = CONTAINER_OF(update, struct forget, update.update);
    store_batch_erase(batch, 0);
    if (!str_is_null(rows[1]) && str_eq(export_of_token(rows[1]), forget->row_name)) {
        store_batch_erase(batch, 1);
    }
    return true;
}

bool export_forget(struct background *background, struct arena *arena, struct str row_name,
                   const struct export *export)
{
    struct str keys[] = {export_key(arena, row_name), export_token_key(arena, export->token)};
    struct forget forget = {
        .update.update = {.keys = keys,
                          .key_count = 2,
                          .arena = arena,
                          .eval = forget_eval,
                          .frees = STORE_FREES_ROWS},
        .row_name = row_name,
    };
    return export_release(background, arena, row_name, export) &&
           background_update(background, &forget.update) == STORE_OK;
}
