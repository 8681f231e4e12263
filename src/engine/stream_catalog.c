/* The list of streams, in the store and in memory.
 *
 *   catalog | "stream" | space    version 1, when it was disabled in ms (i64; 0: it is enabled),
 *                                 and a description with the name and key of the table, and the
 *                                 stream
 *   catalog | "clock"             version 1, streams.floor_ms (i64)
 *
 * A stream is kept for the retention after it was disabled or its table was deleted. */
#include <stdlib.h>

#include "base/bytes.h"
#include "base/mem.h"
#include "codec/stored_table.h"
#include "engine/engine_internal.h"
#include "engine/stream_internal.h"

void streams_init(struct streams *streams, const struct engine_options *options)
{
    pthread_rwlock_init(&streams->lock, NULL);
    map_init(&streams->entries);
    atomic_init(&streams->floor_ms, 0);
    const int64_t hour_ms = (int64_t)60 * 60 * 1000;
    streams->shard_count = options->stream_shards;
    streams->shard_ms = options->stream_shard_ms > 0 ? options->stream_shard_ms : 4 * hour_ms;
    streams->retention_ms =
        options->stream_retention_ms > 0 ? options->stream_retention_ms : 24 * hour_ms;
}

void streams_finish(struct streams *streams)
{
    size_t at = 0;
    struct str path;
    void *entry;
    while (map_next(&streams->entries, &at, &path, &entry)) {
        stream_release(&((struct stream_entry *)entry)->stream);
    }
    map_finish(&streams->entries);
    pthread_rwlock_destroy(&streams->lock);
}

int64_t stream_time_ms(struct engine *engine)
{
    int64_t now_ms = trusted_clock_ms(&engine->clock);
    int64_t floor_ms = atomic_load(&engine->streams.floor_ms);
    while (now_ms > floor_ms &&
           !atomic_compare_exchange_weak(&engine->streams.floor_ms, &floor_ms, now_ms)) {
        /* floor_ms is the newer one */
    }
    return MAX(now_ms, floor_ms);
}

/* --- entries --- */

struct stream_entry *stream_entry_of(const struct stream *stream)
{
    return CONTAINER_OF(stream, struct stream_entry, stream);
}

struct stream_entry *stream_acquire(struct engine *engine, struct str path)
{
    pthread_rwlock_rdlock(&engine->streams.lock);
    struct stream_entry *entry = map_get(&engine->streams.entries, path);
    if (entry != NULL) {
        atomic_fetch_add(&entry->references, 1);
    }
    pthread_rwlock_unlock(&engine->streams.lock);
    return entry;
}

void stream_release(const struct stream *stream)
{
    if (stream == NULL) {
        return;
    }
    struct stream_entry *entry = stream_entry_of(stream);
    if (atomic_fetch_sub(&entry->references, 1) == 1) {
        arena_finish(&entry->arena);
        mem_free(entry);
    }
}

struct stream_entry **streams_acquire_all(struct engine *engine, size_t *out_count)
{
    pthread_rwlock_rdlock(&engine->streams.lock);
    struct stream_entry **entries =
        mem_zalloc((engine->streams.entries.count + 1) * sizeof(struct stream_entry *));
    size_t at = 0;
    size_t count = 0;
    struct str path;
    void *entry;
    while (map_next(&engine->streams.entries, &at, &path, &entry)) {
        entries[count] = entry;
        atomic_fetch_add(&entries[count++]->references, 1);
    }
    pthread_rwlock_unlock(&engine->streams.lock);
    *out_count = count;
    return entries;
}

void streams_forget(struct engine *engine, struct stream_entry *entry)
{
    pthread_rwlock_wrlock(&engine->streams.lock);
    struct stream_entry *removed = map_remove(&engine->streams.entries, entry->stream.path);
    pthread_rwlock_unlock(&engine->streams.lock);
    assert(removed == entry);
    stream_release(&removed->stream);
}

void stream_note_trimmed(struct engine *engine, struct stream_entry *entry, uint32_t slot,
                         struct stream_trimmed last)
{
    pthread_rwlock_wrlock(&engine->streams.lock);
    if (entry->trimmed[slot].stamp < last.stamp) {
        entry->trimmed[slot] = last;
    }
    pthread_rwlock_unlock(&engine->streams.lock);
}

