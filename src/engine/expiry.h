/* engine/expiry.h: items by the time at which they expire (TTL), so that those that are due are
 * found without looking at others.
 *
 *   expiry | 15 zeros, bucket | time in seconds (8 bytes, big-endian), h(pk), sk    empty
 *
 * A row leads to an item; whether that is due, only the item says. So rows that lead nowhere do no
 * harm: who follows one erases it. A row's time is the item's, or, if that was past when the item
 * was written, the time of that write: the sweep never has to look behind itself for new rows. */
#ifndef GRAMME_ENGINE_EXPIRY_H
#define GRAMME_ENGINE_EXPIRY_H

#include "engine/engine.h"
#include "engine/background.h"

enum { EXPIRY_BUCKETS = 16 };

/* Items whose time is as long past as this are left alone. */
#define EXPIRY_PAST_MAX_S ((int64_t)5 * 365 * 24 * 60 * 60)

/* The time at which the item expires, in seconds since 1970. False: never, because it has no number
 * in the table's attribute, or one that is no time. */
MUST_USE bool expiry_time(const struct table *table, struct value item, int64_t *out);

/* The key of the row that leads to an item's row. */
struct str expiry_key(struct arena *arena, uint32_t space, struct str row_key, int64_t time_s);
/* The smallest key of a bucket from that time on. */
struct str expiry_bucket_key(struct arena *arena, uint32_t space, size_t bucket, int64_t time_s);
/* The key of the item's row that an expiry row leads to. */
struct str expiry_item_row(struct arena *arena, uint32_t items_space, struct str key);

/* --- writes, as part of their eval; the table has an expiry space --- */

/* Keeps the rows in step with a write that changes the item. `old` is the item's row before. */
void expiry_write(const struct engine *engine, const struct item_write *write,
                  const struct row *old, struct store_batch *batch, struct arena *arena);

/* How a sweep came to delete an item. */
struct expiry_find {
    struct str key;   /* of the row that led to it */
    int64_t due_s;    /* items of this time and before are due */
    int64_t oldest_s; /* but not those of this time and before */
};
/* Erases the rows that led to the items of a call, due or not. All at once, before the writes: rows
 * that are written in order cost the store less. */
void expiry_erase_found(const struct items_write *call, struct store_batch *batch);
/* False: the item is gone, or is not due any more; then it gets the row back that leads to it. */
MUST_USE bool expiry_is_due(const struct engine *engine, const struct item_write *write,
                            struct value item, struct store_batch *batch, struct arena *arena);

struct backfill_scan;
struct backfill_scan_item;
/* The visit of the backfill scan that fills a table's space (engine/backfill_scan.h). */
void expiry_visit(struct backfill_scan *scan, const struct backfill_scan_item *item,
                  struct store_batch *batch, struct arena *arena);

/* --- switching --- */

/* For a table_change: `made` is the new description. Enabling makes a space that is filled in the
 * background, TTL_ENABLING meanwhile; `attribute` must outlive the change. */
void expiry_enable(struct table_change *change, struct table *made, struct str attribute);
void expiry_disable(struct table_change *change, struct table *made);

/* --- the background thread --- */

/* What it knows of each table from round to round. */
struct expiry_sweeps;
MUST_USE struct expiry_sweeps *expiry_sweeps_create(void);
void expiry_sweeps_destroy(struct expiry_sweeps *sweeps);

/* One round: fills the spaces of tables that are TTL_ENABLING, and deletes items that are due. */
int64_t expiry_round(struct background *background);
/* The thread looks at once whether there is something to do. Any thread, like the next. */
void expiry_wake(struct engine *engine);
/* The same after the clock was set: what was swept says nothing any more. */
void expiry_clock_moved(struct engine *engine);

#endif
