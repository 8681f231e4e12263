/* Deletes stream records that are older than the retention. Time and stamps grow together, so old
 * records are the first of each shard, and one stamp per slot is the horizon. On the thread of the
 * housekeeper. */
#include "base/clock.h"
#include "base/mem.h"
#include "engine/engine_internal.h"
#include "engine/stream_internal.h"

enum { TRIM_MAX = 512, INTERVAL_MIN_MS = 50, INTERVAL_MAX_MS = 30 * 1000 };

int64_t stream_trim_interval_ms(const struct engine *engine)
{
    int64_t wanted_ms = engine->streams.retention_ms / 4;
    return MIN(MAX(wanted_ms, (int64_t)INTERVAL_MIN_MS), (int64_t)INTERVAL_MAX_MS);
}

struct trim {
    struct background *background;
    struct stream_entry *entry;
    struct arena arena;
    int64_t oldest_ms; /* older records are trimmed */
    struct str from;   /* where the next range begins */
    bool found;        /* a row from there on */
    bool is_complete;  /* there is none left that is old */
    struct background_range range;
    struct background_update update;
    struct str declared[3];
    struct stream_shard shard; /* of all that is to be erased in one update */
    struct stream_trimmed last;
    struct str keys[TRIM_MAX];
    size_t count;
};

/* Takes old rows of one shard; after the first row that is kept, the scan continues with the next
 * shard. */
static bool trim_row(struct store_range *range, struct str key, struct str value)
{
    struct trim *trim = CONTAINER_OF(range, struct trim, range.range);
    struct stream_shard shard = stream_key_shard(key);
    trim->found = true;
    if (trim->count > 0 && (shard.epoch != trim->shard.epoch || shard.slot != trim->shard.slot)) {
        return false;
    }
    trim->shard = shard;
    if (stream_record_decode(value).time_ms >= trim->oldest_ms) {
        struct str prefix = str_make(key.data, STORE_PREFIX_LEN);
        trim->from = key_after_prefix(&trim->arena, prefix);
        return false;
    }
    trim->from = arena_copy(&trim->arena, key);
    trim->keys[trim->count++] = trim->from;
    return trim->count < TRIM_MAX;
}

static bool trim_eval(struct store_update *update, const struct str *rows,
                      struct store_batch *batch)
{
    struct trim *trim = CONTAINER_OF(update, struct trim, update.update);
    if (stream_trim_decode(rows[0]).stamp < trim->last.stamp) {
        store_batch_put(batch, 0, stream_trim_row(&trim->arena, trim->last));
    }
    for (size_t i = 0; i < trim->count; i++) {
        assert(store_key_space(trim->keys[i]) == trim->entry->stream.space);
        assert(stream_key_stamp(trim->keys[i]) <= trim->last.stamp); /* the horizon */
        store_batch_erase_owned(batch, trim->keys[i]);
    }
    return true;
}

/* Publishes the new horizon first, then deletes: see engine_read_stream(). */
static bool erase_rows(struct trim *trim)
{
    assert(trim->count > 0);
    assert(trim->count <= TRIM_MAX);
    trim->last = (struct stream_trimmed){
        .epoch = trim->shard.epoch,
        .stamp = stream_key_stamp(trim->keys[trim->count - 1]),
    };
    stream_note_trimmed(trim->background->engine, trim->entry, trim->shard.slot, trim->last);
    trim->declared[0] = stream_trim_key(&trim->arena, trim->entry->stream.space, trim->shard.slot);
    trim->update.update = (struct store_update){
        .keys = trim->declared,
        .key_count = 1,
        .arena = &trim->arena,
        .eval = trim_eval,
        .frees = STORE_FREES_ROWS,
    };
    return background_update(trim->background, &trim->update) == STORE_OK;
}

/* Reads and erases some rows; false when there is nothing more to do. */
static bool trim_some(struct trim *trim)
{
    const struct stream *stream = &trim->entry->stream;
    struct stream_shard behind = {stream_epoch_at(stream, trim->oldest_ms) + 1, 0};
    trim->count = 0;
    trim->found = false;
    trim->range.range = (struct store_range){
        .lo = trim->from,
        .hi = stream_prefix(&trim->arena, stream->space, behind),
        .arena = &trim->arena,
        .row = trim_row,
    };
    if (str_cmp(trim->from, trim->range.range.hi) < 0 &&
        background_range(trim->background, &trim->range) != STORE_OK) {
        return false;
    }
    trim->is_complete = !trim->found;
    return trim->found && (trim->count == 0 || erase_rows(trim));
}