uint64_t stream_trim_horizon(struct engine *engine, const struct stream *stream,
                             struct stream_shard shard)
{
    pthread_rwlock_rdlock(&engine->streams.lock);
    struct stream_trimmed trimmed = stream_entry_of(stream)->trimmed[shard.slot];
    pthread_rwlock_unlock(&engine->streams.lock);
    if (trimmed.stamp == 0 || shard.epoch > trimmed.epoch) {
        return 0;
    }
    return shard.epoch == trimmed.epoch ? trimmed.stamp + 1 : UINT64_MAX;
}

static int path_cmp(const void *a, const void *b)
{
    return str_cmp(((const struct stream *)a)->path, ((const struct stream *)b)->path);
}

/* A copy of what names a stream. */
static struct stream copy_names(struct arena *arena, const struct stream *stream)
{
    struct str path = arena_copy(arena, stream->path);
    return (struct stream){
        .path = path,
        .table_name = str_make(path.data + (stream->table_name.data - stream->path.data),
                               stream->table_name.len),
        .label = str_skip(path, path.len - stream->label.len),
    };
}

void engine_list_streams(struct engine *engine, struct arena *arena, struct str table_name,
                         struct str after, size_t limit, struct stream_list *out)
{
    *out = (struct stream_list){0};
    pthread_rwlock_rdlock(&engine->streams.lock);
    out->streams = ARENA_ARRAY(arena, struct stream, engine->streams.entries.count + 1);
    size_t at = 0;
    struct str path;
    void *value;
    while (map_next(&engine->streams.entries, &at, &path, &value)) {
        const struct stream *stream = &((struct stream_entry *)value)->stream;
        if ((str_is_null(after) || str_cmp(path, after) > 0) &&
            (str_is_null(table_name) || str_eq(stream->table_name, table_name))) {
            out->streams[out->count++] = copy_names(arena, stream);
        }
    }
    pthread_rwlock_unlock(&engine->streams.lock);
    qsort(out->streams, out->count, sizeof(*out->streams), path_cmp);
    out->more = out->count > limit;
    out->count = MIN(out->count, limit);
}

/* --- rows --- */

enum { STREAM_VERSION = 1, STREAM_HEAD_LEN = 1 + 8 };

struct str stream_catalog_key(struct arena *arena, uint32_t space)
{
    char sort[STORE_SPACE_LEN];
    put_u32_be(sort, space);
    return catalog_key(arena, "stream", str_make(sort, sizeof(sort)));
}

struct str stream_row_encode(struct arena *arena, const struct table *table, int64_t ended_ms)
{
    struct table description = {
        .name = table->name,
        .key = table->key,
        .stream = table->stream,
        .stream_since_ms = table->stream_since_ms,
        .stream_space = table->stream_space,
        .stream_shards = table->stream_shards,
        .stream_shard_ms = table->stream_shard_ms,
    };
    struct str bytes = table_encode(arena, &description);
    char *row = arena_bytes(arena, STREAM_HEAD_LEN + bytes.len);
    row[0] = STREAM_VERSION;
    put_u64_le(row + 1, (uint64_t)ended_ms);
    memcpy(row + STREAM_HEAD_LEN, bytes.data, bytes.len);
    return str_make(row, STREAM_HEAD_LEN + bytes.len);
}

static struct str path_of(struct arena *arena, struct str table_name, int64_t since_ms)
{
    struct str label = stream_label(arena, since_ms);
    return arena_format(arena, "table/%.*s/stream/%.*s", STR_ARG(table_name), STR_ARG(label));
}

