/* Describes streams and reads their records. On the thread of the call.
 *
 * A shard that is reported as closed must never get another record, also after a restart or if the
 * clock is set back. Writes take their epoch from stream_time_ms(), which never goes back. To close
 * all earlier epochs, that time is raised to the current time; then an update makes it durable, and
 * makes the current shards the newest parts of the logs of their slots. When the update is done,
 * all writes that were evaluated with an earlier time are committed, and later ones go to the
 * current shards, also those of another server whose clock is behind. This is done once per epoch
 * of a stream; closed_ms records it. */
#include "base/bytes.h"
#include "base/clock.h"
#include "engine/engine_internal.h"
#include "engine/stream_internal.h"
#include "err/messages.h"

/* --- describing --- */

static void finish_describe(struct stream_describe *describe)
{
    describe->call.done(&describe->call);
}

/* Epochs from the first that is not trimmed as a whole to `last`. */
static void set_epochs(struct stream_describe *describe, uint64_t last, bool last_is_closed)
{
    const struct engine *engine = describe->call.engine;
    uint64_t first = stream_epoch_at(describe->stream, trusted_clock_ms(&engine->clock) -
                                                           engine->streams.retention_ms);
    describe->first_epoch = first;
    describe->epoch_count = first > last ? 0 : last - first + 1;
    describe->closed_count = describe->epoch_count - (describe->epoch_count > 0 && !last_is_closed);
}

static bool barrier_eval(struct store_update *update, const struct str *rows,
                         struct store_batch *batch)
{
    struct stream_describe *describe = CONTAINER_OF(update, struct stream_describe, update);
    int64_t floor_ms = MAX(describe->barrier_ms, stream_floor_decode(rows[0]));
    char *row = arena_bytes(update->arena, 1 + 8);
    row[0] = 1;
    put_u64_le(row + 1, (uint64_t)floor_ms);
    store_batch_put(batch, 0, str_make(row, 1 + 8));
    const struct stream *stream = describe->stream;
    struct stream_shard newest = {.epoch = stream_epoch_at(stream, describe->barrier_ms)};
    for (; newest.slot < stream->shard_count; newest.slot++) {
        store_batch_advance_log(batch, stream_log(update->arena, stream->space, newest.slot),
                                stream_prefix(update->arena, stream->space, newest), 0);
    }
    return true;
}

/* If the store accepts no writes, the shards stay open. */
static void barrier_done(struct store_update *update)
{
    struct stream_describe *describe = CONTAINER_OF(update, struct stream_describe, update);
    struct stream_entry *entry = stream_entry_of(describe->stream);
    int64_t closed_ms = atomic_load(&entry->closed_ms);
    if (update->status != STORE_OK) {
        set_epochs(describe, stream_epoch_at(describe->stream, closed_ms), false);
    }
    while (update->status == STORE_OK && describe->barrier_ms > closed_ms &&
           !atomic_compare_exchange_weak(&entry->closed_ms, &closed_ms, describe->barrier_ms)) {
        /* closed_ms is the newer one */
    }
    finish_describe(describe);
}

/* Describes an enabled stream: its last shards are open; earlier ones are closed now, if need be.
 */
static void describe_open(struct stream_describe *describe)
{
    struct engine_call *call = &describe->call;
    int64_t now_ms = stream_time_ms(call->engine);
    uint64_t last = stream_epoch_at(describe->stream, now_ms);
    set_epochs(describe, last, false);
    const struct stream_entry *entry = stream_entry_of(describe->stream);
    if (last == 0 ||
        stream_epoch_start_ms(describe->stream, last) <= atomic_load(&entry->closed_ms)) {
        finish_describe(describe);
        return;
    }
    describe->barrier_ms = now_ms;
    describe->update_key = catalog_key(call->arena, "clock", STR(""));
    describe->update = (struct store_update){
        .keys = &describe->update_key,
        .key_count = 1,
        .arena = call->arena,
        .home = call->home,
        .eval = barrier_eval,
        .done = barrier_done,
    };
    store_update(call->engine->store, &describe->update);
}

static bool last_row(struct store_range *range, struct str key, struct str value)
{
    (void)value;
    struct stream_describe *describe = CONTAINER_OF(range, struct stream_describe, range);
    describe->last_epoch = MAX(describe->last_epoch, stream_key_shard(key).epoch);
    return false;
}