static bool note_horizon(struct store_range *range, struct str key, struct str value)
{
    struct trim *trim = CONTAINER_OF(range, struct trim, range.range);
    stream_note_trimmed(trim->background->engine, trim->entry, stream_key_shard(key).slot,
                        stream_trim_decode(value));
    return true;
}

/* Another server may have trimmed the stream before this one became the leader. */
static void read_horizons(struct trim *trim)
{
    trim->range.range = (struct store_range){.arena = &trim->arena, .row = note_horizon};
    stream_trim_range(&trim->range.range, &trim->arena, trim->entry->stream.space);
    (void)background_range(trim->background, &trim->range);
}

static void trim_records(struct trim *trim)
{
    struct stream_entry *entry = trim->entry;
    read_horizons(trim);
    trim->from = stream_prefix(&trim->arena, entry->stream.space,
                               (struct stream_shard){entry->trim_epoch, 0});
    trim->is_complete = false;
    while (!background_is_stopping(trim->background) && trim_some(trim)) {
        char from[STORE_PREFIX_LEN + STREAM_STAMP_LEN]; /* everything before it is trimmed */
        size_t len = trim->from.len;
        memcpy(from, trim->from.data, len);
        arena_reset(&trim->arena);
        trim->from = arena_copy(&trim->arena, str_make(from, len));
    }
    if (trim->is_complete) {
        entry->trim_epoch = stream_epoch_at(&entry->stream, trim->oldest_ms);
    }
}

/* --- streams that have been off for long --- */

static bool drop_eval(struct store_update *update, const struct str *rows,
                      struct store_batch *batch)
{
    if (str_is_null(rows[0])) {
        return false;
    }
    store_batch_erase(batch, 0);
    store_batch_put(batch, 1, STR(""));
    store_batch_put(batch, 2, follow_version_row(update->arena, follow_version_after(rows[2])));
    return true;
}

static void drop_stream(struct trim *trim)
{
    struct engine *engine = trim->background->engine;
    uint32_t space = trim->entry->stream.space;
    trim->declared[0] = stream_catalog_key(&trim->arena, space);
    trim->declared[1] = catalog_drop_key(&trim->arena, space);
    trim->declared[2] = follow_version_key(&trim->arena);
    trim->update.update = (struct store_update){
        .keys = trim->declared,
        .key_count = 3,
        .arena = &trim->arena,
        .eval = drop_eval,
        .frees = STORE_FREES_SPACES,
    };
    enum store_status status = background_update(trim->background, &trim->update);
    if (status == STORE_OK) {
        follow_look_again(engine); /* which removes the stream from memory */
        catalog_drop_spaces(engine, &space, 1);
    } else if (status == STORE_UNKNOWN) {
        follow_note_unknown(engine);
    }
}

void stream_trim(struct background *background)
{
    struct engine *engine = background->engine;
    struct trim *trim = mem_zalloc(sizeof(*trim));
    trim->background = background;
    trim->oldest_ms = trusted_clock_ms(&engine->clock) - engine->streams.retention_ms;
    arena_init(&trim->arena);
    size_t count;
    struct stream_entry **entries = streams_acquire_all(engine, &count);
    for (size_t i = 0; i < count; i++) {
        trim->entry = entries[i];
        int64_t ended_ms = atomic_load(&entries[i]->ended_ms);
        if (ended_ms != 0 && ended_ms <= trim->oldest_ms &&
            !catalog_knows_stream(engine, &entries[i]->stream)) {
            drop_stream(trim);
        } else if (trim->oldest_ms >= entries[i]->stream.since_ms) {
            trim_records(trim);
        }
        arena_reset(&trim->arena);
        stream_release(&entries[i]->stream);
    }
    mem_free(entries);
    arena_finish(&trim->arena);
    mem_free(trim);
}
