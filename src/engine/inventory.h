/* engine/inventory.h: which spaces a store has and what they are for, from its rows alone: for
 * checking and repairing a store that no engine has open. Rows must come in order of their keys, so
 * that the catalog comes before the items. Every row is checked before it is used. */
#ifndef GRAMME_ENGINE_INVENTORY_H
#define GRAMME_ENGINE_INVENTORY_H

#include "engine/engine.h"

enum space_role {
    SPACE_UNKNOWN, /* no description names it */
    SPACE_ITEMS,
    SPACE_INDEX,
    SPACE_COLLECTIONS, /* sizes of item collections */
    SPACE_EXPIRY,      /* items by time of expiry */
    SPACE_STREAM,
    SPACE_FEED,    /* changes for a Kinesis destination */
    SPACE_KEPT,    /* items of a deleted table that has backups */
    SPACE_HISTORY, /* earlier versions of items, of a table or a deleted one */
    SPACE_DROPPING /* to be dropped: its rows do not count any more */
};

/* A stream or feed, as its row in the catalog describes it. */
struct inventory_stream {
    struct table table; /* name, key and the stream's fields */
};

struct space_info {
    uint32_t space;
    enum space_role role;
    const struct table *table;             /* of all roles but unknown, stream, feed, dropping */
    const struct index *index;             /* SPACE_INDEX */
    const struct inventory_stream *stream; /* SPACE_STREAM, SPACE_FEED */
    bool has_size;
    struct store_count size;  /* as stored */
    uint32_t backups;         /* SPACE_HISTORY: how many need it */
    struct str cursor;        /* while the space is being filled; STR_NULL: it is complete */
    struct store_count found; /* for the user of the inventory */
    void *extra;
};

struct inventory {
    struct engine *engine; /* just its seed: for functions that compute keys */
    struct arena arena;
    struct space_info *spaces; /* by number */
    size_t space_count;
    size_t space_capacity;
    struct table **tables;
    size_t table_count;
    uint32_t next_space;   /* by the catalog; 0: the row is missing */
    bool has_foreign_rows; /* in spaces below SPACE_FIRST_FREE that are not used */
    uint64_t last_stamp;
    uint64_t last_record;
};

typedef void inventory_report(void *context, struct str table_name, const char *text);

/* Makes an empty inventory; `seed` is that of the store. */
void inventory_init(struct inventory *inventory, uint64_t seed);
/* Frees it. */
void inventory_finish(struct inventory *inventory);
/* Takes a row of the spaces below SPACE_FIRST_FREE; others are ignored. Rows that cannot be read
 * are reported; false: this one cannot. */
bool inventory_add(struct inventory *inventory, struct str key, struct str value,
                   inventory_report *report, void *context);
/* Returns whether the part of a key of the catalog is `part`, which may be shorter. */
MUST_USE bool inventory_is_part(struct str key, const char *part);
/* After the last row of those spaces: reports contradictions. */
void inventory_seal(struct inventory *inventory, inventory_report *report, void *context);
/* Returns the entry of a space; adds one if the space is not known. Valid until the next call that
 * adds one. */
struct space_info *inventory_find(struct inventory *inventory, uint32_t space);

/* Returns a text for messages: `items of table "orders"`. */
struct str inventory_describe(struct inventory *inventory, uint32_t space, struct arena *arena);

#endif
