/* engine/engine_internal.h: what the files of this folder share. */
#ifndef GRAMME_ENGINE_ENGINE_INTERNAL_H
#define GRAMME_ENGINE_ENGINE_INTERNAL_H

#include "base/map.h"
#include "codec/row.h"
#include "codec/row_key.h"
#include "engine/background.h"
#include "engine/engine.h"
#include "engine/follow.h"
#include "engine/stream_internal.h"
#include "engine/trusted_clock.h"

/* Spaces with fixed numbers. Space 0 is the store's own. */
enum engine_space {
    SPACE_CATALOG = 1, /* descriptions of tables, and what is to be dropped */
    SPACE_FACTS = 2,   /* item counts and bytes of spaces */
    SPACE_TOKENS = 3,  /* idempotency tokens */
    SPACE_TOKEN_EXPIRY = 4,
    SPACE_NOTES = 5,   /* engine/notes.h */
    SPACE_RECORDS = 6, /* of the server itself: records.h */
    SPACE_FIRST_FREE = 16,
};

struct engine {
    struct store *store;
    uint64_t seed; /* of partition-key hashes */
    struct str region;
    struct str account;
    int64_t table_delay_ms;
    int64_t ttl_delay_ms;
    struct trusted_clock clock;
    struct arena arena; /* for the options */
    pthread_rwlock_t tables_lock;
    struct map tables;               /* name -> struct table_entry */
    struct table_entry *replaced;    /* older descriptions that calls still hold */
    atomic_uint_fast64_t call_count; /* so far; background threads give way when it grows */
    struct streams streams;
    struct follow follow;
    struct background housekeeper;
    struct background backfill;
    struct background expiry;
    struct background recovery; /* backups and restores: recovery_background.c */
    int64_t recovery_lag_ms;
    struct background *exporter;            /* of src/transfer; NULL: there is none */
    struct trimmed_history *trimmed;        /* of the housekeeper: history_trim.c */
    struct expiry_sweeps *sweeps;           /* of that thread */
    pthread_mutex_t watch_lock;             /* of the next two */
    void (*catalog_changed)(void *context); /* NULL: none is registered */
    void *watch_context;
    void (*wake_loads)(void *context); /* engine_on_load(); under tables_lock, like the next */
    void *wake_loads_context;
};

/* Calls the function registered with engine_watch_catalog(). */
void engine_note_catalog_change(struct engine *engine);

/* catalog.c: descriptions in memory */

/* Returns the key of a row of the catalog; `sort` may be empty. */
struct str catalog_key(struct arena *arena, const char *part, struct str sort);

/* Puts a description that this server has committed with `version` into memory, unless all changes
 * up to that version are in memory already. Returns a reference to it; NULL: *err. On the publisher
 * thread. */
const struct table *catalog_publish(struct engine *engine, struct str row, uint64_t version,
                                    struct err *err);
/* Removes a deleted table from memory; calls that hold a reference keep it. `row` is the
 * description that was deleted. Returns a reference to it. On the publisher thread. */
const struct table *catalog_withdraw(struct engine *engine, struct str row, uint64_t version);

enum { TABLE_SPACES_MAX = 4 + CAPACITY_INDEX_MAX };
/* Lists the spaces that are dropped with a deleted table; if `is_kept`, without those that backups
 * need. Returns their count. */
size_t catalog_table_spaces(const struct table *table, bool is_kept,
                            uint32_t out[TABLE_SPACES_MAX]);

/* catalog_read.c: the rows of the catalog */

/* A read of catalog rows that blocks until the store has answered. */
struct catalog_read {
    struct engine *engine;
    struct err *err;
    struct arena *arena;
    struct arena *rows_arena; /* of the caller's */
    struct store_range range;
    bool done;
};
/* Fills in arena, home and done of the range. Does nothing once *err is set. */
void catalog_read(struct catalog_read *read);
/* Reads all rows of one part of the catalog. */
void catalog_read_part(struct catalog_read *read, const char *part,
                       bool (*row)(struct store_range *, struct str, struct str));

/* All rows of the catalog that describe tables and streams, in an arena. */
struct catalog_rows {
    struct str *keys;
    struct str *values;
    size_t count;
    size_t capacity;
};
struct catalog_snapshot {
    struct catalog_rows tables;
    struct catalog_rows streams;
    struct catalog_rows drops;
    struct catalog_rows kept;
};
/* Reads all rows of the catalog into `arena`. Blocks. */
MUST_USE bool catalog_read_all(struct engine *engine, struct arena *arena,
                               struct catalog_snapshot *out, struct err *err);
