/* Checks the rows of a whole store for consistency: see verify.h. Called by `gramme check`, on its
 * main thread. */
#include "engine/verify.h"

#include <stdio.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/hex.h"
#include "base/mem.h"
#include "codec/stream_record.h"
#include "engine/derive.h"
#include "engine/engine_internal.h"
#include "engine/expiry.h"
#include "engine/match.h"

/* Findings of each kind that are reported one by one; further ones are counted. */
enum { EXAMPLES_MAX = 10 };
/* Rows that the second pass keeps of each space. */
static const size_t kept_bytes_max = (size_t)64 << 20;

/* The state of each slot of a stream. */
struct slot_check {
    uint64_t first_stamp;
    uint64_t last_stamp;
    int64_t last_time_ms;
};

struct verifier {
    struct inventory inventory;
    verify_report *report;
    void *context;
    bool is_sealed; /* the catalog is complete */
    bool is_second_pass;
    int64_t now_s;
    struct verify_totals totals;
    struct arena arena; /* of one row */
    struct match *tokens;

    /* The item collection that the last item belongs to. */
    const struct table *collection_table;
    char collection[STORE_PREFIX_LEN];
    int64_t collection_bytes;

    /* The space whose differences are being reported. */
    const struct space_info *compared;
    struct map kinds; /* text of a finding -> how often it was reported */
};

/* Findings ------------------------------------------------------------------------------------- */

static void tell(struct verifier *verifier, bool is_harmless, struct str table, const char *text)
{
    struct verify_finding finding = {
        .is_harmless = is_harmless, .table = table, .text = text, .count = 1};
    verifier->report(verifier->context, &finding);
}

/* Reports a finding that may occur often: a few of each kind and table, with their keys. */
static void tell_row(struct verifier *verifier, bool is_harmless, struct str table,
                     const char *kind, struct str detail)
{
    struct arena *arena = &verifier->arena;
    struct str name = arena_format(arena, "%.*s/%s", STR_ARG(table), kind);
    uintptr_t count = (uintptr_t)map_get(&verifier->kinds, name) + 1;
    map_put(&verifier->kinds, name, (void *)count);
    if (count <= EXAMPLES_MAX) {
        struct str text =
            arena_format(arena, "%s: %.*s%s", kind, STR_ARG(detail),
                         count == EXAMPLES_MAX ? "; more of this kind are not listed" : "");
        tell(verifier, is_harmless, table, text.data);
    }
}

static struct str hex(struct arena *arena, struct str bytes)
{
    char *out = arena_bytes(arena, 2 * bytes.len + 1);
    hex_encode(bytes, out);
    return str_make(out, 2 * bytes.len);
}

static void report_inventory(void *context, struct str table_name, const char *text)
{
    struct verifier *verifier = context;
    if (!verifier->is_second_pass) {
        tell(verifier, false, table_name, text);
    }
}

/* Creating ------------------------------------------------------------------------------------- */

struct verifier *verifier_create(uint64_t seed, verify_report *report, void *context)
{
    struct verifier *verifier = mem_zalloc(sizeof(*verifier));
    inventory_init(&verifier->inventory, seed);
    arena_init(&verifier->arena);
    map_init(&verifier->kinds);
    verifier->report = report;
    verifier->context = context;
    verifier->now_s = clock_wall_ms() / 1000;
    verifier->tokens = match_create();
    return verifier;
}

static void destroy_extra(struct space_info *info)
{
    if (info->role == SPACE_STREAM || info->role == SPACE_FEED) {
        mem_free(info->extra);
    } else {
        match_destroy(info->extra);
    }
}

void verifier_destroy(struct verifier *verifier)
{
    for (size_t i = 0; i < verifier->inventory.space_count; i++) {
        destroy_extra(&verifier->inventory.spaces[i]);
    }
    match_destroy(verifier->tokens);
    map_finish(&verifier->kinds);
    inventory_finish(&verifier->inventory);
    arena_finish(&verifier->arena);
    mem_free(verifier);
}

static bool is_matched(const struct space_info *info)
{
    return info->role == SPACE_INDEX || info->role == SPACE_COLLECTIONS ||
           info->role == SPACE_EXPIRY;
}

/* The catalog is complete: items follow. */
static void seal(struct verifier *verifier)
{
    struct inventory *inventory = &verifier->inventory;
    inventory_seal(inventory, report_inventory, verifier);
    verifier->is_sealed = true;
    verifier->totals.tables = inventory->table_count;
    for (size_t i = 0; i < inventory->space_count; i++) {
        struct space_info *info = &inventory->spaces[i];
        if (is_matched(info)) {
            info->extra = match_create();
        } else if (info->role == SPACE_STREAM || info->role == SPACE_FEED) {
            info->extra = mem_zalloc(info->stream->table.stream_shards * sizeof(struct slot_check));
        }
    }
}

