/* engine/backfill_scan.h: fills a space with rows that are derived from the items of a table, while
 * the table is in use and across restarts: a new index, items by their time of expiry.
 *
 * The cursor of a backfill scan is a row beside the counters of the space:
 *
 *   facts | space, 1 |    version 1, key of the first row that is not visited yet
 *
 * Invariant: during the backfill the derived row of an item exists if and only if the item's row
 * precedes the cursor, or was written by a description that knows the space (`since_version`). So a
 * write declares the cursor as a further key, calls backfill_scan_has() to find out whether the old
 * item has a derived row, and always writes the derived row of the new item. Thus the counts of the
 * space stay exact. The backfill scan must not begin before every call knows a description with the
 * space: catalog_is_settled(). */
#ifndef GRAMME_ENGINE_BACKFILL_SCAN_H
#define GRAMME_ENGINE_BACKFILL_SCAN_H

#include "engine/background.h"
#include "engine/engine.h"

/* Returns the key of the cursor. */
struct str backfill_scan_cursor_key(struct arena *arena, uint32_t space);
/* Sets the cursor before the first item. Part of the update that adds the space to the description;
 * `arena` is that of the update. */
void backfill_scan_start(struct store_batch *batch, uint32_t space, struct arena *arena);
/* Erases the cursor. Part of the update that ends the backfill. */
void backfill_scan_finish(struct store_batch *batch, uint32_t space, struct arena *arena);

/* Returns whether the space has the derived row of an item. `cursor` is the row of the cursor;
 * STR_NULL: the backfill is over. `row_version` is the version of the description in the item's
 * row.
 */
MUST_USE bool backfill_scan_has(struct str cursor, struct str row_key, uint32_t row_version,
                                uint32_t since_version);

/* An item that is visited; in the arena of the update. */
struct backfill_scan_item {
    struct item_key key; /* only key.row is set */
    struct row row;
    struct str row_bytes;
};

struct backfill_scan {
    struct background *background;
    const struct table *table; /* borrowed */
    uint32_t space;
    uint32_t since_version;
    /* Adds the derived row of an item to the batch, and counts it in added_rows and added_bytes.
     * Part of an eval: no I/O, may run again. What it writes must live in `arena`. */
    void (*visit)(struct backfill_scan *scan, const struct backfill_scan_item *item,
                  struct store_batch *batch, struct arena *arena);

    size_t chunk_rows;  /* size of the next chunk; 0: not begun */
    int64_t added_rows; /* to the space, by `visit`: for its counters */
    int64_t added_bytes;
    size_t visited_count; /* items of all chunks so far */
    double progress;      /* 0 to 1: visited part of the key space */
};

enum backfill_scan_result {
    BACKFILL_SCAN_MORE,
    BACKFILL_SCAN_END,     /* all items are visited */
    BACKFILL_SCAN_STOPPED, /* the cursor or the table was deleted, or the store failed: try later */
};

/* Visits the next items and moves the cursor, in one small update. Blocks; on the background
 * thread.
 */
MUST_USE enum backfill_scan_result backfill_scan_chunk(struct backfill_scan *scan);

#endif
