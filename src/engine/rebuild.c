/* Rebuilds the rows of a store. Called by `gramme repair`, on its main thread. The catalog is
 * rebuilt by rebuild_catalog.c. */
#include "engine/rebuild.h"

#include <stdlib.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/mem.h"
#include "engine/derive.h"
#include "engine/engine_internal.h"
#include "engine/rebuild_internal.h"
#include "engine/stream_internal.h"

/* Rows of items that are kept in memory because the items' own may be lost. */
static const size_t evidence_bytes_max = (size_t)256 << 20;

/* Findings ------------------------------------------------------------------------------------- */

void rebuilder_report(struct rebuilder *rebuilder, enum rebuild_loss loss, struct str table,
                      const char *text)
{
    struct rebuild_finding finding = {.loss = loss, .table = table, .text = text};
    rebuilder->totals.lost += loss == REBUILD_LOST;
    rebuilder->totals.uncertain += loss == REBUILD_UNCERTAIN;
    rebuilder->totals.restored += loss == REBUILD_RESTORED;
    rebuilder->options.report(rebuilder->options.context, &finding);
}

static void report_inventory(void *context, struct str table_name, const char *text)
{
    struct rebuilder *rebuilder = context;
    if (!rebuilder->is_second_pass) {
        rebuilder_report(rebuilder, REBUILD_LOST, table_name, text);
    }
}

static void report_item(struct rebuilder *rebuilder, enum rebuild_loss loss,
                        const struct table *table, struct value item, const char *what)
{
    struct arena *arena = &rebuilder->arena;
    struct str key = derive_key_text(arena, table, item);
    rebuilder_report(rebuilder, loss, table->name,
                     arena_format(arena, "item %.*s %s", STR_ARG(key), what).data);
}

/* Creating ------------------------------------------------------------------------------------- */

struct rebuilder *rebuilder_create(const struct rebuild_options *options)
{
    struct rebuilder *rebuilder = mem_zalloc(sizeof(*rebuilder));
    rebuilder->options = *options;
    rebuilder->now_s = clock_wall_ms() / 1000;
    inventory_init(&rebuilder->inventory, options->seed);
    arena_init(&rebuilder->arena);
    arena_init(&rebuilder->kept);
    map_init(&rebuilder->evidence);
    return rebuilder;
}

void rebuilder_destroy(struct rebuilder *rebuilder)
{
    map_finish(&rebuilder->evidence);
    inventory_finish(&rebuilder->inventory);
    arena_finish(&rebuilder->arena);
    arena_finish(&rebuilder->kept);
    mem_free(rebuilder);
}

/* A backfill scan whose cursor is lost begins anew. */
static void restart_scan(struct rebuilder *rebuilder, uint32_t space)
{
    struct space_info *info = inventory_find(&rebuilder->inventory, space);
    if (str_is_null(info->cursor)) {
        info->cursor = STR("\x01");
    }
}

/* The catalog's row of an enabled stream follows from the description of the table: if it is lost,
 * it is computed, and the stream keeps its records. */
static void restore_stream(struct rebuilder *rebuilder, const struct table *table)
{
    struct inventory *inventory = &rebuilder->inventory;
    if (table->stream_space == 0 || table->stream_shards == 0 || table->stream_shard_ms <= 0) {
        return;
    }
    struct space_info *info = inventory_find(inventory, table->stream_space);
    if (info->role == SPACE_UNKNOWN) {
        struct inventory_stream *stream = ARENA_NEW(&inventory->arena, struct inventory_stream);
        stream->table = *table;
        info->role = SPACE_STREAM;
        info->stream = stream;
        info->extra = stream; /* put_streams() writes the row */
        rebuilder_report(rebuilder, REBUILD_RESTORED, table->name,
                         "the description of the stream is computed from the table's");
    }
}