/* Items ---------------------------------------------------------------------------------------- */

/* Adds an expiry row to the comparison: the item that it refers to, and the time, which counts only
 * while it is in the future (engine/expiry.h). */
static void add_expiry(struct verifier *verifier, const struct space_info *space,
                       enum match_side side, struct str key, int64_t time_s)
{
    enum { TIME_LEN = 8 };
    char value[32];
    int len =
        snprintf(value, sizeof(value), "%lld", (long long)(time_s > verifier->now_s ? time_s : 0));
    match_add(space->extra, side, str_skip(key, STORE_PREFIX_LEN + TIME_LEN),
              str_make(value, (size_t)len));
}

static void expect_row(void *context, const struct derived_row *row)
{
    struct verifier *verifier = context;
    if (row->space->role == SPACE_EXPIRY) {
        add_expiry(verifier, row->space, MATCH_EXPECTED, row->key, row->time_s);
    } else {
        match_add(row->space->extra, MATCH_EXPECTED, row->key, row->value);
    }
}

/* The items of a collection are consecutive: when another collection begins, the size is known. */
static void end_collection(struct verifier *verifier)
{
    const struct table *table = verifier->collection_table;
    if (table == NULL) {
        return;
    }
    struct str key = derive_collection_key(
        table, str_make(verifier->collection, sizeof(verifier->collection)), &verifier->arena);
    const struct space_info *space = inventory_find(&verifier->inventory, table->collection_space);
    char row[8];
    put_u64_le(row, (uint64_t)verifier->collection_bytes);
    match_add(space->extra, MATCH_EXPECTED, key, str_make(row, sizeof(row)));
    verifier->collection_table = NULL;
}

static void add_to_collection(struct verifier *verifier, const struct table *table, struct str key,
                              int64_t bytes)
{
    bool is_same = verifier->collection_table == table &&
                   memcmp(verifier->collection, key.data, STORE_PREFIX_LEN) == 0;
    if (!is_same) {
        end_collection(verifier);
        if (table->local_count == 0) {
            return;
        }
        verifier->collection_table = table;
        memcpy(verifier->collection, key.data, STORE_PREFIX_LEN);
        verifier->collection_bytes = 0;
    }
    verifier->collection_bytes += bytes;
}

static void add_item(struct verifier *verifier, struct space_info *info, struct str key,
                     struct str value)
{
    struct checked_item item;
    const struct table *table = info->table;
    const char *problem =
        derive_check_item(&verifier->inventory, table, key, value, &verifier->arena, &item);
    if (problem != NULL) {
        if (!verifier->is_second_pass) {
            tell_row(verifier, false, table->name, problem, hex(&verifier->arena, key));
        }
        return;
    }
    info->found.count++;
    info->found.bytes += (int64_t)item.row.size;
    verifier->totals.items += !verifier->is_second_pass;
    int64_t bytes = derive_rows(&verifier->inventory, &item, verifier->now_s, false,
                                &verifier->arena, expect_row, verifier);
    add_to_collection(verifier, table, key, bytes);
}

/* Backups -------------------------------------------------------------------------------------- */

/* Items of deleted tables, and earlier versions: nothing is derived from them. */
static void add_kept_row(struct verifier *verifier, struct space_info *info, struct str key,
                         struct str value)
{
    struct checked_item item = {0};
    bool is_history = info->role == SPACE_HISTORY;
    const char *problem = is_history ? derive_check_record(&verifier->inventory, info->table, key,
                                                           value, &verifier->arena)
                                     : derive_check_item(&verifier->inventory, info->table, key,
                                                         value, &verifier->arena, &item);
    if (problem != NULL) {
        if (!verifier->is_second_pass) {
            tell_row(verifier, false, info->table->name, problem, hex(&verifier->arena, key));
        }
        return;
    }
    verifier->totals.earlier_versions += is_history && !verifier->is_second_pass;
    info->found.count++;
    info->found.bytes += is_history ? (int64_t)value.len : (int64_t)item.row.size;
}

/* Derived rows --------------------------------------------------------------------------------- */

static void add_index_entry(struct verifier *verifier, struct space_info *info, struct str key,
                            struct str value)
{
    match_add(info->extra, MATCH_FOUND, key, value);
    info->found.count++;
    info->found.bytes +=
        value.len >= ROW_HEAD_LEN ? get_u32_le((const uint8_t *)value.data + 1) : 0;
    verifier->totals.index_entries += !verifier->is_second_pass;
}

