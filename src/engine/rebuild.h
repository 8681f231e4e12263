/* engine/rebuild.h: computes the rows of a new store from the readable rows of a damaged one:
 * items, descriptions, streams and tokens are copied, and rows that are derived from items (index
 * entries, sizes, item collections, expiry) are computed again. Reports what is lost.
 *
 * The caller adds all rows of the old store twice, in the order of their keys. The first pass looks
 * for items that exist only in an index; the second one writes. */
#ifndef GRAMME_ENGINE_REBUILD_H
#define GRAMME_ENGINE_REBUILD_H

#include "base/arena.h"

struct rebuilder;

enum rebuild_loss {
    REBUILD_LOST,      /* not in the new store */
    REBUILD_UNCERTAIN, /* in the new store, but a newer version may be lost */
    REBUILD_RESTORED   /* was lost, and is restored from an index that holds whole items */
};

/* One loss. Pointers are valid until the callback returns. */
struct rebuild_finding {
    enum rebuild_loss loss;
    struct str table; /* its name; empty: no table */
    const char *text;
};

struct rebuild_totals {
    uint64_t tables;
    uint64_t items;
    uint64_t index_entries;
    uint64_t stream_records;
    uint64_t lost; /* number of findings, by kind */
    uint64_t uncertain;
    uint64_t restored;
};

struct rebuild_options {
    uint64_t seed;
    /* Returns whether versions of the row with this key are lost. */
    bool (*is_lost)(void *context, struct str key);
    /* Writes a row of the new store; each key once, in no order. */
    void (*put)(void *context, struct str key, struct str value);
    void (*report)(void *context, const struct rebuild_finding *finding);
    void *context; /* of all three */
};

/* Creates a rebuilder. */
MUST_USE struct rebuilder *rebuilder_create(const struct rebuild_options *options);
/* Frees it. */
void rebuilder_destroy(struct rebuilder *rebuilder);
/* Adds the next row. `is_stale`: a newer version of it may be lost. */
void rebuilder_add(struct rebuilder *rebuilder, struct str key, struct str value, bool is_stale);
/* Ends a pass. */
void rebuilder_end_pass(struct rebuilder *rebuilder);
/* Returns the largest stamp of a log: stamps of the new store must be larger. */
MUST_USE uint64_t rebuilder_last_stamp(const struct rebuilder *rebuilder);
/* Describes a space for messages, from the rows so far: `items of table "orders"`. */
struct str rebuilder_describe_space(struct rebuilder *rebuilder, uint32_t space,
                                    struct arena *arena);
/* Returns the counts so far. */
void rebuilder_totals(const struct rebuilder *rebuilder, struct rebuild_totals *out);

#endif
