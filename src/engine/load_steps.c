/* The steps of an import or bulk put in the store: progress, making its table, its end. Called by
 * src/transfer, on its threads, and waits for the store. */
#include "codec/row.h"
#include "codec/stored_table.h"
#include "engine/engine_internal.h"
#include "engine/load_internal.h"

/* --- the row --- */

struct save {
    struct background_update update;
    struct str key;
    const struct load *load;
    bool is_gone;
    bool is_cancelling;
};

/* Merges the stored state of the row into the new one. False: the load has ended. */
static bool merge(struct arena *arena, struct str row, const struct load *load, struct load *out,
                  bool *out_cancelling)
{
    struct load stored;
    struct err err = ERR_INIT(arena);
    if (str_is_null(row) || !load_decode(arena, row, &stored, &err) || load_is_over(&stored)) {
        return false;
    }
    *out = *load;
    *out_cancelling = stored.state == LOAD_CANCELLING;
    if (!load_is_over(load)) {
        out->state = stored.state;
    }
    return true;
}

static bool save_eval(struct store_update *update, const struct str *rows,
                      struct store_batch *batch)
{
    struct save *save = CONTAINER_OF(update, struct save, update.update);
    struct load load;
    save->is_gone = !merge(update->arena, rows[0], save->load, &load, &save->is_cancelling);
    if (save->is_gone) {
        return false;
    }
    store_batch_put(batch, 0, load_encode(update->arena, &load));
    return true;
}

enum load_saved load_save(struct background *background, struct arena *arena, struct str row_name,
                          const struct load *load)
{
    struct save save = {
        .key = load_key(arena, load->kind, row_name),
        .load = load,
    };
    save.update.update = (struct store_update){
        .keys = &save.key,
        .key_count = 1,
        .arena = arena,
        .eval = save_eval,
    };
    enum store_status status = background_update(background, &save.update);
    if (status == STORE_NO_WRITE && save.is_gone) {
        return LOAD_GONE;
    }
    if (status != STORE_OK) {
        return LOAD_NOT_SAVED;
    }
    return save.is_cancelling ? LOAD_CANCEL_WANTED : LOAD_SAVED;
}

struct forget {
    struct background_update update;
    struct str keys[2];
    struct str row_name;
};

/* The token may have been used again since. */
static bool forget_eval(struct store_update *update, const struct str *rows,
                        struct store_batch *batch)
{
    struct forget *forget = CONTAINER_OF(update, struct forget, update.update);
    store_batch_erase(batch, 0);
    struct str name = forget->row_name;
    bool is_its = rows[1].len > name.len && str_eq(str_skip(rows[1], rows[1].len - name.len), name);
    if (is_its) {
        store_batch_erase(batch, 1);
    }
    return true;
}

bool load_forget(struct background *background, struct arena *arena, struct str row_name,
                 const struct load *load)
{
    struct forget forget = {
        .keys = {load_key(arena, load->kind, row_name),
                 load_token_key(arena, load->kind, load->token)},
        .row_name = row_name,
    };
    forget.update.update = (struct store_update){
        .keys = forget.keys,
        .key_count = 2,
        .arena = arena,
        .eval = forget_eval,
        .frees = STORE_FREES_ROWS,
    };
    return background_update(background, &forget.update) == STORE_OK;
}

/* --- the table of an import --- */

/* Whether the store has the table of an import. */
struct look {
    struct background_update update;
    struct str key;
    const struct table *table;
    bool is_there;
};

static bool look_eval(struct store_update *update, const struct str *rows,
                      struct store_batch *batch)
{
    struct look *look = CONTAINER_OF(update, struct look, update.update);
    struct table table;
    struct err err = ERR_INIT(update->arena);
    (void)batch;
    look->is_there = !str_is_null(rows[0]) && table_decode(update->arena, rows[0], &table, &err) &&
                     memcmp(table.id, look->table->id, sizeof(table.id)) == 0;
    return false;
}

/* Reads the table's row: an update of which it is not known whether it was written, and one of a
 * server that has ended since, may have made the table without this server knowing it. False: the
 * store failed. */
