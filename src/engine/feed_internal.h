/* engine/feed_internal.h: what the writes and the catalog do with feeds. */
#ifndef GRAMME_ENGINE_FEED_INTERNAL_H
#define GRAMME_ENGINE_FEED_INTERNAL_H

#include "engine/feed.h"

/* For evals: adds the record of a write that changes an item of a table with a feed. */
void feed_append(struct engine *engine, const struct item_write *write, struct value old_item,
                 struct store_batch *batch, struct arena *arena);
/* For the deletion of a table with a feed: ends recording. */
void feed_end_deleted(struct table_delete *remove, struct table *table, struct store_batch *batch);

/* The key of a feed's row in the catalog. */
struct str feed_key(struct arena *arena, uint32_t space);
/* Makes *out of a row; its texts are copied to `arena`. False: the row cannot be read. */
MUST_USE bool feed_decode(struct arena *arena, struct str row, struct feed *out);

#endif
