/* engine/derive.h: computes the rows that are derived from an item: index entries, its expiry row,
 * the size of its item collection. For checking and repairing a store that no engine uses; writes
 * of the engine (write.c, write_item.c) update the same rows incrementally. */
#ifndef GRAMME_ENGINE_DERIVE_H
#define GRAMME_ENGINE_DERIVE_H

#include "codec/row.h"
#include "engine/inventory.h"

/* A row of an item that was checked. */
struct checked_item {
    const struct table *table;
    struct item_key key;
    struct str row_bytes;
    struct row row;
};

/* Checks the row of an item: its bytes, its size and its key; not the version of the description in
 * it. Returns NULL if it is good, and *out borrows the row; else what is wrong. */
MUST_USE const char *derive_check_item(struct inventory *inventory, const struct table *table,
                                       struct str key, struct str value, struct arena *arena,
                                       struct checked_item *out);

/* Checks a record of the history of a table whose items are in table->space. Returns NULL if it is
 * good, else what is wrong. */
const char *derive_check_record(struct inventory *inventory, const struct table *table,
                                struct str key, struct str value, struct arena *arena);

/* One derived row. */
struct derived_row {
    const struct space_info *space;
    struct str key;
    struct str value;
    size_t size;    /* of an index entry, by the rules of the service */
    int64_t time_s; /* SPACE_EXPIRY: when the item expires */
};
typedef void derived_visit(void *context, const struct derived_row *row);

/* Calls `visit` with each row that the store must have for the item, except that of its collection.
 * With `is_complete` also rows that a backfill scan has not written yet (engine/backfill_scan.h).
 * Rows live in `arena`. Returns the size of the item in its collection. */
int64_t derive_rows(struct inventory *inventory, const struct checked_item *item, int64_t now_s,
                    bool is_complete, struct arena *arena, derived_visit *visit, void *context);

/* Returns the key of the row of an item's collection. */
struct str derive_collection_key(const struct table *table, struct str item_key,
                                 struct arena *arena);

/* Returns the key of an item for messages: `pk = "a", sk = 5`. Missing attributes are left out. */
struct str derive_key_text(struct arena *arena, const struct table *table, struct value item);

#endif
