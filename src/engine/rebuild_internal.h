/* engine/rebuild_internal.h: the state of a repair, for rebuild.c and rebuild_catalog.c. */
#ifndef GRAMME_ENGINE_REBUILD_INTERNAL_H
#define GRAMME_ENGINE_REBUILD_INTERNAL_H

#include "base/map.h"
#include "engine/inventory.h"
#include "engine/rebuild.h"

/* What an index entry contains of an item whose row may be lost. */
struct evidence {
    struct str
        row; /* the whole row, from an index that projects all; else just the key's attributes */
    bool is_whole;
    bool is_used;
};

struct rebuilder {
    struct rebuild_options options;
    struct inventory inventory;
    bool is_sealed;
    bool is_second_pass;
    int64_t now_s;
    struct arena arena;  /* of one row */
    struct arena kept;   /* of evidence */
    struct map evidence; /* key of the item's row -> struct evidence */
    size_t evidence_bytes;
    struct str *evidence_keys; /* ascending; after the first pass */
    size_t evidence_at;        /* the next that was not written yet */
    uint64_t last_stamp;
    struct rebuild_totals totals;

    const struct table *collection_table;
    char collection[STORE_PREFIX_LEN];
    int64_t collection_bytes;
};

/* Reports a finding, and counts it. */
void rebuilder_report(struct rebuilder *rebuilder, enum rebuild_loss loss, struct str table,
                      const char *text);
/* Writes a row of the new store. */
void rebuilder_put(struct rebuilder *rebuilder, struct str key, struct str value);

/* rebuild_catalog.c: writes a row of the catalog, unless what it describes is lost or is to be
 * dropped. In the second pass. */
void rebuild_catalog_row(struct rebuilder *rebuilder, struct str key, struct str value);
/* Writes what is computed when all rows were seen: the next free space, the rows of streams whose
 * own were lost, sizes and cursors. */
void rebuild_catalog_end(struct rebuilder *rebuilder);

#endif