static void add_expiry_row(struct verifier *verifier, const struct space_info *info, struct str key)
{
    enum { TIME_LEN = 8 };
    if (key.len < STORE_PREFIX_LEN + TIME_LEN) {
        tell_row(verifier, false, info->table->name, "a row of expiry has a bad key",
                 hex(&verifier->arena, key));
        return;
    }
    uint64_t time_s = get_u64_be(key.data + STORE_PREFIX_LEN);
    add_expiry(verifier, info, MATCH_FOUND, key, (int64_t)time_s);
}

/* Streams -------------------------------------------------------------------------------------- */

/* Whether the bytes are a record, so that it can be decoded. */
static bool is_record(struct str bytes)
{
    enum { HEAD_LEN = 14, MICROS_LEN = 4 };
    size_t head = HEAD_LEN;
    if (bytes.len > HEAD_LEN && (bytes.data[1] & 32) != 0) {
        head += MICROS_LEN;
    }
    if (bytes.len <= head || bytes.data[0] != 1) {
        return false;
    }
    int count = 1 + ((bytes.data[1] & 8) != 0) + ((bytes.data[1] & 16) != 0);
    struct str rest = str_skip(bytes, head);
    for (int i = 0; i < count; i++) {
        if (rest.len < VALUE_CONTAINER_HEAD || (rest.data[0] & VALUE_TYPE_MASK) != VALUE_M) {
            return false;
        }
        uint64_t len = 5 + (uint64_t)get_u32_le((const uint8_t *)rest.data + 1);
        if (len > rest.len || !value_is_valid(str_make(rest.data, (size_t)len))) {
            return false;
        }
        rest = str_skip(rest, (size_t)len);
    }
    return rest.len == 0;
}

static const char *check_record(const struct verifier *verifier, const struct space_info *info,
                                struct str key, struct str value)
{
    const struct table *table = &info->stream->table;
    struct stream_shard shard = stream_key_shard(key);
    uint64_t stamp = stream_key_stamp(key);
    if (shard.slot >= table->stream_shards || !is_record(value)) {
        return "a record of the stream cannot be read";
    }
    struct slot_check *slot = &((struct slot_check *)info->extra)[shard.slot];
    struct stream epochs = {.since_ms = table->stream_since_ms, .shard_ms = table->stream_shard_ms};
    int64_t time_ms = stream_record_decode(value).time_ms;
    const char *problem = NULL;
    /* Times of feeds go back when the clock does; those of streams never do. */
    bool is_earlier = info->role == SPACE_STREAM && slot->last_time_ms > time_ms;
    if (slot->last_stamp >= stamp || is_earlier) {
        problem = "records of the stream are not in order";
    } else if (stamp > verifier->inventory.last_stamp) {
        problem = "a record of the stream has a number that was not given yet";
    } else if (stream_epoch_at(&epochs, time_ms) != shard.epoch) {
        problem = "a record of the stream is in the shard of another time";
    }
    slot->first_stamp = slot->first_stamp == 0 ? stamp : slot->first_stamp;
    slot->last_stamp = stamp;
    slot->last_time_ms = time_ms;
    return problem;
}

/* The row with the last trimmed record of a slot, behind all records. */
static const char *check_trimmed(const struct space_info *info, struct str key, struct str value)
{
    uint32_t number = stream_key_shard(key).slot;
    if (key.len != STORE_PREFIX_LEN || !stream_is_trim(value) ||
        number >= info->stream->table.stream_shards) {
        return "what was trimmed of the stream cannot be read";
    }
    const struct slot_check *slot = &((const struct slot_check *)info->extra)[number];
    bool is_left = slot->first_stamp != 0 && slot->first_stamp <= stream_trim_decode(value).stamp;
    return is_left ? "a record of the stream is left that counts as trimmed" : NULL;
}

static void add_stream_row(struct verifier *verifier, struct space_info *info, struct str key,
                           struct str value)
{
    if (verifier->is_second_pass) {
        return;
    }
    bool is_trim = stream_key_shard(key).epoch == UINT64_MAX;
    const char *problem;
    if (is_trim) {
        problem = check_trimmed(info, key, value);
    } else if (key.len != STORE_PREFIX_LEN + STREAM_STAMP_LEN) {
        problem = "a record of the stream has a bad key";
    } else {
        problem = check_record(verifier, info, key, value);
        verifier->totals.stream_records++;
        info->found.count++;
        info->found.bytes += (int64_t)value.len;
    }
    if (problem != NULL) {
        tell_row(verifier, false, info->stream->table.name, problem, hex(&verifier->arena, key));
    }
}