static void seal(struct rebuilder *rebuilder)
{
    struct inventory *inventory = &rebuilder->inventory;
    inventory_seal(inventory, report_inventory, rebuilder);
    rebuilder->is_sealed = true;
    for (size_t i = 0; i < inventory->table_count; i++) {
        const struct table *table = inventory->tables[i];
        restore_stream(rebuilder, table);
        for (size_t k = 0; k < table->index_count; k++) {
            if (table->indexes[k].status == STATUS_CREATING) {
                restart_scan(rebuilder, table->indexes[k].space);
            }
        }
        if (table->ttl == TTL_ENABLING) {
            restart_scan(rebuilder, table->ttl_space);
        }
    }
}

/* First pass ----------------------------------------------------------------------------------- */

static void keep_evidence(struct rebuilder *rebuilder, const struct index *index, struct str value,
                          struct str item_key)
{
    struct evidence *before = map_get(&rebuilder->evidence, item_key);
    bool is_whole = index->projection == PROJECTION_ALL;
    if ((before != NULL && (before->is_whole || !is_whole)) ||
        rebuilder->evidence_bytes + value.len > evidence_bytes_max) {
        return;
    }
    rebuilder->evidence_bytes += value.len;
    struct evidence *evidence = ARENA_NEW(&rebuilder->kept, struct evidence);
    *evidence = (struct evidence){.row = arena_copy(&rebuilder->kept, value), .is_whole = is_whole};
    map_put(&rebuilder->evidence, item_key, evidence);
}

/* An entry whose item may be lost shows that the item exists; if it holds the whole item, the item
 * can be restored from it. Entries are newer than items that are stale, unless they are stale
 * themselves. */
static void look_at_entry(struct rebuilder *rebuilder, const struct space_info *info,
                          struct str value, bool is_stale)
{
    if (is_stale || value.len <= ROW_HEAD_LEN || value.data[0] != ROW_VERSION ||
        (value.data[ROW_HEAD_LEN] & VALUE_TYPE_MASK) != VALUE_M ||
        !value_is_valid(str_skip(value, ROW_HEAD_LEN))) {
        return;
    }
    struct item_key key;
    struct err err = ERR_INIT(&rebuilder->arena);
    if (item_key_from_item(rebuilder->inventory.engine, info->table, row_decode(value).item,
                           &rebuilder->arena, &key, &err) &&
        rebuilder->options.is_lost(rebuilder->options.context, key.row)) {
        keep_evidence(rebuilder, info->index, value, key.row);
    }
}

static void add_in_first_pass(struct rebuilder *rebuilder, struct str key, struct str value,
                              bool is_stale)
{
    uint32_t space = store_key_space(key);
    if (space < SPACE_FIRST_FREE) {
        inventory_add(&rebuilder->inventory, key, value, report_inventory, rebuilder);
        return;
    }
    if (!rebuilder->is_sealed) {
        seal(rebuilder);
    }
    struct space_info *info = inventory_find(&rebuilder->inventory, space);
    if (info->role == SPACE_INDEX) {
        look_at_entry(rebuilder, info, value, is_stale);
    } else if (info->role == SPACE_UNKNOWN) {
        info->found.count++;
    }
}

static int compare_keys(const void *a, const void *b)
{
    return str_cmp(*(const struct str *)a, *(const struct str *)b);
}

static void sort_evidence(struct rebuilder *rebuilder)
{
    size_t count = rebuilder->evidence.count;
    rebuilder->evidence_keys = ARENA_ARRAY(&rebuilder->kept, struct str, count + 1);
    size_t at = 0;
    void *value;
    for (size_t i = 0; i < count; i++) {
        bool found = map_next(&rebuilder->evidence, &at, &rebuilder->evidence_keys[i], &value);
        assert(found);
    }
    if (count > 0) {
        qsort(rebuilder->evidence_keys, count, sizeof(struct str), compare_keys);
    }
}

static void end_first_pass(struct rebuilder *rebuilder)
{
    struct inventory *inventory = &rebuilder->inventory;
    if (!rebuilder->is_sealed) {
        seal(rebuilder);
    }
    for (size_t i = 0; i < inventory->space_count; i++) {
        const struct space_info *info = &inventory->spaces[i];
        if (info->role == SPACE_UNKNOWN && info->found.count > 0) {
            rebuilder_report(
                rebuilder, REBUILD_LOST, STR(""),
                arena_format(&rebuilder->arena,
                             "%lld rows of space %u: the description of their table is lost",
                             (long long)info->found.count, info->space)
                    .data);
        }
    }
    sort_evidence(rebuilder);
    rebuilder->is_second_pass = true;
}

