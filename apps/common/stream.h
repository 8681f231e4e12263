/* apps/common/stream.h: enables the stream of a table, and reads it: follows its shards and calls a
 * function with each change, the changes of one item in the order in which they were made. A reader
 * belongs to one thread. */
#ifndef GRAMME_APPS_STREAM_H
#define GRAMME_APPS_STREAM_H

#include <stdbool.h>
#include <stdint.h>

#include "gramme/gramme.h"

struct stream_reader;

struct stream_options {
    const char *table;
    struct gramme_db *db;
    struct gramme_db *streams; /* where the operations of streams go; may be `db` */
};

/* Enables the table's stream, with old and new images, and waits until it records changes. Call it
 * before the table is written: earlier changes are not in the stream. Also returns true if the
 * database has no streams, or the table has a stream with other images. False: the database failed.
 */
bool stream_enable(struct gramme_db *db, const char *table, int timeout_ms,
                   struct gramme_error **error);

/* One change of the table. Borrowed: valid until the function that gets it returns. */
struct stream_change {
    const struct gramme_value *old_item; /* NULL: the item is new */
    const struct gramme_value *new_item; /* NULL: the item was deleted */
    int64_t when_s;                      /* when it was written, seconds since 1970 */
};

/* Processes a change. False: failed, *error is set; the same change is given again by the next
 * stream_reader_read(). */
typedef bool stream_take(void *context, const struct stream_change *change,
                         struct gramme_error **error);

/* Creates a reader, which borrows what the options refer to. */
struct stream_reader *stream_reader_create(const struct stream_options *options);
/* Accepts NULL. */
void stream_reader_destroy(struct stream_reader *reader);

/* Finds the stream and positions the reader at its end: changes from now on are read. *out_found is
 * false if the table has no stream with old and new images. False: the database failed. */
bool stream_reader_open_latest(struct stream_reader *reader, bool *out_found,
                               struct gramme_error **error);
/* The same, but positions the reader at `positions`, written by stream_reader_save(). NULL, or
 * positions of another stream: at the oldest change that the stream still has. */
bool stream_reader_open_at(struct stream_reader *reader, const struct gramme_value *positions,
                           bool *out_found, struct gramme_error **error);
/* Calls `take` with every change up to now. False: the database failed, or `take` did. */
bool stream_reader_read(struct stream_reader *reader, stream_take *take, void *context,
                        struct gramme_error **error);
/* Writes the position in each shard into the map: {"StreamArn": ..., "Shards": {id: number}}. */
void stream_reader_save(const struct stream_reader *reader, struct gramme_value *out);

/* Returns whether the same request may succeed later. If not, the database has no streams, or the
 * position is lost (iterators expire after 15 minutes). */
bool stream_error_may_pass(const struct gramme_error *error);
/* Returns whether a shard was read too often: five times a second are allowed. */
bool stream_error_is_throttled(const struct gramme_error *error);

#endif
