/* engine/stream.h: the streams of tables: their names, their shards, and reading them.
 *
 * Shards are computed, not stored. Time is divided into epochs of shard_ms, beginning when the
 * stream was enabled. An epoch has shard_count shards, numbered by slot; the records of an item go
 * to the slot of its partition key. Shard (k, s) is the parent of shard (k + 1, s). So the records
 * of an item are in order if parents are read before their children.
 *
 * The number of a record is the stamp that the store gives it at commit; it grows within a slot,
 * and is unique there. */
#ifndef GRAMME_ENGINE_STREAM_H
#define GRAMME_ENGINE_STREAM_H

#include "codec/stream_record.h"
#include "engine/engine.h"

/* The constant properties of a stream. */
struct stream {
    struct str path; /* "table/NAME/stream/LABEL", the end of its ARN; contains the next two */
    struct str table_name;
    struct str label;
    enum stream_view view;
    struct key_schema key;
    int64_t since_ms;
    int64_t shard_ms;
    uint32_t shard_count;
    uint32_t space; /* of its records */
};

struct stream_shard {
    uint64_t epoch;
    uint32_t slot;
};

enum stream_status { STREAM_ENABLING, STREAM_ENABLED, STREAM_DISABLING, STREAM_DISABLED };

/* --- names (stream_name.c) --- */

/* Returns a label: "2015-05-11T21:21:33.291". */
struct str stream_label(struct arena *arena, int64_t since_ms);
/* Returns the ARN: "arn:aws:dynamodb:REGION:ACCOUNT:" and the path. */
struct str stream_arn(struct engine *engine, struct arena *arena, struct str path);
/* Returns the path in an ARN of this engine's region and account, which it borrows; else STR_NULL.
 */
struct str stream_arn_path(struct engine *engine, struct str arn);

/* Returns the epoch of a time. */
uint64_t stream_epoch_at(const struct stream *stream, int64_t time_ms);
/* Returns the time at which an epoch begins. */
int64_t stream_epoch_start_ms(const struct stream *stream, uint64_t epoch);

/* Returns a shard id: the start of its epoch and its slot: "shardId-00000001794777586814-00000002".
 */
struct str stream_shard_id(struct arena *arena, const struct stream *stream,
                           struct stream_shard shard);
/* Parses a shard id. False: no shard of the stream can have it, at any time. */
MUST_USE bool stream_shard_parse(const struct stream *stream, struct str id,
                                 struct stream_shard *out);

/* Digits of the stamp in a sequence number. */
#define STREAM_STAMP_DIGITS 20
/* Returns a sequence number: the epoch, counted from 1, and the stamp with twenty digits. */
struct str stream_sequence(struct arena *arena, uint64_t epoch, uint64_t stamp);
/* Returns the largest possible sequence number of an epoch. */
struct str stream_last_sequence(struct arena *arena, uint64_t epoch);
/* Parses a sequence number. False: it is not valid. A stamp that is too large becomes UINT64_MAX.
 */
MUST_USE bool stream_sequence_parse(struct str text, uint64_t *out_epoch, uint64_t *out_stamp);

/* --- calls --- */

struct stream_list {
    struct stream *streams; /* with path, table_name and label only, in the arena */
    size_t count;
    bool more;
};
/* Lists streams in the order of their paths, after `after` (STR_NULL: from the first), at most
 * `limit`; only those of one table if `table_name` is not STR_NULL. */
void engine_list_streams(struct engine *engine, struct arena *arena, struct str table_name,
                         struct str after, size_t limit, struct stream_list *out);

/* The current state of a stream. Shards that are reported as closed get no more records. */
struct stream_describe {
    struct engine_call call; /* ERR_RESOURCE_NOT_FOUND: there is no such stream */
    struct str path;
    const struct stream *stream; /* acquired, also on other errors; the caller releases it */
    enum stream_status status;
    uint64_t first_epoch;  /* records of older epochs are trimmed */
    uint64_t epoch_count;  /* 0: all records are trimmed */
    uint64_t closed_count; /* number of closed epochs: all, or all but the last */

    struct store_update update; /* private to the engine, as all below */
    struct store_range range;
    struct str update_key;
    int64_t barrier_ms;
    uint64_t last_epoch;
};
/* Reads the state of a stream. */
void engine_describe_stream(struct stream_describe *describe);
/* Releases a stream that was acquired. Accepts NULL. */
void stream_release(const struct stream *stream);

/* A read of the records of one shard whose stamps are at least `position`. */
struct stream_read {
    struct engine_call call; /* ERR_TRIMMED_DATA_ACCESS: records from there on are trimmed */
    const struct stream *stream;
    struct stream_shard shard;
    uint64_t position;
    size_t limit;
    /* Gets each record; on any thread, one at a time. */
    void (*emit)(struct stream_read *read, uint64_t stamp, const struct stream_record *record);

    uint64_t next_position;
    bool ended; /* all existing records were read */

    size_t count; /* private to the engine, as all below */
    size_t bytes;
    struct store_range range;
    struct store_get get;
    struct str trim_key;
};
/* Reads records. */
void engine_read_stream(struct stream_read *read);

/* Finds the position after the newest record of a shard. */
struct stream_latest {
    struct engine_call call;
    const struct stream *stream;
    struct stream_shard shard;
    uint64_t position;
    struct store_range range;
};
/* Finds the position after the newest record. */
void engine_find_latest(struct stream_latest *latest);

/* Returns the first position of a shard that is not trimmed. */
uint64_t stream_trim_horizon(struct engine *engine, const struct stream *stream,
                             struct stream_shard shard);

/* --- changes, for table_change.change --- */

/* Turns the stream of *table on, with a new label, or off (STREAM_NONE). */
void table_change_stream(struct table_change *change, struct table *table, enum stream_view view);

#endif
