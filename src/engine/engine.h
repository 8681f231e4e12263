/* engine/engine.h: tables, items, indexes, queries and transactions on a store. Knows no JSON and
 * no socket.
 *
 * A call is a struct of the caller's that lives until its done() has been called: on the thread of
 * call.home, and possibly before the function that started it returns. Everything a call gives
 * back lives in call.arena or, where it says so, only until done() returns. */
#ifndef GRAMME_ENGINE_ENGINE_H
#define GRAMME_ENGINE_ENGINE_H

#include "base/mailbox.h"
#include "codec/row.h"
#include "err/err.h"
#include "expr/expr.h"
#include "model/capacity.h"
#include "model/limits.h"
#include "model/table.h"
#include "store/store.h"

struct engine;

struct engine_options {
    struct str region;
    struct str account;
    int64_t table_delay_ms;   /* how long tables stay CREATING, UPDATING, DELETING */
    int64_t ttl_delay_ms;     /* how long items outlive their time */
    int64_t recovery_lag_ms;  /* how far the latest restorable time is behind now */
    int64_t clock_confirm_ms; /* how long a clock that jumped must run evenly; 0: an hour */
    /* Of streams; 0: as the service has it. */
    uint32_t stream_shards; /* open at a time, of one that is enabled from now on; 0: by capacity */
    int64_t stream_shard_ms;
    int64_t stream_retention_ms;
};

/* Opens an engine on a store, which it borrows: reads the catalog and starts background threads.
 * Copies the options. Blocks. */
MUST_USE bool engine_open(struct store *store, const struct engine_options *options,
                          struct engine **out, struct err *err);
/* Stops the background threads and frees the engine. No call may be under way. Accepts NULL. */
void engine_close(struct engine *engine);
/* Call it after the clock was set or an operator has confirmed it: background threads then check at
 * once what is due. Any thread, as the next. */
void engine_clock_moved(struct engine *engine);
/* Whether the wall clock has jumped ahead, so that data does not expire by it (see
 * engine/trusted_clock.h). */
MUST_USE bool engine_clock_is_doubted(const struct engine *engine);
/* Whether this server may answer calls: see store_may_serve(). Any thread. */
MUST_USE bool engine_may_serve(const struct engine *engine);
/* Returns the region of ARNs. */
struct str engine_region(const struct engine *engine);
/* Returns the account of ARNs. */
struct str engine_account(const struct engine *engine);
/* Calls `changed` after each change of a table, by this server or another one, on a thread that it
 * must not keep. NULL ends it: when this returns it is not called any more. For a single watcher.
 */
void engine_watch_catalog(struct engine *engine, void (*changed)(void *context), void *context);
/* Returns whether this server is the one that exports, imports and delivers to Kinesis
 * (store_leads_transfers()). Any thread. */
MUST_USE bool engine_leads_transfers(const struct engine *engine);
/* The time by which data is deleted (engine/trusted_clock.h), in ms since 1970. Any thread. */
int64_t engine_trusted_ms(const struct engine *engine);
/* Returns the seed of hashes that outlive the process. */
uint64_t engine_seed(const struct engine *engine);

struct engine_call {
    struct engine *engine;
    struct arena *arena;
    struct mailbox *home;
    struct err err; /* err.code ERR_NONE: success */
    void (*done)(struct engine_call *call);
    /* Called on the thread of `home` before the functions that take items or records (`emit`) are
     * called on another one; with `owner`. NULL: nothing to do. */
    void (*before_thread_change)(void *owner);
    void *owner;
    /* Reads of items by key that have more bytes in all end with ERR_TOO_MUCH_HERE; 0: no limit. */
    size_t bytes_max;
    struct task task; /* private to the engine */
};

/* Checks whether the store accepts writes, by writing a row. call.err is set if it does not. The
 * caller fills in `call`; the other members are private to the engine. */
struct engine_probe {
    struct engine_call call;
    struct str key;
    struct store_update update;
};
/* Starts a probe. */
void engine_probe(struct engine_probe *probe);

/* Returns the bytes_max of a call whose items also pass through `filter`: smaller if the filter is
 * expensive. */
size_t engine_bytes_max(const struct engine_call *call, const struct condition *filter);

/* --- tables --- */

/* Returns the description of a table, with a reference that the caller releases; NULL: there is no
 * such table. */
MUST_USE const struct table *table_acquire(struct engine *engine, struct str name);
/* Releases a reference. Accepts NULL. */
void table_release(const struct table *table);
/* As DescribeTable shows it now: CREATING until the delay is over, UPDATING while an index is about
 * to be filled or deleted. */
enum resource_status table_status(const struct engine *engine, const struct table *table);

/* Whether a state that began at `since_ms` has ended: --table-delay-ms makes states such as
 * CREATING and ENABLING last. */
MUST_USE bool catalog_delay_is_over(const struct engine *engine, int64_t since_ms);

/* Item counts and sizes of the table and of each index. The entry after those of the indexes is for
 * the index that is being deleted. */