/* Tokens --------------------------------------------------------------------------------------- */

/* version (1), expiry in ms (8), digest length (u32), digest, note */
static void add_token(struct verifier *verifier, struct str key, struct str value)
{
    enum { HEAD_LEN = 13 };
    if (value.len < HEAD_LEN || value.data[0] != 1 || key.len != STORE_PREFIX_LEN) {
        tell_row(verifier, false, STR(""), "an idempotency token cannot be read",
                 hex(&verifier->arena, key));
        return;
    }
    char found_by[8 + STORE_PART_LEN]; /* expiry, big-endian, and the token's hash */
    for (int i = 0; i < 8; i++) {
        found_by[i] = value.data[8 - i];
    }
    memcpy(found_by + 8, key.data + STORE_SPACE_LEN, STORE_PART_LEN);
    match_add(verifier->tokens, MATCH_EXPECTED, str_make(found_by, sizeof(found_by)), STR(""));
}

/* Rows ----------------------------------------------------------------------------------------- */

static void add_row_of_space(struct verifier *verifier, struct str key, struct str value)
{
    struct space_info *info = inventory_find(&verifier->inventory, store_key_space(key));
    switch (info->role) {
    case SPACE_ITEMS:
        add_item(verifier, info, key, value);
        break;
    case SPACE_INDEX:
        add_index_entry(verifier, info, key, value);
        break;
    case SPACE_COLLECTIONS:
        match_add(info->extra, MATCH_FOUND, key, value);
        break;
    case SPACE_EXPIRY:
        add_expiry_row(verifier, info, key);
        break;
    case SPACE_STREAM:
    case SPACE_FEED:
        add_stream_row(verifier, info, key, value);
        break;
    case SPACE_KEPT:
    case SPACE_HISTORY:
        add_kept_row(verifier, info, key, value);
        break;
    case SPACE_UNKNOWN:
        info->found.count++;
        break;
    case SPACE_DROPPING:
        break;
    }
}

void verifier_add(struct verifier *verifier, struct str key, struct str value)
{
    arena_reset(&verifier->arena);
    verifier->totals.rows += !verifier->is_second_pass;
    uint32_t space = key.len >= STORE_PREFIX_LEN ? store_key_space(key) : 0;
    if (space >= SPACE_FIRST_FREE) {
        if (!verifier->is_sealed) {
            seal(verifier);
        }
        add_row_of_space(verifier, key, value);
    } else if (space == SPACE_TOKENS) {
        add_token(verifier, key, value);
    } else if (space == SPACE_TOKEN_EXPIRY) {
        match_add(verifier->tokens, MATCH_FOUND, str_skip(key, STORE_PREFIX_LEN), value);
    } else if (!verifier->is_second_pass) {
        inventory_add(&verifier->inventory, key, value, report_inventory, verifier);
    }
}

/* The end of a pass ---------------------------------------------------------------------------- */

static struct str name_of(const struct space_info *info)
{
    if (info->stream != NULL) {
        return info->stream->table.name;
    }
    return info->table != NULL ? info->table->name : STR("");
}

static void check_size(struct verifier *verifier, const struct space_info *info)
{
    bool is_counted = info->role == SPACE_ITEMS || info->role == SPACE_INDEX ||
                      info->role == SPACE_KEPT || info->role == SPACE_HISTORY ||
                      info->role == SPACE_FEED;
    if (!is_counted ||
        (info->size.count == info->found.count && info->size.bytes == info->found.bytes)) {
        return;
    }
    struct str index = info->index != NULL ? info->index->name : STR("");
    const char *what = info->index != NULL           ? ":"
                       : info->role == SPACE_HISTORY ? "earlier versions:"
                       : info->role == SPACE_FEED    ? "changes for Kinesis:"
                                                     : "items:";
    struct str text = arena_format(
        &verifier->arena, "%s%.*s%s %lld rows of %lld bytes were counted, %lld of %lld are there",
        info->index != NULL ? "index " : "", STR_ARG(index), what, (long long)info->size.count,
        (long long)info->size.bytes, (long long)info->found.count, (long long)info->found.bytes);
    tell(verifier, false, name_of(info), text.data);
}

static void check_unknown(struct verifier *verifier, const struct space_info *info)
{
    if (info->role == SPACE_UNKNOWN && info->found.count > 0) {
        struct str text = arena_format(&verifier->arena,
                                       "%lld rows of space %u belong to no table that is described",
                                       (long long)info->found.count, info->space);
        tell(verifier, false, STR(""), text.data);
    }
}