static void last_done(struct store_range *range)
{
    struct stream_describe *describe = CONTAINER_OF(range, struct stream_describe, range);
    struct stream_entry *entry = stream_entry_of(describe->stream);
    engine_set_store_error(&describe->call.err, range->status);
    if (describe->call.err.code == ERR_NONE) {
        atomic_store(&entry->last_epoch, (int64_t)describe->last_epoch);
        set_epochs(describe, describe->last_epoch, true);
    }
    finish_describe(describe);
}

/* Describes a disabled stream without writers. Calls that were under way when it was disabled may
 * have written later, so its last record is considered for the last epoch. */
static void describe_ended(struct stream_describe *describe)
{
    struct engine_call *call = &describe->call;
    struct stream_entry *entry = stream_entry_of(describe->stream);
    int64_t known = atomic_load(&entry->last_epoch);
    if (known >= 0) {
        set_epochs(describe, (uint64_t)known, true);
        finish_describe(describe);
        return;
    }
    describe->last_epoch = stream_epoch_at(describe->stream, atomic_load(&entry->ended_ms));
    uint32_t space = describe->stream->space;
    describe->range = (struct store_range){
        .lo = stream_prefix(call->arena, space, (struct stream_shard){0}),
        .hi = stream_trim_key(call->arena, space, 0),
        .backward = true,
        .arena = call->arena,
        .home = call->home,
        .row = last_row,
        .done = last_done,
    };
    store_range(call->engine->store, &describe->range);
}

static void describe_state(struct stream_describe *describe)
{
    struct engine *engine = describe->call.engine;
    const struct stream_entry *entry = stream_entry_of(describe->stream);
    if (atomic_load(&entry->ended_ms) == 0) {
        describe->status =
            catalog_ignores_stream(engine, describe->stream) ? STREAM_ENABLING : STREAM_ENABLED;
        describe_open(describe);
    } else if (catalog_knows_stream(engine, describe->stream)) {
        describe->status = STREAM_DISABLING;
        describe_open(describe);
    } else {
        describe->status = STREAM_DISABLED;
        describe_ended(describe);
    }
}

/* How old the horizons may be that were read from the store. */
enum { HORIZON_AGE_US = 1000 * 1000 };

static bool note_horizon(struct store_range *range, struct str key, struct str value)
{
    struct stream_describe *describe = CONTAINER_OF(range, struct stream_describe, range);
    stream_note_trimmed(describe->call.engine, stream_entry_of(describe->stream),
                        stream_key_shard(key).slot, stream_trim_decode(value));
    return true;
}

static void horizons_done(struct store_range *range)
{
    struct stream_describe *describe = CONTAINER_OF(range, struct stream_describe, range);
    engine_set_store_error(&describe->call.err, range->status);
    if (describe->call.err.code != ERR_NONE) {
        finish_describe(describe);
        return;
    }
    atomic_store(&stream_entry_of(describe->stream)->horizon_read_us, clock_monotonic_us());
    describe_state(describe);
}

/* Another server trims the stream: reads what it has trimmed, so that iterators do not begin with
 * records that are gone. */
static void read_horizons(struct stream_describe *describe)
{
    struct engine_call *call = &describe->call;
    describe->range = (struct store_range){
        .arena = call->arena,
        .home = call->home,
        .row = note_horizon,
        .done = horizons_done,
    };
    stream_trim_range(&describe->range, call->arena, describe->stream->space);
    store_range(call->engine->store, &describe->range);
}

void engine_describe_stream(struct stream_describe *describe)
{
    struct engine *engine = describe->call.engine;
    struct stream_entry *entry = stream_acquire(engine, describe->path);
    describe->stream = entry == NULL ? NULL : &entry->stream;
    if (entry == NULL) {
        struct str arn = stream_arn(engine, describe->call.arena, describe->path);
        err_set(&describe->call.err, ERR_RESOURCE_NOT_FOUND, MESSAGE_STREAM_NOT_FOUND,
                STR_ARG(arn));
        finish_describe(describe);
    } else if (!store_is_leader(engine->store) &&
               clock_monotonic_us() - atomic_load(&entry->horizon_read_us) > HORIZON_AGE_US) {
        read_horizons(describe);
    } else {
        describe_state(describe);
    }
}

