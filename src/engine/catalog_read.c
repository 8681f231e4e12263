/* Reads the rows of the catalog: when the engine opens, and when another server has changed them.
 * Blocks; called while opening and by the thread that follows the catalog's version. */
#include "codec/stored_table.h"
#include "engine/engine_internal.h"

static void read_done(struct store_range *range)
{
    CONTAINER_OF(range, struct catalog_read, range)->done = true;
}

void catalog_read(struct catalog_read *read)
{
    if (read->err->code != ERR_NONE) {
        return;
    }
    struct waiting_mailbox *mailbox = waiting_mailbox_create();
    read->done = false;
    read->range.arena = read->arena;
    read->range.home = waiting_mailbox_box(mailbox);
    read->range.done = read_done;
    read->range.before_serving = true;
    store_range(read->engine->store, &read->range);
    waiting_mailbox_run(mailbox, &read->done);
    engine_set_store_error(read->err, read->range.status);
    waiting_mailbox_destroy(mailbox);
}

void catalog_read_part(struct catalog_read *read, const char *part,
                       bool (*row)(struct store_range *, struct str, struct str))
{
    struct str prefix = catalog_key(read->arena, part, STR(""));
    read->range = (struct store_range){
        .lo = prefix,
        .hi = key_after_prefix(read->arena, prefix),
        .row = row,
    };
    catalog_read(read);
}

struct part_read {
    struct catalog_read read;
    struct catalog_rows *rows;
};

static bool keep_row(struct store_range *range, struct str key, struct str value)
{
    struct part_read *part = CONTAINER_OF(range, struct part_read, read.range);
    struct catalog_rows *rows = part->rows;
    struct arena *arena = part->read.rows_arena;
    if (rows->count == rows->capacity) {
        size_t capacity = MAX(rows->capacity * 2, (size_t)64);
        struct str *keys = ARENA_ARRAY(arena, struct str, capacity);
        struct str *values = ARENA_ARRAY(arena, struct str, capacity);
        if (rows->count > 0) {
            memcpy(keys, rows->keys, rows->count * sizeof(*keys));
            memcpy(values, rows->values, rows->count * sizeof(*values));
        }
        *rows = (struct catalog_rows){keys, values, rows->count, capacity};
    }
    rows->keys[rows->count] = arena_copy(arena, key);
    rows->values[rows->count++] = arena_copy(arena, value);
    return true;
}

static void read_rows(struct engine *engine, struct arena *arena, const char *part,
                      struct catalog_rows *rows, struct err *err)
{
    struct arena scratch; /* of the store */
    arena_init(&scratch);
    struct part_read read = {
        .read = {.engine = engine, .err = err, .arena = &scratch, .rows_arena = arena},
        .rows = rows,
    };
    catalog_read_part(&read.read, part, keep_row);
    arena_finish(&scratch);
}

bool catalog_read_all(struct engine *engine, struct arena *arena, struct catalog_snapshot *out,
                      struct err *err)
{
    read_rows(engine, arena, "table", &out->tables, err);
    read_rows(engine, arena, "stream", &out->streams, err);
    read_rows(engine, arena, "drop", &out->drops, err);
    read_rows(engine, arena, "kept", &out->kept, err);
    return err->code == ERR_NONE;
}

bool catalog_check_all(const struct catalog_snapshot *snapshot, struct err *err)
{
    struct arena arena;
    arena_init(&arena);
    bool ok = true;
    for (size_t i = 0; ok && i < snapshot->tables.count; i++) {
        struct table table;
        ok = table_decode(&arena, snapshot->tables.values[i], &table, err);
    }
    for (size_t i = 0; ok && i < snapshot->streams.count; i++) {
        ok = stream_check_row(snapshot->streams.values[i], err);
    }
    arena_finish(&arena);
    return ok;
}
