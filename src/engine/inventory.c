/* Collects the spaces of a store from its catalog. Called by verify.c and rebuild.c, on the thread
 * of a check or repair. */
#include "engine/inventory.h"

#include "base/bytes.h"
#include "base/mem.h"
#include "codec/stored_backup.h"
#include "codec/stored_export.h"
#include "codec/stored_load.h"
#include "codec/stored_table.h"
#include "engine/engine_internal.h"

enum { STREAM_ROW_HEAD = 9 }; /* version (1), disabled at (8) */

void inventory_init(struct inventory *inventory, uint64_t seed)
{
    *inventory = (struct inventory){.engine = mem_zalloc(sizeof(struct engine))};
    inventory->engine->seed = seed;
    arena_init(&inventory->arena);
}

void inventory_finish(struct inventory *inventory)
{
    arena_finish(&inventory->arena);
    mem_free(inventory->engine);
    mem_free(inventory->spaces);
    mem_free(inventory->tables);
}

/* Spaces --------------------------------------------------------------------------------------- */

/* Where the space is, or belongs. */
static size_t position_of(const struct inventory *inventory, uint32_t space)
{
    size_t low = 0;
    size_t high = inventory->space_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (inventory->spaces[middle].space < space) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static struct space_info *add_space(struct inventory *inventory, size_t at, uint32_t space)
{
    if (inventory->space_count == inventory->space_capacity) {
        inventory->space_capacity = MAX(2 * inventory->space_capacity, (size_t)32);
        inventory->spaces =
            mem_realloc(inventory->spaces, inventory->space_capacity * sizeof(*inventory->spaces));
    }
    struct space_info *info = &inventory->spaces[at];
    memmove(info + 1, info, (inventory->space_count - at) * sizeof(*info));
    inventory->space_count++;
    *info = (struct space_info){.space = space};
    return info;
}

struct space_info *inventory_find(struct inventory *inventory, uint32_t space)
{
    size_t at = position_of(inventory, space);
    bool is_known = at < inventory->space_count && inventory->spaces[at].space == space;
    return is_known ? &inventory->spaces[at] : add_space(inventory, at, space);
}

/* Gives a space its role. False: it has another one already. */
static bool assign(struct inventory *inventory, uint32_t space, enum space_role role,
                   const struct table *table, const struct index *index)
{
    struct space_info *info = inventory_find(inventory, space);
    if (info->role != SPACE_UNKNOWN || space < SPACE_FIRST_FREE) {
        return false;
    }
    info->role = role;
    info->table = table;
    info->index = index;
    return true;
}

static bool assign_spaces(struct inventory *inventory, const struct table *table)
{
    bool good = assign(inventory, table->space, SPACE_ITEMS, table, NULL);
    if (table->collection_space != 0) {
        good = assign(inventory, table->collection_space, SPACE_COLLECTIONS, table, NULL) && good;
    }
    if (table->ttl_space != 0) {
        good = assign(inventory, table->ttl_space, SPACE_EXPIRY, table, NULL) && good;
    }
    for (size_t i = 0; i < table->index_count; i++) {
        const struct index *index = &table->indexes[i];
        good = assign(inventory, index->space, SPACE_INDEX, table, index) && good;
    }
    if (table->deleting_index != NULL) {
        good = assign(inventory, table->deleting_index->space, SPACE_DROPPING, NULL, NULL) && good;
    }
    if (table->history_space != 0) {
        good = assign(inventory, table->history_space, SPACE_HISTORY, table, NULL) && good;
    }
    return good;
}

/* Rows ----------------------------------------------------------------------------------------- */

bool inventory_is_part(struct str key, const char *part)
{
    char padded[STORE_PART_LEN] = {0};
    memcpy(padded, part, strlen(part));
    return memcmp(key.data + STORE_SPACE_LEN, padded, sizeof(padded)) == 0;
}

/* Whether a description has what everything else relies on. */
static bool is_sound(const struct table *table)
{
    bool good = table->name.len > 0 && table->key.hash_count == 1 && table->key.range_count <= 1 &&
                table->version > 0 && table->space >= SPACE_FIRST_FREE;
    for (size_t i = 0; i < table->index_count; i++) {
        const struct index *index = &table->indexes[i];
        good = good && index->key.hash_count >= 1 && index->name.len > 0 &&
               index->space >= SPACE_FIRST_FREE;
    }
    return good && (table->local_count == 0) == (table->collection_space == 0) &&
           (table->ttl == TTL_DISABLED) == (table->ttl_space == 0);
}

static bool add_table(struct inventory *inventory, struct str name, struct str value,
                      inventory_report *report, void *context)
{
    struct table *table = ARENA_NEW(&inventory->arena, struct table);
    struct err err = ERR_INIT(&inventory->arena);
    if (!table_decode(&inventory->arena, value, table, &err) || !is_sound(table) ||
        !str_eq(table->name, name)) {
        report(context, name, "the description of the table cannot be read");
        return false;
    }
    if (!assign_spaces(inventory, table)) {
        report(context, name, "the table shares a space with another one");
        return false;
    }
    inventory->tables =
        mem_realloc(inventory->tables, (inventory->table_count + 1) * sizeof(struct table *));
    inventory->tables[inventory->table_count++] = table;
    return true;
}

/* A deleted table whose items backups need. */
static bool add_kept(struct inventory *inventory, struct str sort, struct str value,
                     inventory_report *report, void *context)
{
    struct table *table = ARENA_NEW(&inventory->arena, struct table);
    struct err err = ERR_INIT(&inventory->arena);
    bool good = sort.len == 4 && table_decode(&inventory->arena, value, table, &err) &&
                is_sound(table) && table->space == store_key_space(sort) &&
                assign(inventory, table->space, SPACE_KEPT, table, NULL) &&
                assign(inventory, table->history_space, SPACE_HISTORY, table, NULL);
    if (!good) {
        report(context, STR(""), "the description of a deleted table with backups cannot be read");
    }
    return good;
}

static bool add_backup(struct inventory *inventory, struct str value, inventory_report *report,
                       void *context)
{
    struct backup backup;
    struct err err = ERR_INIT(&inventory->arena);
    if (!backup_decode(&inventory->arena, value, &backup, &err) || !is_sound(&backup.table) ||
        backup.table.history_space < SPACE_FIRST_FREE) {
        report(context, STR(""), "a backup cannot be read");
        return false;
    }
    inventory_find(inventory, backup.table.history_space)->backups++;
    return true;
}

/* The row of a stream or a feed: both have the same form. */
static bool add_stream(struct inventory *inventory, enum space_role role, struct str sort,
                       struct str value, inventory_report *report, void *context)
{
    struct inventory_stream *stream = ARENA_NEW(&inventory->arena, struct inventory_stream);
    struct err err = ERR_INIT(&inventory->arena);
    bool good =
        sort.len == 4 && value.len > STREAM_ROW_HEAD &&
        table_decode(&inventory->arena, str_skip(value, STREAM_ROW_HEAD), &stream->table, &err) &&
        stream->table.stream_shards > 0 && stream->table.stream_shard_ms > 0 &&
        stream->table.stream_space == store_key_space(sort) &&
        assign(inventory, stream->table.stream_space, role, NULL, NULL);
    if (!good) {
        report(context, STR(""),
               role == SPACE_FEED ? "the description of a feed cannot be read"
                                  : "the description of a stream cannot be read");
        return false;
    }
    inventory_find(inventory, stream->table.stream_space)->stream = stream;
    return true;
}

/* An import or bulk put. It has no space of its own. */
static bool check_load(struct inventory *inventory, struct str value, inventory_report *report,
                       void *context)
{
    struct load load;
    struct err err = ERR_INIT(&inventory->arena);
    if (!load_decode(&inventory->arena, value, &load, &err)) {
        report(context, STR(""), "an import or bulk operation cannot be read");
        return false;
    }
    return true;
}

/* An export. It has no space of its own: its pins are backups. */
static bool check_export(struct inventory *inventory, struct str value, inventory_report *report,
                         void *context)
{
    struct export export;
    struct err err = ERR_INIT(&inventory->arena);
    if (!export_decode(&inventory->arena, value, &export, &err)) {
        report(context, STR(""), "an export cannot be read");
        return false;
    }
    return true;
}

/* Whether a row of the catalog is a good one of those that are not counted. */
static bool is_other_catalog_row(struct str key, struct str value)
{
    struct trusted_time time;
    bool is_time = (inventory_is_part(key, "clock") && value.len == 9 && value.data[0] == 1) ||
                   (inventory_is_part(key, "trusted-time") && trusted_time_decode(value, &time));
    return is_time || inventory_is_part(key, "copy") || inventory_is_part(key, "load-token") ||
           (inventory_is_part(key, "version") && value.len == 8);
}

static bool add_catalog_row(struct inventory *inventory, struct str key, struct str value,
                            inventory_report *report, void *context)
{
    struct str sort = str_skip(key, STORE_PREFIX_LEN);
    if (inventory_is_part(key, "table")) {
        return add_table(inventory, sort, value, report, context);
    }
    if (inventory_is_part(key, "stream")) {
        return add_stream(inventory, SPACE_STREAM, sort, value, report, context);
    }
    if (inventory_is_part(key, "feed")) {
        return add_stream(inventory, SPACE_FEED, sort, value, report, context);
    }
    if (inventory_is_part(key, "kept")) {
        return add_kept(inventory, sort, value, report, context);
    }
    if (inventory_is_part(key, "backup")) {
        return add_backup(inventory, value, report, context);
    }
    if (inventory_is_part(key, "export")) {
        return check_export(inventory, value, report, context);
    }
    if (inventory_is_part(key, "export-file") || inventory_is_part(key, "export-token")) {
        return true; /* no space depends on them */
    }
    if (inventory_is_part(key, "next") && value.len == 4) {
        inventory->next_space = store_key_space(value);
        return true;
    }
    if (inventory_is_part(key, "drop") && sort.len == 4) {
        inventory_find(inventory, store_key_space(sort))->role = SPACE_DROPPING;
        return true;
    }
    if (inventory_is_part(key, "import") || inventory_is_part(key, "bulk")) {
        return check_load(inventory, value, report, context);
    }
    bool is_good = is_other_catalog_row(key, value);
    if (!is_good) {
        report(context, STR(""), "a row of the catalog cannot be read");
    }
    return is_good;
}

/* Sizes and cursors of spaces. */
static bool add_fact(struct inventory *inventory, struct str key, struct str value,
                     inventory_report *report, void *context)
{
    struct str part = str_make(key.data + STORE_SPACE_LEN, STORE_PART_LEN);
    struct space_info *info = inventory_find(inventory, store_key_space(part));
    if (part.data[4] == SPACE_SIZE && value.len == sizeof(struct store_count)) {
        info->has_size = true;
        info->size = store_count_value(value);
        return true;
    }
    if (part.data[4] == SPACE_CURSOR && value.len >= 1 && value.data[0] == 1) {
        info->cursor = arena_copy(&inventory->arena, value);
        return true;
    }
    report(context, STR(""), "the size of a space cannot be read");
    return false;
}

static bool add_own_row(struct inventory *inventory, struct str key, struct str value)
{
    uint64_t number = value.len == sizeof(number) ? get_u64_le(value.data) : 0;
    if (inventory_is_part(key, "stamp")) {
        inventory->last_stamp = number;
    } else if (inventory_is_part(key, "journal")) {
        inventory->last_record = number;
    }
    return true;
}

bool inventory_add(struct inventory *inventory, struct str key, struct str value,
                   inventory_report *report, void *context)
{
    if (key.len < STORE_PREFIX_LEN) {
        report(context, STR(""), "a row has a key that is too short");
        return false;
    }
    switch (store_key_space(key)) {
    case 0:
        return add_own_row(inventory, key, value);
    case SPACE_CATALOG:
        return add_catalog_row(inventory, key, value, report, context);
    case SPACE_FACTS:
        return add_fact(inventory, key, value, report, context);
    case SPACE_TOKENS:
    case SPACE_TOKEN_EXPIRY:
    case SPACE_NOTES: /* JSON of the parts above: no damage that matters */
    case SPACE_RECORDS:
        return true;
    default:
        if (!inventory->has_foreign_rows) {
            report(context, STR(""), "there are rows in spaces that have no use");
        }
        inventory->has_foreign_rows = true;
        return false;
    }
}

static void check_backups(const struct space_info *info, inventory_report *report, void *context)
{
    if (info->backups > 0 && info->role != SPACE_HISTORY) {
        report(context, STR(""), "the items that a backup needs are missing");
    }
    if (info->role == SPACE_HISTORY && info->backups != info->table->history_holds) {
        report(context, info->table->name, "the number of the table's backups is wrong");
    }
}

void inventory_seal(struct inventory *inventory, inventory_report *report, void *context)
{
    for (size_t i = 0; i < inventory->space_count; i++) {
        const struct space_info *info = &inventory->spaces[i];
        if (info->role != SPACE_UNKNOWN && inventory->next_space <= info->space) {
            report(context, info->table != NULL ? info->table->name : STR(""),
                   "the number of a space is larger than the next free one");
        }
        check_backups(info, report, context);
    }
    for (size_t i = 0; i < inventory->table_count; i++) {
        const struct table *table = inventory->tables[i];
        if (table->stream_space != 0 &&
            inventory_find(inventory, table->stream_space)->role != SPACE_STREAM) {
            report(context, table->name, "the description of the table's stream is missing");
        }
        if (table->feed_space != 0 &&
            inventory_find(inventory, table->feed_space)->role != SPACE_FEED) {
            report(context, table->name, "the description of the table's feed is missing");
        }
    }
}

/* What the spaces with a fixed number hold. */
static const char *const fixed[] = {
    [0] = "rows of the store itself",
    [SPACE_CATALOG] = "the catalog of tables",
    [SPACE_FACTS] = "sizes of tables",
    [SPACE_TOKENS] = "idempotency tokens",
    [SPACE_TOKEN_EXPIRY] = "idempotency tokens by age",
    [SPACE_NOTES] = "notes of parts above the engine",
    [SPACE_RECORDS] = "users and policies of the server",
};

struct str inventory_describe(struct inventory *inventory, uint32_t space, struct arena *arena)
{
    if (space < COUNT_OF(fixed)) {
        return str_from_c(fixed[space]);
    }
    size_t at = position_of(inventory, space);
    bool is_known = at < inventory->space_count && inventory->spaces[at].space == space;
    const struct space_info *info = is_known ? &inventory->spaces[at] : NULL;
    switch (is_known ? info->role : SPACE_UNKNOWN) {
    case SPACE_ITEMS:
        return arena_format(arena, "items of table \"%.*s\"", STR_ARG(info->table->name));
    case SPACE_INDEX:
        return arena_format(arena, "index \"%.*s\" of table \"%.*s\"", STR_ARG(info->index->name),
                            STR_ARG(info->table->name));
    case SPACE_COLLECTIONS:
        return arena_format(arena, "sizes of item collections of table \"%.*s\"",
                            STR_ARG(info->table->name));
    case SPACE_EXPIRY:
        return arena_format(arena, "times of expiry of table \"%.*s\"", STR_ARG(info->table->name));
    case SPACE_STREAM:
        return arena_format(arena, "stream of table \"%.*s\"", STR_ARG(info->stream->table.name));
    case SPACE_FEED:
        return arena_format(arena, "changes of table \"%.*s\" for Kinesis",
                            STR_ARG(info->stream->table.name));
    case SPACE_KEPT:
        return arena_format(arena, "items of deleted table \"%.*s\", for its backups",
                            STR_ARG(info->table->name));
    case SPACE_HISTORY:
        return arena_format(arena, "earlier versions of items of table \"%.*s\"",
                            STR_ARG(info->table->name));
    case SPACE_DROPPING:
        return STR("rows that are being deleted");
    default:
        return arena_format(arena, "space %u", space);
    }
}
