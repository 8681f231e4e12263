/* Rebuilds the catalog of a store, and the sizes of its spaces. Called by rebuild.c in the second
 * pass, on the main thread of `gramme repair`. */
#include "base/bytes.h"
#include "codec/stored_backup.h"
#include "codec/stored_export.h"
#include "codec/stored_load.h"
#include "codec/stored_table.h"
#include "engine/engine_internal.h"
#include "engine/feed.h"
#include "engine/rebuild_internal.h"
#include "engine/stream_internal.h"

/* Whether the row of an import or bulk put can be read: the inventory reports others as lost. */
static bool is_load(struct rebuilder *rebuilder, struct str value)
{
    struct load load;
    struct err err = ERR_INIT(&rebuilder->arena);
    return load_decode(&rebuilder->arena, value, &load, &err);
}

/* The same for an export. */
static bool is_export(struct rebuilder *rebuilder, struct str value)
{
    struct export export;
    struct err err = ERR_INIT(&rebuilder->arena);
    return export_decode(&rebuilder->arena, value, &export, &err);
}

/* Whether the sort part of a key is the number of a space with this role. */
static bool names_space(struct rebuilder *rebuilder, struct str sort, enum space_role role)
{
    return sort.len == 4 &&
           inventory_find(&rebuilder->inventory, store_key_space(sort))->role == role;
}

/* Whether a row of the catalog could be read in the first pass. What is to be dropped is not taken
 * over, so the rows that say so are not needed. */
static bool is_taken_over(struct rebuilder *rebuilder, struct str key, struct str value)
{
    struct str sort = str_skip(key, STORE_PREFIX_LEN);
    if (inventory_is_part(key, "kept")) {
        return names_space(rebuilder, sort, SPACE_KEPT);
    }
    if (inventory_is_part(key, "stream")) {
        return names_space(rebuilder, sort, SPACE_STREAM);
    }
    if (inventory_is_part(key, "feed")) {
        return names_space(rebuilder, sort, SPACE_FEED);
    }
    if (inventory_is_part(key, "import") || inventory_is_part(key, "bulk")) {
        return is_load(rebuilder, value);
    }
    if (inventory_is_part(key, "export")) {
        return is_export(rebuilder, value);
    }
    if (!inventory_is_part(key, "table")) {
        return inventory_is_part(key, "load-token") || inventory_is_part(key, "export-file") ||
               inventory_is_part(key, "export-token") || inventory_is_part(key, "clock") ||
               inventory_is_part(key, "trusted-time") || inventory_is_part(key, "version");
    }
    for (size_t i = 0; i < rebuilder->inventory.table_count; i++) {
        if (str_eq(rebuilder->inventory.tables[i]->name, sort)) {
            return true;
        }
    }
    return false;
}

/* A backup is saved if the history that it needs is known. */
static bool is_backup_saved(struct rebuilder *rebuilder, struct str value)
{
    struct backup backup;
    struct err err = ERR_INIT(&rebuilder->arena);
    return backup_decode(&rebuilder->arena, value, &backup, &err) &&
           inventory_find(&rebuilder->inventory, backup.table.history_space)->role == SPACE_HISTORY;
}

/* If the feed of a table could not be read, its destination is disabled: what would be recorded
 * could not be delivered. Returns whether the description was changed. */
static bool disable_lost_feed(struct rebuilder *rebuilder, struct table *table)
{
    if (table->feed_space == 0 ||
        inventory_find(&rebuilder->inventory, table->feed_space)->role == SPACE_FEED) {
        return false;
    }
    struct kinesis_destination *destinations =
        ARENA_ARRAY(&rebuilder->arena, struct kinesis_destination, table->destination_count + 1);
    memcpy(destinations, table->destinations, table->destination_count * sizeof(*destinations));
    size_t number = table_live_destination(table);
    if (number != SIZE_MAX) {
        destinations[number].state = DESTINATION_DISABLED;
    }
    table->destinations = destinations;
    table->feed_space = 0;
    table->feed_slots = 0;
    rebuilder_report(rebuilder, REBUILD_LOST, table->name,
                     "changes for Kinesis are lost; the destination is disabled");
    return true;
}