/* --- records --- */

enum { RECORDS_BYTES_MAX = 1 << 20 };

static bool read_record(struct store_range *range, struct str key, struct str value)
{
    struct stream_read *read = CONTAINER_OF(range, struct stream_read, range);
    struct stream_record record = stream_record_decode(value);
    uint64_t stamp = stream_key_stamp(key);
    if (read->count == read->limit ||
        (read->count > 0 && read->bytes + record.size > RECORDS_BYTES_MAX)) {
        read->ended = false;
        return false;
    }
    read->emit(read, stamp, &record);
    read->count++;
    read->bytes += record.size;
    read->next_position = stamp + 1;
    return true;
}

/* The trimmer publishes the new horizon before it deletes records, so it is enough to look at the
 * horizon after the rows were read. */
static void end_read(struct stream_read *read)
{
    if (read->position < stream_trim_horizon(read->call.engine, read->stream, read->shard)) {
        err_set(&read->call.err, ERR_TRIMMED_DATA_ACCESS, MESSAGE_TRIMMED);
    }
    read->call.done(&read->call);
}

static void trim_done(struct store_get *get)
{
    struct stream_read *read = CONTAINER_OF(get, struct stream_read, get);
    engine_set_store_error(&read->call.err, get->status);
    if (get->status == STORE_OK) {
        stream_note_trimmed(read->call.engine, stream_entry_of(read->stream), read->shard.slot,
                            stream_trim_decode(get->rows[0]));
    }
    end_read(read);
}

/* Another server may trim the stream: its horizon is a row that is written with the deletions. */
static void read_done(struct store_range *range)
{
    struct stream_read *read = CONTAINER_OF(range, struct stream_read, range);
    struct engine_call *call = &read->call;
    engine_set_store_error(&call->err, range->status);
    if (store_is_leader(call->engine->store) || call->err.code != ERR_NONE) {
        end_read(read);
        return;
    }
    read->trim_key = stream_trim_key(call->arena, read->stream->space, read->shard.slot);
    read->get = (struct store_get){
        .keys = &read->trim_key,
        .key_count = 1,
        .arena = call->arena,
        .home = call->home,
        .done = trim_done,
    };
    store_get(call->engine->store, &read->get);
}

static void read_before_thread_change(struct store_range *range)
{
    struct stream_read *read = CONTAINER_OF(range, struct stream_read, range);
    if (read->call.before_thread_change != NULL) {
        read->call.before_thread_change(read->call.owner);
    }
}

/* The rows of a shard from a position on. */
static struct store_range shard_range(const struct engine_call *call, const struct stream *stream,
                                      struct stream_shard shard, uint64_t position)
{
    struct str prefix = stream_prefix(call->arena, stream->space, shard);
    return (struct store_range){
        .lo = stream_record_key(call->arena, stream->space, shard, position),
        .hi = key_after_prefix(call->arena, prefix),
        .arena = call->arena,
        .home = call->home,
    };
}

void engine_read_stream(struct stream_read *read)
{
    read->next_position = read->position;
    read->ended = true;
    read->range = shard_range(&read->call, read->stream, read->shard, read->position);
    read->range.row = read_record;
    read->range.done = read_done;
    read->range.before_thread_change = read_before_thread_change;
    store_range(read->call.engine->store, &read->range);
}

static bool latest_row(struct store_range *range, struct str key, struct str value)
{
    (void)value;
    struct stream_latest *latest = CONTAINER_OF(range, struct stream_latest, range);
    latest->position = stream_key_stamp(key) + 1;
    return false;
}

static void latest_done(struct store_range *range)
{
    struct stream_latest *latest = CONTAINER_OF(range, struct stream_latest, range);
    engine_set_store_error(&latest->call.err, range->status);
    latest->call.done(&latest->call);
}

void engine_find_latest(struct stream_latest *latest)
{
    latest->position = stream_trim_horizon(latest->call.engine, latest->stream, latest->shard);
    latest->range = shard_range(&latest->call, latest->stream, latest->shard, latest->position);
    latest->range.backward = true;
    latest->range.row = latest_row;
    latest->range.done = latest_done;
    store_range(latest->call.engine->store, &latest->range);
}
