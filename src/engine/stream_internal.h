/* engine/stream_internal.h: the streams in memory and their rows, for the other files of this
 * folder.
 */
#ifndef GRAMME_ENGINE_STREAM_INTERNAL_H
#define GRAMME_ENGINE_STREAM_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/map.h"
#include "engine/background.h"
#include "engine/stream.h"

/* The last trimmed record of all shards of a slot. */
struct stream_trimmed {
    uint64_t epoch;
    uint64_t stamp; /* 0: none is trimmed */
};

/* A stream in memory, with a reference count. */
struct stream_entry {
    struct stream stream;
    struct arena arena;
    atomic_int references;
    _Atomic uint64_t known_since; /* version of the catalog in which it was enabled or disabled */
    _Atomic int64_t ended_ms;     /* when it was disabled; 0: it is enabled */
    _Atomic int64_t closed_ms;    /* epochs that end at or before this time get no more records */
    _Atomic int64_t last_epoch;   /* of a disabled stream without writers; -1: not known yet */
    /* When `trimmed` was last read; only if another server trims. */
    _Atomic int64_t horizon_read_us;
    uint64_t trim_epoch;             /* older epochs have no records; housekeeper only */
    struct stream_trimmed trimmed[]; /* by slot, under the lock of streams */
};

struct streams {
    pthread_rwlock_t lock;
    struct map entries;       /* by path */
    _Atomic int64_t floor_ms; /* stream_time_ms() is never earlier */
    /* Of streams that are enabled from now on; 0: by the capacity of the table. */
    uint32_t shard_count;
    int64_t shard_ms;
    int64_t retention_ms;
};

/* Makes an empty set of streams. */
void streams_init(struct streams *streams, const struct engine_options *options);
/* Reads all streams, before any call. Blocks. */
MUST_USE bool streams_load(struct engine *engine, struct err *err);
/* Frees all streams. */
void streams_finish(struct streams *streams);

/* Returns the current time, but never an earlier one than before, also across restarts: see
 * docs/internals/formats.md. */
int64_t stream_time_ms(struct engine *engine);

/* Returns the stream with this path, acquired, or NULL. */
MUST_USE struct stream_entry *stream_acquire(struct engine *engine, struct str path);
/* Returns the entry that contains a stream. */
struct stream_entry *stream_entry_of(const struct stream *stream);
/* Returns all streams, acquired, in an array that the caller frees. */
MUST_USE struct stream_entry **streams_acquire_all(struct engine *engine, size_t *out_count);
/* Publishes the new horizon of a slot: records up to `last` are trimmed from now on. */
void stream_note_trimmed(struct engine *engine, struct stream_entry *entry, uint32_t slot,
                         struct stream_trimmed last);
/* Removes a stream from memory. */
void streams_forget(struct engine *engine, struct stream_entry *entry);

/* Returns whether calls use a description of the stream's table that has the stream. */
bool catalog_knows_stream(struct engine *engine, const struct stream *stream);
/* Returns whether calls use an older description of the stream's table, without the stream. */
bool catalog_ignores_stream(struct engine *engine, const struct stream *stream);

/* --- rows --- */

#define STREAM_STAMP_LEN 8

/* Returns the prefix (space and part) of the records of a shard. */
struct str stream_prefix(struct arena *arena, uint32_t space, struct stream_shard shard);
/* Returns the name of the log of a slot in the store; its parts are the shards of the slot. */
struct str stream_log(struct arena *arena, uint32_t space, uint32_t slot);
/* Returns the key of a record. */
struct str stream_record_key(struct arena *arena, uint32_t space, struct stream_shard shard,
                             uint64_t stamp);
/* Returns the shard in the key of a record. */
struct stream_shard stream_key_shard(struct str key);
/* Returns the stamp in the key of a record. */
uint64_t stream_key_stamp(struct str key);
/* Sets the range to the horizons of all slots. */
void stream_trim_range(struct store_range *range, struct arena *arena, uint32_t space);
/* Returns the key of the horizon of a slot, which is larger than those of all records. */
struct str stream_trim_key(struct arena *arena, uint32_t space, uint32_t slot);
/* Encodes the row of a horizon. */
struct str stream_trim_row(struct arena *arena, struct stream_trimmed trimmed);
/* Whether the row of a horizon can be decoded. */
bool stream_is_trim(struct str row);
/* Decodes the row of a horizon; STR_NULL: nothing is trimmed. */
struct stream_trimmed stream_trim_decode(struct str row);
/* Decodes the row of streams.floor_ms; 0: there is none. Older versions stored another time under
 * this key, in another byte order; that also gives 0. */
int64_t stream_floor_decode(struct str row);
/* Returns the key of a stream's row in the catalog. */
struct str stream_catalog_key(struct arena *arena, uint32_t space);

/* --- for evals --- */

/* Returns the number of partitions that the service would make for the capacity of the table: one
 * for small provisioned tables, four for new on-demand ones. */
uint32_t stream_shards_by_capacity(const struct table *table);
/* Enables a stream: sets the stream fields of *table, whose name and key are set, and adds the row
 * of the stream to the batch. Returns the row, for stream_publish(). */
struct str stream_start(struct engine *engine, struct table *table, uint32_t space,
                        struct store_batch *batch, struct arena *arena);
/* Disables the stream of *table. Returns its row, for stream_publish(). */
struct str stream_stop(struct engine *engine, struct table *table, struct store_batch *batch,
                       struct arena *arena);
/* Adds the record of a write that changes the item. The table has a stream. */
void stream_append(struct engine *engine, const struct item_write *write, struct value old_item,
                   struct store_batch *batch, struct arena *arena);

/* Applies the row of stream_start() or stream_stop() in memory, when it is stored with this version
 * of the catalog; STR_NULL: does nothing. */
void stream_publish(struct engine *engine, struct str row, uint64_t version);
/* Encodes the row of a table's stream, in the arena; `ended_ms`: when it was disabled, 0: it is
 * enabled. */
struct str stream_row_encode(struct arena *arena, const struct table *table, int64_t ended_ms);
/* Returns whether the row of a stream is valid. */
MUST_USE bool stream_check_row(struct str row, struct err *err);
struct catalog_rows;
/* Replaces the streams in memory by those of these rows. */
void streams_replace_all(struct engine *engine, const struct catalog_rows *rows, uint64_t version);

/* --- the housekeeper --- */

/* Erases records that are older than the retention, and streams that have been disabled for as
 * long.
 */
void stream_trim(struct background *background);
/* Returns the time until the next stream_trim(). */
int64_t stream_trim_interval_ms(const struct engine *engine);

#endif