/* Writing -------------------------------------------------------------------------------------- */

void rebuilder_put(struct rebuilder *rebuilder, struct str key, struct str value)
{
    rebuilder->options.put(rebuilder->options.context, key, value);
}

static void put_derived(void *context, const struct derived_row *row)
{
    struct rebuilder *rebuilder = context;
    rebuilder_put(rebuilder, row->key, row->value);
    if (row->space->role == SPACE_INDEX) {
        struct space_info *info = inventory_find(&rebuilder->inventory, row->space->space);
        info->found.count++;
        info->found.bytes += (int64_t)row->size;
        rebuilder->totals.index_entries++;
    }
}

static void end_collection(struct rebuilder *rebuilder)
{
    const struct table *table = rebuilder->collection_table;
    if (table != NULL) {
        struct str key = derive_collection_key(
            table, str_make(rebuilder->collection, sizeof(rebuilder->collection)),
            &rebuilder->arena);
        char row[8];
        put_u64_le(row, (uint64_t)rebuilder->collection_bytes);
        rebuilder_put(rebuilder, key, str_make(row, sizeof(row)));
    }
    rebuilder->collection_table = NULL;
}

static void add_to_collection(struct rebuilder *rebuilder, const struct table *table,
                              struct str key, int64_t bytes)
{
    bool is_same = rebuilder->collection_table == table &&
                   memcmp(rebuilder->collection, key.data, STORE_PREFIX_LEN) == 0;
    if (!is_same) {
        end_collection(rebuilder);
        if (table->local_count == 0) {
            return;
        }
        rebuilder->collection_table = table;
        memcpy(rebuilder->collection, key.data, STORE_PREFIX_LEN);
        rebuilder->collection_bytes = 0;
    }
    rebuilder->collection_bytes += bytes;
}

/* If the description that wrote the item is lost, the item counts as written by the one that is
 * left: otherwise the engine would wait for the newer one forever. */
static void lower_version(struct rebuilder *rebuilder, struct space_info *info,
                          struct checked_item *item)
{
    if (item->row.table_version <= item->table->version) {
        return;
    }
    if (info->extra == NULL) {
        info->extra = rebuilder; /* reported once */
        rebuilder_report(rebuilder, REBUILD_UNCERTAIN, item->table->name,
                         "the newest description of the table is lost; the one before is used");
    }
    item->row_bytes =
        row_encode(&rebuilder->arena, item->row.item, item->row.size, item->table->version);
    item->row = row_decode(item->row_bytes);
}

static void put_item(struct rebuilder *rebuilder, struct checked_item *item)
{
    struct space_info *info = inventory_find(&rebuilder->inventory, item->table->space);
    lower_version(rebuilder, info, item);
    info->found.count++;
    info->found.bytes += (int64_t)item->row.size;
    rebuilder->totals.items++;
    rebuilder_put(rebuilder, item->key.row, item->row_bytes);
    int64_t bytes = derive_rows(&rebuilder->inventory, item, rebuilder->now_s, false,
                                &rebuilder->arena, put_derived, rebuilder);
    add_to_collection(rebuilder, item->table, item->key.row, bytes);
}

static void put_one_restored(struct rebuilder *rebuilder, struct str key, struct evidence *evidence)
{
    const struct table *table = inventory_find(&rebuilder->inventory, store_key_space(key))->table;
    struct value image = row_decode(evidence->row).item;
    struct checked_item item;
    if (evidence->is_whole && derive_check_item(&rebuilder->inventory, table, key, evidence->row,
                                                &rebuilder->arena, &item) == NULL) {
        put_item(rebuilder, &item);
        report_item(rebuilder, REBUILD_RESTORED, table, image, "is taken from an index");
    } else {
        report_item(rebuilder, REBUILD_LOST, table, image, "is lost");
    }
}

