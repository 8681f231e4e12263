/* engine/expiry.h: an index of items by the time at which they expire (TTL), so that items that are
 * due are found without reading others.
 *
 *   expiry | 15 zeros, bucket | time in seconds (8 bytes, big-endian), h(pk), sk    empty
 *
 * A row refers to an item; only the item itself shows whether it is due. So a row without an item
 * is harmless: the sweep erases it. The time of a row is that of the item or, if that was past when
 * the item was written, the time of that write: so new rows never have a time that the sweep has
 * passed.
 */
#ifndef GRAMME_ENGINE_EXPIRY_H
#define GRAMME_ENGINE_EXPIRY_H

#include "engine/background.h"
#include "engine/engine.h"

enum { EXPIRY_BUCKETS = 16 };

/* Items whose time is as long past as this are left alone. */
#define EXPIRY_PAST_MAX_S ((int64_t)5 * 365 * 24 * 60 * 60)

/* Reads the time at which an item expires, in seconds since 1970. False: it never expires, because
 * the attribute is missing, not a number, or out of range. */
MUST_USE bool expiry_time(const struct table *table, struct value item, int64_t *out);

/* Returns the key of the expiry row of an item. */
struct str expiry_key(struct arena *arena, uint32_t space, struct str row_key, int64_t time_s);
/* Returns the smallest key of a bucket with this time or a later one. */
struct str expiry_bucket_key(struct arena *arena, uint32_t space, size_t bucket, int64_t time_s);
/* Returns the key of the item's row, from the key of an expiry row. */
struct str expiry_item_row(struct arena *arena, uint32_t items_space, struct str key);

/* --- writes, as part of their eval; the table has an expiry space --- */

/* Updates the expiry row for a write that changes the item. `old` is the item's row before. */
void expiry_write(const struct engine *engine, const struct item_write *write,
                  const struct row *old, struct store_batch *batch, struct arena *arena);

/* An expiry row that a sweep has found. */
struct expiry_find {
    struct str key;   /* of the expiry row */
    int64_t due_s;    /* items of this time or an earlier one are due */
    int64_t oldest_s; /* except those of this time or an earlier one */
};
/* Erases the expiry rows of all items of a call, due or not, before the writes: the store erases
 * rows faster in the order of their keys. */
void expiry_erase_found(const struct items_write *call, struct store_batch *batch);
/* Returns whether an item is due. False: it was deleted, or is not due any more; then its expiry
 * row is written again. */
MUST_USE bool expiry_is_due(const struct engine *engine, const struct item_write *write,
                            struct value item, struct store_batch *batch, struct arena *arena);

struct backfill_scan;
struct backfill_scan_item;
/* backfill_scan.visit for expiry spaces (engine/backfill_scan.h). */
void expiry_visit(struct backfill_scan *scan, const struct backfill_scan_item *item,
                  struct store_batch *batch, struct arena *arena);

/* --- switching --- */

/* For `change` of a table_change, with the new description `made`: switches TTL on. The background
 * thread fills a new space; the state is TTL_ENABLING meanwhile. `attribute` must outlive the
 * change. */
void expiry_enable(struct table_change *change, struct table *made, struct str attribute);
/* For `change` of a table_change: switches TTL off, and drops the space. */
void expiry_disable(struct table_change *change, struct table *made);

/* --- the background thread --- */

/* The state of the sweep of each table, between rounds. */
struct expiry_sweeps;
/* Creates an empty set of states. */
MUST_USE struct expiry_sweeps *expiry_sweeps_create(void);
/* Frees it. */
void expiry_sweeps_destroy(struct expiry_sweeps *sweeps);

/* One round: fills the spaces of tables that are TTL_ENABLING, and deletes items that are due. */
int64_t expiry_round(struct background *background);
/* Makes the thread begin a round at once. Any thread, as the next. */
void expiry_wake(struct engine *engine);
/* The clock was set: discards the state of all sweeps, and makes the thread begin a round. */
void expiry_clock_moved(struct engine *engine);

#endif