/* Returns whether a second pass is needed. */
static bool end_first_pass(struct verifier *verifier)
{
    struct inventory *inventory = &verifier->inventory;
    bool is_equal = match_is_equal(verifier->tokens);
    for (size_t i = 0; i < inventory->space_count; i++) {
        struct space_info *info = &inventory->spaces[i];
        check_size(verifier, info);
        check_unknown(verifier, info);
        if (is_matched(info)) {
            is_equal = match_is_equal(info->extra) && is_equal;
            match_start_second_pass(info->extra, kept_bytes_max);
        }
        info->found = (struct store_count){0};
    }
    match_start_second_pass(verifier->tokens, kept_bytes_max);
    verifier->is_second_pass = true;
    return !is_equal;
}

static void report_token(void *context, const struct match_difference *difference)
{
    struct verifier *verifier = context;
    arena_reset(&verifier->arena);
    bool is_missing = !str_is_null(difference->expected);
    if (is_missing) {
        tell_row(verifier, false, STR(""), "an idempotency token will never be forgotten",
                 hex(&verifier->arena, difference->key));
    }
}

/* A superfluous expiry row, or one with an earlier time than the item, is harmless, because the
 * sweep checks the item. If it is missing, the item never expires. */
static void report_expiry(struct verifier *verifier, const struct match_difference *difference)
{
    bool is_missing = str_is_null(difference->found);
    tell_row(verifier, !is_missing, name_of(verifier->compared),
             is_missing ? "an item that expires is not listed by its time"
                        : "a row of expiry is left from an earlier time of its item",
             hex(&verifier->arena, difference->key));
}

static const char *difference_kind(const struct match_difference *difference, bool is_index)
{
    if (str_is_null(difference->found)) {
        return is_index ? "an item has no entry in the index" : "an item collection has no size";
    }
    if (str_is_null(difference->expected)) {
        return is_index ? "an entry of the index has no item"
                        : "the size of an item collection is left, but no items are";
    }
    return is_index ? "an entry of the index differs from its item"
                    : "the size of an item collection is wrong";
}

/* Which index, and which item: entries hold its key. */
static struct str entry_text(struct verifier *verifier, const struct match_difference *difference)
{
    struct arena *arena = &verifier->arena;
    const struct space_info *info = verifier->compared;
    struct str row = str_is_null(difference->found) ? difference->expected : difference->found;
    struct str item = hex(arena, difference->key);
    if (row.len > ROW_HEAD_LEN && row.data[0] == ROW_VERSION &&
        (row.data[ROW_HEAD_LEN] & VALUE_TYPE_MASK) == VALUE_M &&
        value_is_valid(str_skip(row, ROW_HEAD_LEN))) {
        item = derive_key_text(arena, info->table, row_decode(row).item);
    }
    return arena_format(arena, "index \"%.*s\", item %.*s", STR_ARG(info->index->name),
                        STR_ARG(item));
}

static void report_difference(void *context, const struct match_difference *difference)
{
    struct verifier *verifier = context;
    const struct space_info *info = verifier->compared;
    arena_reset(&verifier->arena);
    if (info->role == SPACE_EXPIRY) {
        report_expiry(verifier, difference);
        return;
    }
    bool is_index = info->role == SPACE_INDEX;
    struct str detail =
        is_index ? entry_text(verifier, difference) : hex(&verifier->arena, difference->key);
    tell_row(verifier, false, name_of(info), difference_kind(difference, is_index), detail);
}

static void end_second_pass(struct verifier *verifier)
{
    struct inventory *inventory = &verifier->inventory;
    match_compare(verifier->tokens, report_token, verifier);
    for (size_t i = 0; i < inventory->space_count; i++) {
        verifier->compared = &inventory->spaces[i];
        if (!is_matched(verifier->compared)) {
            continue;
        }
        match_compare(verifier->compared->extra, report_difference, verifier);
        if (match_is_incomplete(verifier->compared->extra)) {
            tell(verifier, false, name_of(verifier->compared),
                 "there are too many differences to list all of them");
        }
    }
}

bool verifier_end_pass(struct verifier *verifier)
{
    arena_reset(&verifier->arena);
    end_collection(verifier);
    if (!verifier->is_sealed) {
        seal(verifier);
    }
    if (!verifier->is_second_pass) {
        return end_first_pass(verifier);
    }
    end_second_pass(verifier);
    return false;
}

struct str verifier_describe_space(struct verifier *verifier, uint32_t space, struct arena *arena)
{
    return inventory_describe(&verifier->inventory, space, arena);
}

void verifier_totals(const struct verifier *verifier, struct verify_totals *out)
{
    *out = verifier->totals;
}