/* A new entry, with one reference; NULL: *err says why the row cannot be read. */
static struct stream_entry *decode(struct str row, struct err *err)
{
    struct arena arena;
    arena_init(&arena);
    struct table table;
    if (row.len < STREAM_HEAD_LEN || row.data[0] != STREAM_VERSION) {
        err_set(err, ERR_INTERNAL, "a stream's description in the store cannot be read");
        return NULL;
    }
    if (!table_decode(&arena, str_skip(row, STREAM_HEAD_LEN), &table, err)) {
        arena_finish(&arena);
        return NULL;
    }
    struct stream_entry *entry =
        mem_zalloc(sizeof(*entry) + table.stream_shards * sizeof(entry->trimmed[0]));
    int64_t ended_ms = (int64_t)get_u64_le(row.data + 1);
    struct str path = path_of(&arena, table.name, table.stream_since_ms);
    struct str label = stream_label(&arena, table.stream_since_ms);
    entry->arena = arena;
    entry->stream = (struct stream){
        .path = path,
        .table_name = str_make(path.data + strlen("table/"), table.name.len),
        .label = str_skip(path, path.len - label.len),
        .view = table.stream,
        .key = table.key,
        .since_ms = table.stream_since_ms,
        .shard_ms = table.stream_shard_ms,
        .shard_count = table.stream_shards,
        .space = table.stream_space,
    };
    atomic_init(&entry->references, 1);
    atomic_init(&entry->ended_ms, ended_ms);
    atomic_init(&entry->closed_ms, 0);
    atomic_init(&entry->last_epoch, -1);
    return entry;
}

bool stream_check_row(struct str row, struct err *err)
{
    struct stream_entry *entry = decode(row, err);
    stream_release(entry == NULL ? NULL : &entry->stream);
    return entry != NULL;
}

void stream_publish(struct engine *engine, struct str row, uint64_t version)
{
    if (str_is_null(row)) {
        return;
    }
    struct arena arena;
    arena_init(&arena);
    struct err err = ERR_INIT(&arena);
    struct stream_entry *entry = decode(row, &err);
    assert(entry != NULL); /* this server has written it */
    pthread_rwlock_wrlock(&engine->streams.lock);
    struct stream_entry *known = map_get(&engine->streams.entries, entry->stream.path);
    atomic_store(&entry->known_since, version);
    if (known != NULL && known->stream.space == entry->stream.space) {
        if (atomic_load(&known->ended_ms) != atomic_load(&entry->ended_ms)) {
            atomic_store(&known->known_since, version);
            atomic_store(&known->ended_ms, atomic_load(&entry->ended_ms));
        }
    } else {
        known = map_put(&engine->streams.entries, entry->stream.path, entry);
        entry = known; /* an older stream with the same name, which cannot be found any more */
    }
    pthread_rwlock_unlock(&engine->streams.lock);
    if (entry != NULL) {
        stream_release(&entry->stream);
    }
    arena_finish(&arena);
}

static bool has_row(const struct catalog_rows *rows, const struct stream *stream)
{
    for (size_t i = 0; i < rows->count; i++) {
        if (get_u32_be(str_skip(rows->keys[i], STORE_PREFIX_LEN).data) == stream->space) {
            return true;
        }
    }
    return false;
}

void streams_replace_all(struct engine *engine, const struct catalog_rows *rows, uint64_t version)
{
    for (size_t i = 0; i < rows->count; i++) {
        stream_publish(engine, rows->values[i], version);
    }
    size_t count;
    struct stream_entry **entries = streams_acquire_all(engine, &count);
    for (size_t i = 0; i < count; i++) {
        if (!has_row(rows, &entries[i]->stream)) {
            streams_forget(engine, entries[i]);
        }
        stream_release(&entries[i]->stream);
    }
    mem_free(entries);
}

/* One partition serves so many units a second. */
enum { PARTITION_READ_UNITS = 3000, PARTITION_WRITE_UNITS = 1000 };
/* The service gives a table 40,000 write units at most, without asking. */
enum { SHARDS_BY_CAPACITY_MAX = 40 };

uint32_t stream_shards_by_capacity(const struct table *table)
{
    struct unit_pair units = table_warm(table, NULL);
    int64_t by_reads = (units.read - 1) / PARTITION_READ_UNITS + 1;
    int64_t by_writes = (units.write - 1) / PARTITION_WRITE_UNITS + 1;
    int64_t partitions = MAX(MAX(by_reads, by_writes), (int64_t)1);
    return (uint32_t)MIN(partitions, (int64_t)SHARDS_BY_CAPACITY_MAX);
}