/* Items that are known from an index only, and come before `key`; STR_NULL: all that are left. */
static void put_restored(struct rebuilder *rebuilder, struct str key)
{
    while (rebuilder->evidence_at < rebuilder->evidence.count) {
        struct str next = rebuilder->evidence_keys[rebuilder->evidence_at];
        if (!str_is_null(key) && str_cmp(next, key) >= 0) {
            return;
        }
        rebuilder->evidence_at++;
        struct evidence *evidence = map_get(&rebuilder->evidence, next);
        if (!evidence->is_used) {
            put_one_restored(rebuilder, next, evidence);
        }
    }
}

/* An item whose newest version may be lost: an index may have it. */
static void resolve_stale(struct rebuilder *rebuilder, const struct evidence *evidence,
                          struct checked_item *item)
{
    struct checked_item newest;
    if (evidence == NULL || !evidence->is_whole ||
        derive_check_item(&rebuilder->inventory, item->table, item->key.row, evidence->row,
                          &rebuilder->arena, &newest) != NULL) {
        report_item(rebuilder, REBUILD_UNCERTAIN, item->table, item->row.item,
                    "is saved, but a newer version, or its deletion, may be lost");
        return;
    }
    if (!str_eq(newest.row_bytes, item->row_bytes)) {
        report_item(rebuilder, REBUILD_RESTORED, item->table, item->row.item,
                    "is taken from an index, which has a newer version");
    }
    *item = newest;
}

static void add_item(struct rebuilder *rebuilder, const struct space_info *info, struct str key,
                     struct str value, bool is_stale)
{
    const struct table *table = info->table;
    put_restored(rebuilder, key);
    struct checked_item item;
    const char *problem =
        derive_check_item(&rebuilder->inventory, table, key, value, &rebuilder->arena, &item);
    if (problem != NULL) {
        rebuilder_report(rebuilder, REBUILD_LOST, table->name,
                         arena_format(&rebuilder->arena, "an item is lost: %s", problem).data);
        return;
    }
    struct evidence *evidence =
        rebuilder->evidence.count > 0 ? map_get(&rebuilder->evidence, key) : NULL;
    if (evidence != NULL) {
        evidence->is_used = true;
    }
    if (is_stale) {
        resolve_stale(rebuilder, evidence, &item);
    }
    put_item(rebuilder, &item);
}

/* Streams and tokens --------------------------------------------------------------------------- */

static void add_stream_row(struct rebuilder *rebuilder, struct space_info *info, struct str key,
                           struct str value)
{
    if (key.len == STORE_PREFIX_LEN + STREAM_STAMP_LEN) {
        info->found.count++;
        info->found.bytes += (int64_t)value.len;
        rebuilder->last_stamp = MAX(rebuilder->last_stamp, stream_key_stamp(key));
        rebuilder->totals.stream_records++;
    } else if (key.len == STORE_PREFIX_LEN && stream_is_trim(value)) {
        /* The last record that was trimmed or delivered: new ones need larger numbers. */
        rebuilder->last_stamp = MAX(rebuilder->last_stamp, stream_trim_decode(value).stamp);
    }
    rebuilder_put(rebuilder, key, value);
}

/* version (1), expiry in ms (8), ... */
static void add_token(struct rebuilder *rebuilder, struct str key, struct str value)
{
    enum { HEAD_LEN = 13 };
    if (value.len < HEAD_LEN || value.data[0] != 1 || key.len != STORE_PREFIX_LEN) {
        rebuilder_report(rebuilder, REBUILD_LOST, STR(""), "an idempotency token is lost");
        return;
    }
    char by_age[STORE_PREFIX_LEN + 8 + STORE_PART_LEN] = {0};
    put_u32_be(by_age, SPACE_TOKEN_EXPIRY);
    for (int i = 0; i < 8; i++) {
        by_age[STORE_PREFIX_LEN + i] = value.data[8 - i];
    }
    memcpy(by_age + STORE_PREFIX_LEN + 8, key.data + STORE_SPACE_LEN, STORE_PART_LEN);
    rebuilder_put(rebuilder, key, value);
    rebuilder_put(rebuilder, str_make(by_age, sizeof(by_age)), STR(""));
}

/* Backups -------------------------------------------------------------------------------------- */

