/* engine/engine_internal.h: what the files of this folder share. */
#ifndef GRAMME_ENGINE_ENGINE_INTERNAL_H
#define GRAMME_ENGINE_ENGINE_INTERNAL_H

#include "base/map.h"
#include "codec/key.h"
#include "codec/row.h"
#include "engine/engine.h"
#include "engine/follow.h"
#include "engine/background.h"
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
    struct table_entry *replaced;    /* older descriptions that somebody still holds */
    atomic_uint_fast64_t call_count; /* so far; background threads give way when it grows */
    struct streams streams;
    struct follow follow;
    struct background housekeeper;
    struct background backfill;
    struct background expiry;
    struct background recovery; /* backups and restores: recovery_background.c */
    int64_t recovery_lag_ms;
    struct trimmed_history *trimmed; /* of the housekeeper: history_trim.c */
    struct expiry_sweeps *sweeps;    /* of that thread */
};

/* catalog.c */
struct str catalog_key(struct arena *arena, const char *part, struct str sort);

/* Reading at the start: waits for the store. */
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
MUST_USE bool catalog_read_all(struct engine *engine, struct arena *arena,
                               struct catalog_snapshot *out, struct err *err);
/* Whether all rows can be read. */
MUST_USE bool catalog_check_all(const struct catalog_snapshot *snapshot, struct err *err);
/* Makes what the store has, as of that version, what is known here. On the thread that publishes.
 */
void catalog_replace_all(struct engine *engine, const struct catalog_snapshot *snapshot,
                         uint64_t version);
/* Drops spaces that were to be dropped when a server stopped. */
void catalog_drop_left(struct engine *engine, const struct catalog_snapshot *snapshot);
/* Up to which version, at most `seen`, no call of this server knows less. */
uint64_t catalog_settled_version(struct engine *engine, uint64_t seen);
void catalog_unload(struct engine *engine);

/* Whether nobody holds an older description of the table any more: all calls that start or are
 * under way, of all servers, know at least this one. */
bool catalog_is_settled(struct engine *engine, const struct table *table);

/* Whether a state that began then may end: --table-delay-ms keeps states lasting. */
bool catalog_delay_is_over(const struct engine *engine, int64_t since_ms);
/* The tables that are `wanted`, acquired, in an array in `arena`. */
size_t catalog_collect(struct engine *engine, bool (*wanted)(const struct table *table),
                       struct arena *arena, const struct table ***out);

/* The row that says that a space is to go, and letting it go once that row is in the store. Returns
 * at once; if we stop before it is done, the next start sees to it. */
struct str catalog_drop_key(struct arena *arena, uint32_t space);
void catalog_drop_spaces(struct engine *engine, const uint32_t *spaces, size_t count);

/* One round of each background thread. */
int64_t housekeeper_round(struct background *background);
int64_t backfill_round(struct background *background);
int64_t recovery_round(struct background *background);

/* backfill.c: whether an index of the table is being created or deleted. */
bool index_is_changing(const struct table *table);

/* What is kept of a space beside its rows: how many they are, and how many bytes by the service's
 * rules; while it is being filled, also how far that has come (engine/backfill_scan.h). */
enum space_fact { SPACE_SIZE, SPACE_CURSOR };
struct str space_fact_key(struct arena *arena, uint32_t space, enum space_fact fact);
/* Adds to the space's size. */
void space_count(struct store_batch *batch, struct arena *arena, uint32_t space, int64_t rows,
                 int64_t bytes);

/* Words a store's status for an answer. */
void engine_set_store_error(struct err *err, enum store_status status);

/* key.c: checks the index keys that an update changes; fails in write->err. The new item is
 * write->new_item, or `result` if it was not written (else NULL). */
MUST_USE bool item_check_changed_index_keys(struct item_write *write, struct value old_item,
                                            const struct update_result *result);

/* index.c: the entry of an item in an index. */
struct index_entry {
    struct str key; /* STR_NULL: the item is not in the index */
    struct str row;
    size_t size;
};

/* Just its key; STR_NULL: the item lacks a key attribute or has it of another type. */
struct str index_entry_key(const struct engine *engine, const struct index *index,
                           const struct item_key *key, struct value item, struct arena *arena);
/* `item_row` is the item's own row, for indexes that project all of it. */
struct index_entry index_entry_of(const struct engine *engine, const struct table *table,
                                  const struct index *index, const struct item_key *key,
                                  struct value item, struct str item_row, struct arena *arena);
/* What the entries of an item in all local indexes count for. */
size_t index_local_size(const struct table *table, struct value item);

#endif