struct str stream_start(struct engine *engine, struct table *table, uint32_t space,
                        struct store_batch *batch, struct arena *arena)
{
    /* A label names one stream, also of tables of one name that follow each other quickly. */
    int64_t since_ms = MAX(trusted_clock_ms(&engine->clock), table->stream_since_ms + 1);
    pthread_rwlock_rdlock(&engine->streams.lock);
    while (map_get(&engine->streams.entries, path_of(arena, table->name, since_ms)) != NULL) {
        since_ms++;
    }
    pthread_rwlock_unlock(&engine->streams.lock);
    table->stream_since_ms = since_ms;
    table->stream_space = space;
    uint32_t wanted = engine->streams.shard_count;
    table->stream_shards = wanted > 0 ? wanted : stream_shards_by_capacity(table);
    table->stream_shard_ms = engine->streams.shard_ms;
    struct str row = stream_row_encode(arena, table, 0);
    store_batch_put_owned(batch, stream_catalog_key(arena, space), row);
    return row;
}

struct str stream_stop(struct engine *engine, struct table *table, struct store_batch *batch,
                       struct arena *arena)
{
    struct str row = stream_row_encode(arena, table, stream_time_ms(engine));
    store_batch_put_owned(batch, stream_catalog_key(arena, table->stream_space), row);
    table->stream = STREAM_NONE;
    table->stream_space = 0;
    table->stream_shards = 0;
    table->stream_shard_ms = 0;
    return row;
}

void table_change_stream(struct table_change *change, struct table *table, enum stream_view view)
{
    struct engine *engine = change->call.engine;
    if (view == STREAM_NONE) {
        change->stream_row = stream_stop(engine, table, change->batch, change->call.arena);
        return;
    }
    table->stream = view;
    change->stream_row =
        stream_start(engine, table, change->next_space++, change->batch, change->call.arena);
}

/* --- loading --- */

struct stream_load {
    struct catalog_read read;
    struct engine *engine;
    struct stream_entry *entry;
};

/* Times are smaller than this for thousands of years. */
#define TIME_MS_END ((int64_t)1 << 48)

int64_t stream_floor_decode(struct str row)
{
    int64_t floor_ms = 0;
    if (row.len == 1 + 8 && row.data[0] == STREAM_VERSION) {
        floor_ms = (int64_t)get_u64_le(row.data + 1);
    }
    return floor_ms < TIME_MS_END ? MAX(floor_ms, (int64_t)0) : 0;
}

static bool load_clock(struct store_range *range, struct str key, struct str value)
{
    (void)key;
    struct stream_load *load = CONTAINER_OF(range, struct stream_load, read.range);
    atomic_store(&load->engine->streams.floor_ms, stream_floor_decode(value));
    return true;
}

/* The newest record gives a lower bound of the time, whatever the clock says now. */
static bool load_last_record(struct store_range *range, struct str key, struct str value)
{
    (void)key;
    struct stream_load *load = CONTAINER_OF(range, struct stream_load, read.range);
    int64_t time_ms = stream_record_decode(value).time_ms;
    struct streams *streams = &load->engine->streams;
    atomic_store(&streams->floor_ms, MAX(time_ms, atomic_load(&streams->floor_ms)));
    return false;
}

static bool load_trimmed(struct store_range *range, struct str key, struct str value)
{
    struct stream_load *load = CONTAINER_OF(range, struct stream_load, read.range);
    stream_note_trimmed(load->engine, load->entry, stream_key_shard(key).slot,
                        stream_trim_decode(value));
    return true;
}

static void load_state(struct stream_load *load)
{
    struct arena *arena = load->read.arena;
    const struct stream *stream = &load->entry->stream;
    struct str trims = stream_trim_key(arena, stream->space, 0);
    load->read.range = (struct store_range){
        .lo = stream_prefix(arena, stream->space, (struct stream_shard){0}),
        .hi = trims,
        .backward = true,
        .row = load_last_record,
    };
    catalog_read(&load->read);
    load->read.range = (struct store_range){.row = load_trimmed};
    stream_trim_range(&load->read.range, arena, stream->space);
    catalog_read(&load->read);
}

bool streams_load(struct engine *engine, struct err *err)
{
    struct arena arena;
    arena_init(&arena);
    struct stream_load load = {
        .read = {.engine = engine, .err = err, .arena = &arena},
        .engine = engine,
    };
    catalog_read_part(&load.read, "clock", load_clock);
    size_t count;
    struct stream_entry **entries = streams_acquire_all(engine, &count);
    for (size_t i = 0; i < count; i++) {
        load.entry = entries[i];
        load_state(&load);
        stream_release(&entries[i]->stream);
    }
    mem_free(entries);
    arena_finish(&arena);
    return err->code == ERR_NONE;
}
