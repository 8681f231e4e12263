/* engine/rebuild.h: makes the rows of a new store from what could be read of a damaged one: items,
 * descriptions, streams and tokens are taken over, and everything that follows from items (index
 * entries, sizes, item collections, expiry) is made anew. Says what is lost.
 *
 * All rows of the old store are given twice, in order of their keys. The first pass looks for items
 * that can only be found in an index; the second one writes. */
#ifndef GRAMME_ENGINE_REBUILD_H
#define GRAMME_ENGINE_REBUILD_H

#include "base/arena.h"

struct rebuilder;

enum rebuild_loss {
    REBUILD_LOST,      /* was there, and is not in the new store */
    REBUILD_UNCERTAIN, /* is in the new store, but a newer version of it may be lost */
    REBUILD_RESTORED   /* was lost, and is taken from an index that holds whole items */
};

/* One thing that is not as it was. Pointers live until the callback returns. */
struct rebuild_finding {
    enum rebuild_loss loss;
    struct str table; /* its name; empty: of no table */
    const char *text;
};

struct rebuild_totals {
    uint64_t tables;
    uint64_t items;
    uint64_t index_entries;
    uint64_t stream_records;
    uint64_t lost; /* things that were reported as such, by kind */
    uint64_t uncertain;
    uint64_t restored;
};

struct rebuild_options {
    uint64_t seed;
    /* Whether versions of the row with this key are lost. */
    bool (*is_lost)(void *context, struct str key);
    /* Writes a row of the new store; each key once, in no order. */
    void (*put)(void *context, struct str key, struct str value);
    void (*report)(void *context, const struct rebuild_finding *finding);
    void *context; /* of all three */
};

MUST_USE struct rebuilder *rebuilder_create(const struct rebuild_options *options);
void rebuilder_destroy(struct rebuilder *rebuilder);
/* The next row. `is_stale`: a newer version of it may be lost. */
void rebuilder_add(struct rebuilder *rebuilder, struct str key, struct str value, bool is_stale);
/* After all rows of a pass. */
void rebuilder_end_pass(struct rebuilder *rebuilder);
/* The number of the last record of a stream: the new store must go on behind it. */
MUST_USE uint64_t rebuilder_last_stamp(const struct rebuilder *rebuilder);
/* What the space of a row is for, as far as the rows so far tell: `items of table "orders"`. */
struct str rebuilder_describe_space(struct rebuilder *rebuilder, uint32_t space,
                                    struct arena *arena);
void rebuilder_totals(const struct rebuilder *rebuilder, struct rebuild_totals *out);

#endif