/* The description of a table, deleted or not, with as many backups as were found. */
static void put_table(struct rebuilder *rebuilder, struct str key, struct str value)
{
    struct table table;
    struct err err = ERR_INIT(&rebuilder->arena);
    if (!table_decode(&rebuilder->arena, value, &table, &err)) {
        return; /* it could be read in the first pass */
    }
    uint32_t backups = table.history_space == 0
                           ? 0
                           : inventory_find(&rebuilder->inventory, table.history_space)->backups;
    bool is_changed = disable_lost_feed(rebuilder, &table);
    if (is_changed || backups != table.history_holds) {
        table.history_holds = backups;
        value = table_encode(&rebuilder->arena, &table);
    }
    rebuilder_put(rebuilder, key, value);
}

void rebuild_catalog_row(struct rebuilder *rebuilder, struct str key, struct str value)
{
    if (inventory_is_part(key, "backup")) {
        if (is_backup_saved(rebuilder, value)) {
            rebuilder_put(rebuilder, key, value);
        } else {
            rebuilder_report(rebuilder, REBUILD_LOST, STR(""), "a backup is lost");
        }
    } else if (is_taken_over(rebuilder, key, value)) {
        if (inventory_is_part(key, "table") || inventory_is_part(key, "kept")) {
            put_table(rebuilder, key, value);
        } else {
            rebuilder_put(rebuilder, key, value);
        }
    }
}

static void put_next_space(struct rebuilder *rebuilder)
{
    const struct inventory *inventory = &rebuilder->inventory;
    uint32_t next = MAX(inventory->next_space, (uint32_t)SPACE_FIRST_FREE);
    if (inventory->space_count > 0) {
        next = MAX(next, inventory->spaces[inventory->space_count - 1].space + 1);
    }
    char value[4];
    put_u32_be(value, next);
    rebuilder_put(rebuilder, catalog_key(&rebuilder->arena, "next", STR("")),
                  str_make(value, sizeof(value)));
}

/* The rows of streams whose own were lost. */
static void put_streams(struct rebuilder *rebuilder)
{
    for (size_t i = 0; i < rebuilder->inventory.space_count; i++) {
        const struct space_info *info = &rebuilder->inventory.spaces[i];
        if (info->role == SPACE_STREAM && info->extra != NULL) {
            rebuilder_put(rebuilder, stream_catalog_key(&rebuilder->arena, info->space),
                          stream_row_encode(&rebuilder->arena, &info->stream->table, 0));
        }
    }
}

/* A table whose index is being deleted shows the index until its rows are deleted, which is the
 * case here. The engine finishes that at its start. */
static void put_facts(struct rebuilder *rebuilder)
{
    for (size_t i = 0; i < rebuilder->inventory.space_count; i++) {
        const struct space_info *info = &rebuilder->inventory.spaces[i];
        bool has_size = info->role == SPACE_ITEMS || info->role == SPACE_INDEX ||
                        info->role == SPACE_KEPT || info->role == SPACE_HISTORY ||
                        info->role == SPACE_FEED;
        if (has_size && info->found.count > 0) {
            char row[STORE_COUNT_LEN];
            store_count_encode(info->found, row);
            rebuilder_put(rebuilder, space_fact_key(&rebuilder->arena, info->space, SPACE_SIZE),
                          str_make(row, sizeof(row)));
        }
        if ((info->role == SPACE_INDEX || info->role == SPACE_EXPIRY) &&
            !str_is_null(info->cursor)) {
            rebuilder_put(rebuilder, space_fact_key(&rebuilder->arena, info->space, SPACE_CURSOR),
                          info->cursor);
        }
    }
}

void rebuild_catalog_end(struct rebuilder *rebuilder)
{
    put_next_space(rebuilder);
    put_streams(rebuilder);
    put_facts(rebuilder);
}