static bool is_table_stored(struct background *background, struct arena *arena,
                            const struct load *load, bool *out)
{
    struct look look = {
        .key = catalog_key(arena, "table", load->table_name),
        .table = load->table,
    };
    look.update.update = (struct store_update){
        .keys = &look.key,
        .key_count = 1,
        .arena = arena,
        .eval = look_eval,
    };
    bool ok = background_update(background, &look.update) == STORE_NO_WRITE;
    *out = ok && look.is_there;
    if (*out) {
        follow_look_again(background->engine);
    }
    return ok;
}

bool load_create_table(struct background *background, struct arena *arena, const struct load *load,
                       struct err *err)
{
    struct background_wait wait;
    struct table_create create = {
        .call = background_call(background, arena, &wait),
        .wanted = load->table,
    };
    engine_create_table(&create);
    background_wait_for(background, &wait);
    table_release(create.table);
    *err = create.call.err;
    bool is_its = false;
    if (err->code == ERR_RESOURCE_IN_USE &&
        (!is_table_stored(background, arena, load, &is_its) || is_its)) {
        *err = ERR_INIT(arena);
        err_set(err, ERR_TABLE_CHANGED, "the table is not known yet");
    }
    return err->code == ERR_NONE;
}

bool load_drop_table(struct background *background, struct arena *arena, const struct load *load,
                     struct err *err)
{
    const struct table *table = table_acquire(background->engine, load->table_name);
    bool is_its = table != NULL && memcmp(table->id, load->table->id, sizeof(table->id)) == 0;
    table_release(table);
    if (!is_its) {
        bool is_stored;
        return is_table_stored(background, arena, load, &is_stored) && !is_stored;
    }
    struct background_wait wait;
    struct table_delete remove = {
        .call = background_call(background, arena, &wait),
        .name = load->table_name,
        .may_be_creating = true,
    };
    engine_delete_table(&remove);
    background_wait_for(background, &wait);
    table_release(remove.table);
    *err = remove.call.err;
    return err->code == ERR_NONE || err->code == ERR_RESOURCE_NOT_FOUND;
}

struct finish {
    struct background_change change;
    const struct load *load;
    bool is_gone;
};

static const struct table *finish_table(struct table_change *change, const struct table *before)
{
    struct finish *finish = CONTAINER_OF(change, struct finish, change.change);
    struct arena *arena = change->call.arena;
    struct load load;
    bool is_cancelling;
    finish->is_gone = !merge(arena, change->extra_row, finish->load, &load, &is_cancelling) ||
                      memcmp(before->id, finish->load->table->id, sizeof(before->id)) != 0;
    if (finish->is_gone) {
        err_set(&change->call.err, ERR_RESOURCE_NOT_FOUND, "the import has ended");
        return NULL;
    }
    store_batch_put(change->batch, CHANGE_EXTRA, load_encode(arena, &load));
    struct table *table = ARENA_NEW(arena, struct table);
    *table = *before;
    table->status = STATUS_ACTIVE;
    return table;
}

enum load_saved load_finish_import(struct background *background, struct arena *arena,
                                   struct str row_name, const struct load *load)
{
    struct finish finish = {
        .change.change =
            {
                .call.arena = arena,
                .name = load->table_name,
                .change = finish_table,
                .extra_key = load_key(arena, LOAD_IMPORT, row_name),
                .may_be_creating = true,
            },
        .load = load,
    };
    background_change(background, &finish.change);
    enum err_code code = finish.change.change.call.err.code;
    return code == ERR_NONE                                   ? LOAD_SAVED
           : finish.is_gone || code == ERR_RESOURCE_NOT_FOUND ? LOAD_GONE
                                                              : LOAD_NOT_SAVED;
}

int64_t load_clock_ms(struct engine *engine)
{
    return trusted_clock_ms(&engine->clock);
}

/* --- sizes --- */

size_t load_index_bytes(const struct engine *engine, const struct table *table,
                        const struct index *index, const struct item_key *key, struct value item,
                        struct arena *arena)
{
    struct str row = row_encode(arena, item, item_size(item), table->version);
    return index_entry_of(engine, table, index, key, item, row, arena).size;
}
