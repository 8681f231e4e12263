/* engine/backfill_scan.h: visits all items of a table in use, beside traffic and across restarts,
 * to fill a space with what is derived from items: a new index, items by their time of expiry.
 *
 * How far a backfill scan has come is a row beside the counters of the space, and is erased with
 * them:
 *
 *   counters | space, 2 |    version 1, key of the first item's row that is not yet visited
 *
 * Scan and writes share the work by one rule: the space has what belongs to an item exactly if the
 * item's row has been visited, or was written by a description that knows the space
 * (`since_version`). So a write declares the cursor as a further key and asks backfill_scan_has()
 * whether the space has what belongs to the old item; of the new item it always writes it. Counts
 * of the space so stay exact. The backfill scan must not begin before nobody holds a description
 * that does not know the space: catalog_is_settled(). */
#ifndef GRAMME_ENGINE_BACKFILL_SCAN_H
#define GRAMME_ENGINE_BACKFILL_SCAN_H

#include "engine/engine.h"
#include "engine/background.h"

/* The key of the cursor's row. */
struct str backfill_scan_cursor_key(struct arena *arena, uint32_t space);
/* Puts the cursor before the first item; with the change of the table that makes the space known.
 * `arena` is the update's. */
void backfill_scan_start(struct store_batch *batch, uint32_t space, struct arena *arena);
/* Erases the cursor; with the change after which the backfill scan is over. */
void backfill_scan_finish(struct store_batch *batch, uint32_t space, struct arena *arena);

/* Whether the space has what belongs to the item of this row. `cursor` is the cursor's row;
 * STR_NULL: the backfill scan is over. `row_version` is the table's version in the item's row. */
MUST_USE bool backfill_scan_has(struct str cursor, struct str row_key, uint32_t row_version,
                                uint32_t since_version);

/* An item that is visited. All of it lives in the update's arena. */
struct backfill_scan_item {
    struct item_key key; /* just key.row */
    struct row row;
    struct str row_bytes;
};

struct backfill_scan {
    struct background *background;
    const struct table *table; /* borrowed */
    uint32_t space;
    uint32_t since_version;
    /* Adds to the batch what belongs to an item, and counts it in added_rows and added_bytes. Part
     * of an eval: no I/O, may run again. What it writes must live in `arena`. */
    void (*visit)(struct backfill_scan *scan, const struct backfill_scan_item *item,
                  struct store_batch *batch, struct arena *arena);

    size_t chunk_rows;  /* how many the next chunk may have; 0: not begun */
    int64_t added_rows; /* to the space, by visits: for its counters */
    int64_t added_bytes;
    size_t visited_count; /* items, of all chunks so far */
    double progress;      /* 0 to 1: which part of all keys has been visited */
};

enum backfill_scan_result {
    BACKFILL_SCAN_MORE,
    BACKFILL_SCAN_END,     /* all items are visited */
    BACKFILL_SCAN_STOPPED, /* the cursor or the table is gone, or the store fails: perhaps later */
};

/* Visits the next items and moves the cursor, in one update that is small enough not to be felt.
 * Waits for the store; on the background thread. */
MUST_USE enum backfill_scan_result backfill_scan_chunk(struct backfill_scan *scan);

#endif
