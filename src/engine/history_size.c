/* The room that histories take, for metrics; and the descriptions of deleted tables, whose items
 * and history are kept for backups. On threads that may block. */
#include "codec/stored_table.h"
#include "engine/backup_internal.h"
#include "engine/engine_internal.h"
#include "engine/history.h"

enum { KEPT_MAX = 512 };

/* --- deleted tables: their descriptions are in the store only --- */

struct kept_read {
    struct background_range range;
    struct arena *arena;
    struct table *tables;
    size_t count;
};

static bool keep_row(struct store_range *range, struct str key, struct str value)
{
    (void)key;
    struct kept_read *read = CONTAINER_OF(range, struct kept_read, range.range);
    struct err err = ERR_INIT(read->arena);
    struct str row = arena_copy(read->arena, value);
    if (table_decode(read->arena, row, &read->tables[read->count], &err)) {
        read->count++;
    }
    return read->count < KEPT_MAX;
}

size_t history_kept_tables(struct background *background, struct arena *arena, struct table **out)
{
    struct arena scratch;
    struct kept_read read = {.arena = arena, .tables = ARENA_ARRAY(arena, struct table, KEPT_MAX)};
    struct str prefix = catalog_key(arena, "kept", STR(""));
    arena_init(&scratch);
    read.range.range = (struct store_range){
        .lo = prefix,
        .hi = key_after_prefix(arena, prefix),
        .arena = &scratch,
        .row = keep_row,
    };
    bool ok = background_range(background, &read.range) == STORE_OK;
    arena_finish(&scratch);
    *out = read.tables;
    return ok ? read.count : 0;
}

/* --- sizes --- */

struct size_list {
    struct background background;
    struct arena *arena;
    struct history_size *sizes;
    size_t count;
};

/* Deleted tables may have had the same name: their sizes are added up. */
static struct history_size *find_size(struct size_list *list, struct str name, bool is_deleted)
{
    for (size_t i = 0; is_deleted && i < list->count; i++) {
        if (list->sizes[i].is_deleted && str_eq(list->sizes[i].table_name, name)) {
            return &list->sizes[i];
        }
    }
    struct history_size *size = &list->sizes[list->count++];
    *size = (struct history_size){.table_name = arena_copy(list->arena, name),
                                  .is_deleted = is_deleted};
    return size;
}

static void add_size(struct size_list *list, const struct table *table, bool is_deleted)
{
    struct history_size *size = find_size(list, table->name, is_deleted);
    struct store_count count =
        background_space_size(&list->background, table->history_space, list->arena);
    size->records += count.count;
    size->bytes += count.bytes;
}

static bool has_history(const struct table *table)
{
    return table->history_space != 0;
}

size_t engine_history_sizes(struct engine *engine, struct arena *arena, struct history_size **out)
{
    struct size_list list = {.arena = arena};
    const struct table **tables;
    struct table *kept;
    background_prepare(&list.background, engine);
    size_t count = catalog_collect(engine, has_history, arena, &tables);
    size_t kept_count = history_kept_tables(&list.background, arena, &kept);
    list.sizes = ARENA_ARRAY(arena, struct history_size, count + kept_count + 1);
    for (size_t i = 0; i < count; i++) {
        add_size(&list, tables[i], false);
        table_release(tables[i]);
    }
    for (size_t i = 0; i < kept_count; i++) {
        add_size(&list, &kept[i], true);
    }
    background_finish(&list.background);
    *out = list.sizes;
    return list.count;
}
