/* engine/derive.h: the rows that follow from an item: index entries, the row by which it expires,
 * the size of its item collection. For checking and repairing a store that no engine has open; the
 * engine's own writes (write.c) keep the same rows in step, by differences. */
#ifndef GRAMME_ENGINE_DERIVE_H
#define GRAMME_ENGINE_DERIVE_H

#include "codec/row.h"
#include "engine/inventory.h"

/* An item's row that was checked. */
struct checked_item {
    const struct table *table;
    struct item_key key;
    struct str row_bytes;
    struct row row;
};

/* Checks the row of an item: its bytes, its size, that its key belongs to it; not the version of
 * the description that wrote it. NULL: it is good, and *out borrows the row; else what is wrong. */
MUST_USE const char *derive_check_item(struct inventory *inventory, const struct table *table,
                                       struct str key, struct str value, struct arena *arena,
                                       struct checked_item *out);

/* One derived row. */
/* What is wrong with a record of the history of a table whose items are in table->space; NULL:
 * nothing. */
const char *derive_check_record(struct inventory *inventory, const struct table *table,
                                struct str key, struct str value, struct arena *arena);

struct derived_row {
    const struct space_info *space;
    struct str key;
    struct str value;
    size_t size;    /* index entries: what it counts for */
    int64_t time_s; /* SPACE_EXPIRY: when the item expires */
};
typedef void derived_visit(void *context, const struct derived_row *row);

/* Calls `visit` with each row that the store must have for the item; not the collection's. With
 * `is_complete` also those that a backfill scan has not reached yet (engine/backfill_scan.h). Rows
 * live in `arena`. Returns the bytes that the item counts for in its collection. */
int64_t derive_rows(struct inventory *inventory, const struct checked_item *item, int64_t now_s,
                    bool is_complete, struct arena *arena, derived_visit *visit, void *context);

/* The key of the row of the item's collection. */
struct str derive_collection_key(const struct table *table, struct str item_key,
                                 struct arena *arena);

/* The key of an item for people: `pk = "a", sk = 5`. Attributes that are missing are left out. */
struct str derive_key_text(struct arena *arena, const struct table *table, struct value item);

#endif
