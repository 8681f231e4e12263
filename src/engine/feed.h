/* engine/feed.h: feeds: changes of tables that are recorded until they have been delivered to a
 * Kinesis stream. src/kinesis delivers them.
 *
 * While a table has a destination, every write that changes an item appends a record to the feed,
 * in the same update. A feed has a space of its own with the same rows as a stream (stream_name.c)
 * of which all shards have epoch 0: an item's records are in one slot, in the order of the writes;
 * and for each slot a row with the last record that was delivered, which is written in the update
 * that erases delivered records.
 *
 * A feed outlives the end of recording, and its table, until everything is delivered, so it has a
 * row of its own in the catalog:
 *
 *   catalog | "feed" | space    version 1, when recording ended in ms (i64; 0: it goes on), and as
 *                               a table's description: name, id and key of the table, the space
 *                               and its slots as those of a stream, and the destination */
#ifndef GRAMME_ENGINE_FEED_H
#define GRAMME_ENGINE_FEED_H

#include "codec/stream_record.h"
#include "engine/background.h"
#include "engine/engine.h"

/* --- changes of a table, for table_change.change --- */

/* Begins to record the changes of *table. `number`: of its destination that is to get them, which
 * is ENABLING. */
void feed_begin(struct table_change *change, struct table *table, size_t number);
/* Ends recording; what was recorded is still delivered if the destination was ACTIVE. `number`: of
 * the destination that gets the changes. */
void feed_end(struct table_change *change, struct table *table, size_t number);
/* Stores the state and precision of the destination, `number`, in the row of the feed, too. */
void feed_update(struct table_change *change, const struct table *table, size_t number);

/* The number of the destination that is ENABLING, ACTIVE or DISABLING; SIZE_MAX: none is. */
size_t table_live_destination(const struct table *table);

/* --- delivering: on a background thread of the caller's, on the server that is the leader --- */

/* A feed, as its row in the catalog describes it. */
struct feed {
    uint32_t space;
    uint32_t slot_count;
    struct str table_name;
    char table_id[36];
    struct kinesis_destination destination;
    int64_t ended_ms; /* when recording ended; 0: it goes on */
    uint64_t version; /* of the catalog: with which it began or ended */
};

/* Reads all feeds, in the order in which they began, into `arena`. False: the store failed. */
MUST_USE bool feed_read_all(struct background *background, struct arena *arena, struct feed **out,
                            size_t *out_count);
/* Whether no call that knows an earlier description of the feed's table is under way, on any
 * server: all changes are recorded, or none are recorded any more. */
MUST_USE bool feed_is_settled(const struct engine *engine, const struct feed *feed);
/* How many records wait for delivery, and their bytes. */
struct store_count feed_backlog(struct background *background, const struct feed *feed,
                                struct arena *arena);

/* A record that waits for delivery. */
struct feed_record {
    uint32_t slot;
    uint64_t stamp; /* grows within the slot */
    size_t bytes;   /* of its row */
    struct stream_record change;
};

/* Reads records of one slot from the one behind `after` on: at most `limit`, and no more once they
 * have `bytes_max` bytes. They are copied to `arena`; `out` has room for `limit`. False: the store
 * failed. */
struct feed_read {
    uint32_t slot;
    uint64_t after; /* stamp; 0: from the first on */
    size_t limit;
    size_t bytes_max;
    struct feed_record *out;
    size_t count;
    size_t bytes;
};
/* Reads records; see struct feed_read. Blocks. */
MUST_USE bool feed_read(struct background *background, const struct feed *feed,
                        struct feed_read *read, struct arena *arena);
/* Reads the stamps of the last delivered records, one for each slot; 0: none was. */
MUST_USE bool feed_read_cursors(struct background *background, const struct feed *feed,
                                uint64_t *out);
/* Erases records of one slot, which are the first ones behind the cursor `after`, and advances the
 * cursor. STORE_NO_WRITE: another server has advanced it meanwhile. */
MUST_USE enum store_status feed_erase(struct background *background, const struct feed *feed,
                                      uint64_t after, const struct feed_record *records,
                                      size_t count);
/* Removes a feed whose recording has ended and is settled. */
MUST_USE bool feed_remove(struct background *background, const struct feed *feed);

/* Changes the state of a destination from `from` to `to` in the description of the table, if it is
 * there and in that state. With DESTINATION_ENABLE_FAILED, `problem` says why, and recording ends.
 * False: the store failed. */
struct feed_transition {
    struct str table_name;
    const char *table_id;
    struct str stream_arn;
    enum destination_state from;
    enum destination_state to;
    struct str problem;
};
/* Carries out a transition. Blocks. */
MUST_USE bool feed_change_state(struct background *background,
                                const struct feed_transition *transition);

/* Tables with a destination that is DISABLING: calls `visit` for each. */
void feed_each_disabling(struct engine *engine,
                         void (*visit)(void *context, const struct table *table,
                                       const struct kinesis_destination *destination),
                         void *context);

#endif
