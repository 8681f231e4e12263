/* engine/stream.h: the streams of tables: what they are called, their shards, and reading them.
 *
 * Shards are derived, not stored. From the moment a stream was enabled time is cut into epochs of
 * shard_ms. An epoch has shard_count shards, its slots; an item's records go to the slot of its
 * partition key. Shard (k, s) is the parent of (k + 1, s). So lineage follows from numbers, and an
 * item's records are in order if parents are read before their children.
 *
 * A record's number is the stamp that the store gives it at commit; it grows within a slot, and is
 * unique there. */
#ifndef GRAMME_ENGINE_STREAM_H
#define GRAMME_ENGINE_STREAM_H

#include "codec/stream_record.h"
#include "engine/engine.h"

/* What never changes about a stream. */
struct stream {
    struct str path; /* "table/NAME/stream/LABEL", the end of its ARN; the next two are parts */
    struct str table_name;
    struct str label;
    enum stream_view view;
    struct key_schema key;
    int64_t since_ms;
    int64_t shard_ms;
    uint32_t shard_count;
    uint32_t space; /* where its records are */
};

struct stream_shard {
    uint64_t epoch;
    uint32_t slot;
};

enum stream_status { STREAM_ENABLING, STREAM_ENABLED, STREAM_DISABLING, STREAM_DISABLED };

/* --- names (stream_name.c) --- */

/* "2015-05-11T21:21:33.291" */
struct str stream_label(struct arena *arena, int64_t since_ms);
/* "arn:aws:dynamodb:REGION:ACCOUNT:" and the path. */
struct str stream_arn(struct engine *engine, struct arena *arena, struct str path);
/* The path in an ARN of this engine's region and account; STR_NULL if it is none. Borrows. */
struct str stream_arn_path(struct engine *engine, struct str arn);

uint64_t stream_epoch_at(const struct stream *stream, int64_t time_ms);
int64_t stream_epoch_start_ms(const struct stream *stream, uint64_t epoch);

/* "shardId-00000001794777586814-00000002": when the shard begins, and its slot. */
struct str stream_shard_id(struct arena *arena, const struct stream *stream,
                           struct stream_shard shard);
/* False if no shard of the stream has that id, whenever. */
MUST_USE bool stream_shard_parse(const struct stream *stream, struct str id,
                                 struct stream_shard *out);

/* The epoch, counted from 1, and twenty digits: the stamp. */
#define STREAM_STAMP_DIGITS 20
struct str stream_sequence(struct arena *arena, uint64_t epoch, uint64_t stamp);
/* No record of the epoch has a larger one. */
struct str stream_last_sequence(struct arena *arena, uint64_t epoch);
/* False if it is no sequence number. A stamp that is larger than any is UINT64_MAX. */
MUST_USE bool stream_sequence_parse(struct str text, uint64_t *out_epoch, uint64_t *out_stamp);

/* --- calls --- */

/* Streams in the order of their paths, behind `after` (STR_NULL: from the start), at most `limit`;
 * of one table if `table_name` is given. */
struct stream_list {
    struct stream *streams; /* path, table_name and label only, in the arena */
    size_t count;
    bool more;
};
void engine_list_streams(struct engine *engine, struct arena *arena, struct str table_name,
                         struct str after, size_t limit, struct stream_list *out);

/* What there is of a stream now. The shards that it calls closed get no record any more. */
struct stream_describe {
    struct engine_call call; /* ERR_RESOURCE_NOT_FOUND: there is no such stream */
    struct str path;
    const struct stream *stream; /* acquired, also on other errors; the caller releases it */
    enum stream_status status;
    uint64_t first_epoch;  /* older ones hold only what is trimmed */
    uint64_t epoch_count;  /* 0: all is trimmed */
    uint64_t closed_count; /* how many of them are closed: all, or all but the last */

    struct store_update update; /* the engine's own, like all below */
    struct store_range range;
    struct str update_key;
    int64_t barrier_ms;
    uint64_t last_epoch;
};
void engine_describe_stream(struct stream_describe *describe);
/* Accepts NULL. */
void stream_release(const struct stream *stream);

/* Records of one shard, from `position` on: the smallest stamp that is wanted. */
struct stream_read {
    struct engine_call call; /* ERR_TRIMMED_DATA_ACCESS: records from there on are trimmed */
    const struct stream *stream;
    struct stream_shard shard;
    uint64_t position;
    size_t limit;
    /* Gets each record; on any thread, one at a time. */
    void (*emit)(struct stream_read *read, uint64_t stamp, const struct stream_record *record);

    uint64_t next_position;
    bool ended; /* all that is there was read */

    size_t count; /* the engine's own, like all below */
    size_t bytes;
    struct store_range range;
    struct store_get get;
    struct str trim_key;
};
void engine_read_stream(struct stream_read *read);

/* The position just behind the newest record of a shard. */
struct stream_latest {
    struct engine_call call;
    const struct stream *stream;
    struct stream_shard shard;
    uint64_t position;
    struct store_range range;
};
void engine_find_latest(struct stream_latest *latest);

/* The first position of a shard that is not trimmed. */
uint64_t stream_trim_horizon(struct engine *engine, const struct stream *stream,
                             struct stream_shard shard);

/* --- changes, for table_change.change --- */

/* Turns the stream of *table on, with a new label, or off (STREAM_NONE). */
void table_change_stream(struct table_change *change, struct table *table, enum stream_view view);

#endif