/* Items of deleted tables, and earlier versions. */
static void add_kept_row(struct rebuilder *rebuilder, struct space_info *info, struct str key,
                         struct str value)
{
    struct checked_item item = {0};
    bool is_history = info->role == SPACE_HISTORY;
    const char *problem = is_history ? derive_check_record(&rebuilder->inventory, info->table, key,
                                                           value, &rebuilder->arena)
                                     : derive_check_item(&rebuilder->inventory, info->table, key,
                                                         value, &rebuilder->arena, &item);
    if (problem != NULL) {
        rebuilder_report(
            rebuilder, REBUILD_LOST, info->table->name,
            arena_format(&rebuilder->arena, "an item of a backup is lost: %s", problem).data);
        return;
    }
    info->found.count++;
    info->found.bytes += is_history ? (int64_t)value.len : (int64_t)item.row.size;
    rebuilder_put(rebuilder, key, value);
}

/* Second pass ---------------------------------------------------------------------------------- */

static void add_in_second_pass(struct rebuilder *rebuilder, struct str key, struct str value,
                               bool is_stale)
{
    uint32_t space = store_key_space(key);
    switch (space) {
    case SPACE_CATALOG:
        rebuild_catalog_row(rebuilder, key, value);
        return;
    case SPACE_TOKENS:
        add_token(rebuilder, key, value);
        return;
    case SPACE_RECORDS:
    case SPACE_NOTES:
        rebuilder_put(rebuilder, key, value);
        return;
    default:
        break;
    }
    if (space < SPACE_FIRST_FREE) {
        return; /* computed again */
    }
    struct space_info *info = inventory_find(&rebuilder->inventory, space);
    if (info->role == SPACE_KEPT || info->role == SPACE_HISTORY) {
        add_kept_row(rebuilder, info, key, value);
    } else if (info->role == SPACE_ITEMS) {
        add_item(rebuilder, info, key, value, is_stale);
    } else if (info->role == SPACE_STREAM || info->role == SPACE_FEED) {
        add_stream_row(rebuilder, info, key, value);
    }
}

void rebuilder_add(struct rebuilder *rebuilder, struct str key, struct str value, bool is_stale)
{
    arena_reset(&rebuilder->arena);
    if (key.len < STORE_PREFIX_LEN) {
        return;
    }
    if (rebuilder->is_second_pass) {
        add_in_second_pass(rebuilder, key, value, is_stale);
    } else {
        add_in_first_pass(rebuilder, key, value, is_stale);
    }
}

/* Reports how many items are missing according to the counters, including those that nothing else
 * refers to. */
static void report_missing(struct rebuilder *rebuilder)
{
    for (size_t i = 0; i < rebuilder->inventory.space_count; i++) {
        const struct space_info *info = &rebuilder->inventory.spaces[i];
        if (info->role == SPACE_ITEMS && info->size.count != info->found.count) {
            rebuilder_report(rebuilder, REBUILD_LOST, info->table->name,
                             arena_format(&rebuilder->arena,
                                          "%lld items were counted, %lld are saved",
                                          (long long)info->size.count, (long long)info->found.count)
                                 .data);
        }
    }
}

void rebuilder_end_pass(struct rebuilder *rebuilder)
{
    arena_reset(&rebuilder->arena);
    if (!rebuilder->is_second_pass) {
        end_first_pass(rebuilder);
        return;
    }
    put_restored(rebuilder, STR_NULL);
    end_collection(rebuilder);
    rebuild_catalog_end(rebuilder);
    report_missing(rebuilder);
    rebuilder->totals.tables = rebuilder->inventory.table_count;
}

uint64_t rebuilder_last_stamp(const struct rebuilder *rebuilder)
{
    return MAX(rebuilder->last_stamp, rebuilder->inventory.last_stamp);
}

struct str rebuilder_describe_space(struct rebuilder *rebuilder, uint32_t space,
                                    struct arena *arena)
{
    return inventory_describe(&rebuilder->inventory, space, arena);
}

void rebuilder_totals(const struct rebuilder *rebuilder, struct rebuild_totals *out)
{
    *out = rebuilder->totals;
}