struct table_sizes {
    int64_t item_count;
    int64_t bytes;
    int64_t index_item_counts[CAPACITY_INDEX_MAX];
    int64_t index_bytes[CAPACITY_INDEX_MAX];
};

struct table_describe {
    struct engine_call call;
    struct str name;
    const struct table *table; /* acquired; the caller releases it. NULL on error */
    struct table_sizes sizes;
    struct store_get get;
};
/* Reads the description and counters of a table. */
void engine_describe_table(struct table_describe *describe);

/* Makes a table: `wanted` is a description without id, dates and spaces. */
struct table_create {
    struct engine_call call;
    const struct table *wanted;
    /* A table that is to be restored: the key of the backup's row; STR_NULL: it is not. */
    struct str backup_key;
    const struct table *table; /* acquired; the caller releases it. NULL on error */
    struct store_update update;
    struct str row;
    struct str stream_row;
    uint64_t version; /* of the catalog */
};
/* Creates a table. */
void engine_create_table(struct table_create *create);

enum { TABLE_CHANGE_DROPS_MAX = 4, CHANGE_EXTRA = 3 };

/* Replaces the description of a table. `change` gets the newest description and makes the new one
 * (in call.arena) or sets call.err; it may run more than once. */
struct table_change {
    struct engine_call call;
    struct str name;
    const struct table *(*change)(struct table_change *change, const struct table *table);
    struct str extra_key;      /* of a further row that `change` needs; STR_NULL: none */
    bool may_be_creating;      /* the table may be CREATING */
    const struct table *table; /* the new one, acquired; NULL on error */

    /* For `change`; the engine sets them before each run. */
    uint64_t version;                         /* of the catalog, with this change */
    struct str extra_row;                     /* CHANGE_EXTRA is its index in the batch */
    uint32_t next_space;                      /* take a space for new rows: next_space++ */
    uint32_t dropped[TABLE_CHANGE_DROPS_MAX]; /* spaces whose rows are to go */
    size_t dropped_count;
    struct store_batch *batch; /* for rows that the table's own row owns */
    bool awaits_recovery;      /* recovery_enable(): done() waits until the table can be restored */

    struct store_update update; /* private to the engine, like all below */
    struct str row;
    struct str stream_row;
};
/* Changes the description of a table. */
void engine_change_table(struct table_change *change);

/* For `change` of a table_change: adds a global index to *table, in the state CREATING. The
 * background thread writes its entries. */
void table_add_index(struct table_change *change, struct table *table, const struct index *index);
/* For `change` of a table_change: removes index `number` from *table. The background thread drops
 * its entries. */
void table_remove_index(struct table_change *change, struct table *table, size_t number);

struct table_delete {
    struct engine_call call;
    struct str name;
    const struct table *table; /* as it was, acquired; NULL on error */
    bool may_be_creating;      /* the table may be CREATING: of an import that failed */
    /* Not NULL: the table of a restore that has failed, which is deleted only if it is still being
     * restored. */
    const struct table *failed_restore;
    bool is_kept; /* backups need its items */
    struct store_update update;
    struct str row;
    struct str stream_row;
    uint64_t version;
};
/* Deletes a table. */
void engine_delete_table(struct table_delete *remove);

struct table_names {
    struct str *names;
    size_t count;
    bool more;
};
/* Lists names of tables in order, after `after` (STR_NULL: from the first), at most `limit`. */
void engine_list_tables(struct engine *engine, struct arena *arena, struct str after, size_t limit,
                        struct table_names *out);

/* --- keys --- */

/* An item's primary key as values, and the key of its row. */
struct item_key {
    struct value hash;
    struct value range; /* VALUE_ABSENT: the table has no sort key */
    struct str row;
};

/* Makes the key from a Key parameter, which must have exactly the key attributes, of the right
 * types. */
MUST_USE bool item_key_from_key(struct engine *engine, const struct table *table, struct value key,
                                struct arena *arena, struct item_key *out, struct err *err);
/* Returns whether an item to put has the key attributes, of the right types. */
MUST_USE bool item_has_key(const struct table *table, struct value item);
/* Makes the key of an item to put, which must have the key attributes, of the right types. */
MUST_USE bool item_key_from_item(struct engine *engine, const struct table *table,
                                 struct value item, struct arena *arena, struct item_key *out,
                                 struct err *err);
/* Refuses empty values of key attributes; for an item to put, also of the index keys. The two
 * functions above and the one below check this, too; transactions must check it before anything
 * else. */
MUST_USE bool item_check_empty_keys(const struct table *table, struct value attributes, bool put,
                                    struct err *err);
/* Checks the index keys that an item to put has: types and sizes. */
MUST_USE bool item_check_index_keys(const struct table *table, struct value item, struct err *err);
/* Checks the size limit of an item to put; in a table with local indexes their entries count,
 * too. */
MUST_USE bool item_check_size(const struct table *table, struct value item, size_t size,
                              struct err *err);
/* Returns the key attributes of an item as an M value: those of the table and, if `index` is not
 * NULL, of the index. */
