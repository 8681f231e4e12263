/* engine/stream_internal.h: what the engine keeps of streams, and what the other files of this
 * folder do with them. */
#ifndef GRAMME_ENGINE_STREAM_INTERNAL_H
#define GRAMME_ENGINE_STREAM_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/map.h"
#include "engine/background.h"
#include "engine/stream.h"

/* The last record that is trimmed of all shards of a slot. */
struct stream_trimmed {
    uint64_t epoch;
    uint64_t stamp; /* 0: none is */
};

/* A stream in memory, counted. */
struct stream_entry {
    struct stream stream;
    struct arena arena;
    atomic_int references;
    _Atomic uint64_t known_since; /* the catalog's version with which it was started or ended */
    _Atomic int64_t ended_ms;     /* when it was disabled; 0: it is on */
    _Atomic int64_t closed_ms;    /* epochs that end by then get no more records, restart or not */
    _Atomic int64_t last_epoch;   /* of an ended one that gets no more records; -1: not known yet */
    uint64_t trim_epoch;          /* nothing is left before it; the housekeeper's own */
    struct stream_trimmed trimmed[]; /* by slot, under the lock of streams */
};

struct streams {
    pthread_rwlock_t lock;
    struct map entries;       /* by path */
    _Atomic int64_t floor_ms; /* the time of streams never goes back behind it */
    /* Of streams that are enabled from now on; 0: by the table's capacity. */
    uint32_t shard_count;
    int64_t shard_ms;
    int64_t retention_ms;
};

void streams_init(struct streams *streams, const struct engine_options *options);
/* Reads all streams; nothing is written meanwhile. */
MUST_USE bool streams_load(struct engine *engine, struct err *err);
void streams_finish(struct streams *streams);

/* Now, but never before what it said earlier, also across restarts: see docs/internals. */
int64_t stream_time_ms(struct engine *engine);

/* The entry behind a path, acquired, or NULL. */
MUST_USE struct stream_entry *stream_acquire(struct engine *engine, struct str path);
struct stream_entry *stream_entry_of(const struct stream *stream);
/* All entries, acquired, in memory to be freed. */
MUST_USE struct stream_entry **streams_acquire_all(struct engine *engine, size_t *out_count);
/* From now on records of the slot up to that one are trimmed. */
void stream_note_trimmed(struct engine *engine, struct stream_entry *entry, uint32_t slot,
                         struct stream_trimmed last);
void streams_forget(struct engine *engine, struct stream_entry *entry);

/* Whether calls under way, or to come, know a description of the stream's table with the stream; or
 * one without it that is older than the newest. */
bool catalog_knows_stream(struct engine *engine, const struct stream *stream);
bool catalog_ignores_stream(struct engine *engine, const struct stream *stream);

/* --- rows --- */

#define STREAM_STAMP_LEN 8

/* The part of the rows of a shard. */
struct str stream_prefix(struct arena *arena, uint32_t space, struct stream_shard shard);
/* The log of the store that all shards of a slot are, one after the other. */
struct str stream_log(struct arena *arena, uint32_t space, uint32_t slot);
/* The key of a record. */
struct str stream_record_key(struct arena *arena, uint32_t space, struct stream_shard shard,
                             uint64_t stamp);
struct stream_shard stream_key_shard(struct str key);
uint64_t stream_key_stamp(struct str key);
/* Behind all records: the row with the last trimmed record of a slot. */
struct str stream_trim_key(struct arena *arena, uint32_t space, uint32_t slot);
struct str stream_trim_row(struct arena *arena, struct stream_trimmed trimmed);
struct stream_trimmed stream_trim_decode(struct str row); /* STR_NULL: none */
/* The floor of the time of streams in its row; 0: there is none. Older versions kept another time
 * under the same key, in an order of bytes in which it is no time here: none, too. */
int64_t stream_floor_decode(struct str row);
/* The key of a stream's row in the catalog. */
struct str stream_catalog_key(struct arena *arena, uint32_t space);

/* --- for evals --- */

/* As many shards as the service would make partitions for the table's capacity: one for small
 * provisioned tables, four for new on-demand ones. */
uint32_t stream_shards_by_capacity(const struct table *table);
/* Fills the stream's fields of *table, whose name and key are set, and adds the stream's row to the
 * batch. Returns the row, for stream_publish(). */
struct str stream_start(struct engine *engine, struct table *table, uint32_t space,
                        struct store_batch *batch, struct arena *arena);
/* Ends the stream of *table, which has one. */
struct str stream_stop(struct engine *engine, struct table *table, struct store_batch *batch,
                       struct arena *arena);
/* Adds the record of a write that changes the item. The table has a stream. */
void stream_append(struct engine *engine, const struct item_write *write, struct value old_item,
                   struct store_batch *batch, struct arena *arena);

/* Makes known what stream_start() or stream_stop() wrote, once it is in the store, with that
 * version of the catalog; STR_NULL: nothing. */
void stream_publish(struct engine *engine, struct str row, uint64_t version);
/* Whether a stream's row can be read. */
MUST_USE bool stream_check_row(struct str row, struct err *err);
struct catalog_rows;
/* Makes the streams of these rows those that are known. */
void streams_replace_all(struct engine *engine, const struct catalog_rows *rows, uint64_t version);

/* --- the housekeeper --- */

/* Erases what is older than the retention, and streams that have been off for as long. */
void stream_trim(struct background *background);
/* In how many milliseconds to do so again. */
int64_t stream_trim_interval_ms(const struct engine *engine);

#endif