/* Whether all rows can be read. */
MUST_USE bool catalog_check_all(const struct catalog_snapshot *snapshot, struct err *err);
/* Replaces all descriptions in memory by those of the snapshot, which contains no change after
 * `version`. On the publisher thread. */
void catalog_replace_all(struct engine *engine, const struct catalog_snapshot *snapshot,
                         uint64_t version);
/* Drops the spaces that have a row "drop": a server stopped before it had dropped them. */
void catalog_drop_left(struct engine *engine, const struct catalog_snapshot *snapshot);
/* Returns the newest version, at most `seen`, such that no call under way on this server uses an
 * older description. */
uint64_t catalog_settled_version(struct engine *engine, uint64_t seen);
/* Frees all descriptions in memory, when the engine is closed. */
void catalog_unload(struct engine *engine);

/* Returns whether all calls that start or are under way, on all servers, use this description of
 * the table or a newer one. */
bool catalog_is_settled(struct engine *engine, const struct table *table);

/* Returns the tables for which `wanted` is true, acquired, in an array in `arena`. */
size_t catalog_collect(struct engine *engine, bool (*wanted)(const struct table *table),
                       struct arena *arena, const struct table ***out);

/* Returns the key of the row "drop", which marks a space that must be dropped. */
struct str catalog_drop_key(struct arena *arena, uint32_t space);
/* Drops spaces in the background, after their rows "drop" are stored. If the server stops before,
 * the next start continues. */
void catalog_drop_spaces(struct engine *engine, const uint32_t *spaces, size_t count);

/* The round of the housekeeper. */
int64_t housekeeper_round(struct background *background);
/* The round of the backfill thread: indexes that are created or deleted. */
int64_t backfill_round(struct background *background);
/* The round of the recovery thread: backups and restores. */
int64_t recovery_round(struct background *background);

/* backfill.c: whether an index of the table is being created or deleted. */
bool index_is_changing(const struct table *table);

/* Facts about a space: the number of its rows and their size by the rules of the service; while it
 * is being filled, the cursor (engine/backfill_scan.h). */
enum space_fact { SPACE_SIZE, SPACE_CURSOR };
/* Returns the key of a fact. */
struct str space_fact_key(struct arena *arena, uint32_t space, enum space_fact fact);
/* Adds to the space's size. */
void space_count(struct store_batch *batch, struct arena *arena, uint32_t space, int64_t rows,
                 int64_t bytes);

/* Sets the error of a call from the status of a store request; STORE_OK sets none. */
void engine_set_store_error(struct err *err, enum store_status status);
/* The same of a get of items, which also fails if its arena is over its budget. */
void engine_set_get_error(struct err *err, const struct store_get *get);

/* item_key.c: checks the index keys that an update changes; fails in write->err. The new item is
 * write->new_item, or `result` if it was not written (else NULL). */
MUST_USE bool item_check_changed_index_keys(struct item_write *write, struct value old_item,
                                            const struct update_result *result);

/* index.c: the entry of an item in an index. */
struct index_entry {
    struct str key; /* STR_NULL: the item is not in the index */
    struct str row;
    size_t size;
};

/* Returns only the key of the entry; STR_NULL: the item lacks a key attribute, or has one of
 * another type. */
struct str index_entry_key(const struct engine *engine, const struct index *index,
                           const struct item_key *key, struct value item, struct arena *arena);
/* `item_row` is the item's own row, for indexes that project all of it. An item whose entry would
 * have a longer key than the store accepts has none. */
struct index_entry index_entry_of(const struct engine *engine, const struct table *table,
                                  const struct index *index, const struct item_key *key,
                                  struct value item, struct str item_row, struct arena *arena);
/* Whether the store accepts the keys of the new item's entries; false: write->err names the index.
 * Writes of restores always pass: their items are stored without such an entry. */
MUST_USE bool index_check_entry_keys(const struct engine *engine, struct item_write *write,
                                     struct value old_item, struct arena *arena);
/* Returns the size of the entries of an item in all local indexes, by the rules of the service. */
size_t index_local_size(const struct table *table, struct value item);

#endif