struct value item_key_value(const struct table *table, const struct index *index, struct value item,
                            struct arena *arena);

/* --- reading by key --- */

struct items_get {
    struct engine_call call;
    const struct item_key *keys;
    size_t key_count;
    bool snapshot;
    struct row *rows; /* one per key; valid until done() returns */
    struct store_get get;
};
/* Reads items by key. */
void engine_get_items(struct items_get *get);

/* --- writing --- */

enum write_kind { WRITE_PUT, WRITE_DELETE, WRITE_UPDATE, WRITE_CHECK };

/* One write of one item. */
struct item_write {
    enum write_kind kind;
    const struct table *table; /* borrowed */
    struct item_key key;
    struct value key_value;            /* the key attributes as an M value (WRITE_UPDATE) */
    struct value item;                 /* WRITE_PUT */
    size_t item_size;                  /* WRITE_PUT: of the item, by the service's rules */
    const struct update *update;       /* WRITE_UPDATE; NULL: changes nothing */
    const struct condition *condition; /* or NULL */
    bool want_old;                     /* keep the item as it was */
    bool want_old_on_failure;
    bool flat_size;   /* transactions: UpdateItem's extra charge on the size limit does not apply */
    bool is_internal; /* not by a call: deleted because it expired, or put by a restore */
    const struct expiry_find *expiry; /* of an expired item: how it was found (engine/expiry.h) */

    /* The result. */
    struct err err;        /* ERR_CONDITIONAL_CHECK_FAILED, ERR_VALIDATION, ... */
    bool empty_index_key;  /* err is about an empty index key: a transaction fails as a whole */
    struct value old_item; /* if wanted; VALUE_ABSENT: there was none */
    struct value new_item; /* VALUE_ABSENT: there is none */
    size_t old_size;
    size_t new_size;
    struct capacity capacity;
    int64_t collection_bytes; /* tables with local indexes: size of the item collection */
};

/* Writes that happen all or not at all. */
struct items_write {
    /* call.err: a failure that no single write caused, e.g. the disk is full */
    struct engine_call call;
    struct item_write *writes;
    size_t write_count;
    bool failed; /* some write has an err, and nothing was written */
    /* TransactWriteItems' idempotency token; STR_NULL: none. */
    struct str token;
    /* of the request: a call with the same token and another digest is refused */
    struct str token_digest;
    bool replayed;          /* a call with this token was executed before: this one wrote nothing */
    struct str replay_note; /* what the first call left with note(), in call.arena */
    /* Called when all writes have been evaluated successfully: returns what to store with the
     * token, in call.arena. */
    struct str (*note)(struct items_write *write);

    struct store_update update; /* private to the engine, like all below */
    size_t token_key;           /* index of the token's key; SIZE_MAX: none */
    struct item_collection *collections;
    size_t collection_count;
    struct space_cursor *cursors; /* of spaces that are being filled (engine/backfill_scan.h) */
    size_t cursor_count;
    const struct str *rows; /* inside eval */
    /* Of write_prepare(): rows that eval needs, and the writes as they were decided. */
    struct str *kept_rows;
    struct item_write *decided;
    struct arena_mark prepared_mark;
    bool table_is_newer;
    struct items_write *next; /* to be started when this one is done; NULL: none */
};
/* Starts all calls; each ends by itself. They may share an arena: nothing is allocated for one
 * after another has been started. */
void engine_write_items(struct items_write *const *calls, size_t count);

/* --- ranges: Query and Scan --- */

struct past;
struct items_read {
    struct engine_call call;
    const struct table *table;
    const struct index *index; /* NULL: the table itself */
    struct str lo;             /* of row keys; see engine/range.h */
    struct str hi;
    bool backward;
    size_t limit;                   /* 0: none */
    const struct condition *filter; /* or NULL */
    bool fetch;                     /* local index: read whole items from the table */
    const struct past *past; /* rows to see instead of the store's (engine/past.h); NULL: none */
    /* Gets each item that passes the filter; on any thread, one at a time. NULL: just count. */
    void (*emit)(struct items_read *read, struct value item);
    /* Set by emit(), while items are fetched: there is no memory for more, and the call will fail.
     */
    bool stop;

    size_t count;         /* after the filter */
    size_t scanned_count; /* before */
    size_t bytes;         /* read, before filter and projection */
    double fetch_units;   /* units of the reads from the table, eventually consistent */
    bool consistent;
    struct value last_key; /* VALUE_ABSENT: the range was read to its end */

    struct store_range range; /* private to the engine, like all below */
    size_t past_count;        /* rows of `past` that were passed */
    struct store_get get;
    struct str *fetch_keys; /* table rows of the index entries read, with `fetch` */
    size_t fetch_count;
    size_t fetched_count;
    size_t fetched_bytes;
    struct arena_mark fetch_mark; /* frees the items of the previous part */
    bool fetch_is_away;           /* a part is being read by another thread */
    bool fetch_is_back;           /* the requested part has been read */
};
/* Reads one page of a Query or Scan. */
void engine_read_items(struct items_read *read);

#endif
