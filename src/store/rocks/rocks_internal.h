/* store/rocks/rocks_internal.h: what the files of this folder share. README.md of src/store has
 * the threads and the order of locks. */
#ifndef GRAMME_STORE_ROCKS_ROCKS_INTERNAL_H
#define GRAMME_STORE_ROCKS_ROCKS_INTERNAL_H

#include <pthread.h>
#include <rocksdb/c.h>

#include "store/rocks/gate.h"
#include "store/rocks/identity.h"
#include "store/rocks/read_speed.h"
#include "store/rocks/queue.h"
#include "store/rocks/reserve.h"
#include "store/space_set.h"
#include "store/store.h"
#include "store/wal/wal.h"

/* A file that marks a directory in which a repair or restore is not complete. */
#define ROCKS_PARTIAL_NAME "STORE.partial"

/* Where a read may look for blocks that are not in the block cache. */
enum tier {
    TIER_CACHED,  /* nowhere, the read is incomplete: for threads that must not block */
    TIER_QUICK,   /* ranges: in files, for a limited time; see read_speed.h */
    TIER_BLOCKING /* in files */
};

/* State of the disk, as the committer sees it. */
struct health {
    bool broken;      /* no writes until rocks_repair() has succeeded */
    bool reopen;      /* RocksDB refuses writes: the database must be closed and opened again */
    bool is_reported; /* the failure is in the log */
    int failures;     /* consecutive failures to write to a new segment or to open the database */
    int64_t next_try_us; /* time of the next attempt to repair */
    uint64_t reopen_count;
};

/* Bad blocks that were found: see damage.c. */
enum { DAMAGES_MAX = 256 };
struct damage {
    pthread_mutex_t mutex;
    uint64_t places[DAMAGES_MAX]; /* hashes of the places that were logged */
    size_t count;
    atomic_bool compactions_are_off;
};

/* Number of level-0 files that start a compaction while the write rate is high. */
enum { NEWEST_FILES = 4 };

/* When compactions start: see merge.c. Sweeper only, inside the gate. */
struct merging {
    bool eagerly;
    uint64_t written;           /* rocks->written at the last check */
    uint64_t flushed_log_bytes; /* rocks->log_bytes at the last flush that shortened the log */
};

struct rocks {
    struct store store;
    char *path;
    const struct files *files;
    struct identity identity;
    uint64_t seed_wanted; /* seed of a store that is created; 0: random */
    int lock_fd;          /* of STORE.lock; -1: not locked */
    bool is_open;         /* all checks have passed and the log is replayed */
    rocksdb_env_t *env;   /* of a store in memory; else NULL */
    rocksdb_cache_t *cache;
    rocksdb_options_t *options;
    rocksdb_readoptions_t *read_cached;   /* TIER_CACHED; ranges create their own options */
    rocksdb_readoptions_t *read_blocking; /* TIER_BLOCKING */
    rocksdb_readoptions_t *read_stored;   /* tables only, no memtables */
    /* With RocksDB's own log and a sync: when a store is created, and in baseline.c. */
    rocksdb_writeoptions_t *write_synced;
    rocksdb_writeoptions_t *write_unlogged; /* of groups, which are in our log */
    rocksdb_compactionfilter_t *drop_filter;

    struct gate gate;
    struct read_speed read_speed;
    struct space_set gone;    /* dropped spaces; readers and the committer check it */
    struct space_set purged;  /* the drop is durable: compactions may remove the rows */
    struct work_queue reads;  /* tasks for the workers */
    struct work_queue slow;   /* tasks for the slow threads: expensive work, in time slices */
    struct work_queue sweeps; /* tasks for the sweeper */
    struct inbox updates;     /* tasks for the committer */
    pthread_t *workers;
    int worker_count;
    pthread_t *slow_threads; /* as many as workers, with low priority */
    int slow_count;
    pthread_t sweeper;
    bool sweeper_started;
    struct merging merging;
    struct reserve reserve;
    struct damage damage;
    struct work_queue scrubs; /* always empty: the scrubber sleeps in it until it is closed */
    pthread_t scrubber;
    bool scrubber_started;
    uint64_t scrub_bytes_per_second; /* 0: there is no scrubber */
    atomic_uint_least64_t written;   /* bytes of all groups; the committer adds to it */
    atomic_uint_least64_t log_bytes; /* size of the log; the committer sets it */
    atomic_bool closing;             /* the sweeper stops as soon as it can */
    struct task last_task;           /* pushed to `updates` when the store is closed */
    pthread_t committer;
    bool committer_started;

    /* `turn` protects all of the following. The committer holds it, or a caller that may block. */
    pthread_mutex_t turn;
    struct group *group;
    rocksdb_t *db; /* also while the gate is shut; NULL: it could not be opened */
    struct wal *wal;
    struct health health;
    uint64_t last_stamp;
    int64_t last_time_ns; /* the newest time of an update */
    uint32_t *drops;      /* spaces that the next commit drops */
    size_t drop_count;
    size_t drop_capacity;
};

/* Returns the RocksDB store that contains `store`. */
static inline struct rocks *rocks_of(struct store *store)
{
    return CONTAINER_OF(store, struct rocks, store);
}

/* Returns whether RocksDB reported an error: `message` is not NULL. If so, logs and frees it;
 * `doing` says what failed. */
bool rocks_failed(char *message, const char *doing);
/* Returns whether an error means that a block is not in the cache (TIER_CACHED), which is no
 * failure. */
MUST_USE bool rocks_is_incomplete(const char *message);

/* Returns a numeric property of RocksDB; 0 if it has none of that name. */
MUST_USE uint64_t rocks_number(rocksdb_t *db, const char *property);
#define ROCKS_NEWEST_FILES "rocksdb.num-files-at-level0"

/* Writes a key of space 0: `name` is the part, at most 16 characters. */
void rocks_own_key(char out[STORE_PREFIX_LEN], const char *name);

/* options.c */
/* Creates the options of the database and the objects that they use. */
void rocks_options_create(struct rocks *rocks, size_t cache_bytes);
/* Frees them; the database must be closed. */
void rocks_options_destroy(struct rocks *rocks);
/* Creates options for one read; the caller destroys them. */
MUST_USE rocksdb_readoptions_t *rocks_read_options_create(void);

/* inspect.c, upgrade.c: before the database is opened for writing. */
/* Checks the directory; creates a store in it or upgrades an older one if need be; sets
 * rocks->identity. May leave the database open. On failure nothing was deleted. */
MUST_USE bool rocks_inspect(struct rocks *rocks, struct err *err);
/* Releases the lock of the directory, if it is held. */
void rocks_unlock(struct rocks *rocks);
/* Describes the manifest for wal_close_cleanly(). Does not set out->stored. */
MUST_USE bool rocks_describe_tables(const struct rocks *rocks, struct wal_tables *out,
                                    struct err *err);
/* Opens the database for reading: sets rocks->db. Close it with rocks_close_database(). */
MUST_USE bool rocks_open_read_only(struct rocks *rocks, struct err *err);
/* Writes an empty log and then the identity, which makes the directory a store of this format. */
MUST_USE bool rocks_write_identity(struct rocks *rocks, struct err *err);
/* Writes the row by which servers that know only format 3 detect a newer store, and refuse it. */
MUST_USE bool rocks_write_format_row(struct rocks *rocks, rocksdb_writeoptions_t *options,
                                     struct err *err);
/* Upgrades a store of format 3; leaves the database open. */
MUST_USE bool rocks_upgrade(struct rocks *rocks, struct err *err);
/* Deletes files of the old log that an interrupted upgrade may have left. */
void rocks_delete_old_log(struct rocks *rocks);

/* open.c */
/* Creates the struct with its options, queues and locks; opens nothing and starts no thread. */
MUST_USE struct rocks *rocks_create(struct str directory, size_t cache_bytes);
/* Closes the database if it is open, releases the lock, and frees the struct. No thread may run. */
void rocks_destroy(struct rocks *rocks);
/* Flushes the memtable to a table, and waits until that is done. False: it failed, and the error is
 * logged. */
MUST_USE bool rocks_flush_tables(rocksdb_t *db);

/* write.c */
enum written { WRITTEN, NOT_WRITTEN, PERHAPS_WRITTEN };
/* Writes a group to the write-ahead log, syncs it, and applies it to the memtable. */
MUST_USE enum written rocks_write(struct rocks *rocks, rocksdb_writebatch_t *writes);
/* Returns the options of the write-ahead log. */
MUST_USE struct wal_options rocks_wal_options(const struct rocks *rocks);
/* Reads the number of the last log record that the tables hold. */
MUST_USE bool rocks_read_stored(struct rocks *rocks, uint64_t *out, struct err *err);
/* Applies a record of the log to the memtable. */
MUST_USE bool rocks_apply(struct rocks *rocks, uint64_t number, struct str record, struct err *err);
/* Replays the log: applies the records that the tables do not hold. */
MUST_USE bool rocks_replay(struct rocks *rocks, struct err *err);
/* Releases the segments of the log whose records are all in tables. */
void rocks_release_log(struct rocks *rocks);

/* repair.c */
/* Opens RocksDB for writing: sets rocks->db. */
MUST_USE bool rocks_open_rocksdb(struct rocks *rocks, struct err *err);
/* Opens the database unless rocks_inspect() has left it open, replays the log, opens the gate. */
MUST_USE bool rocks_open_database(struct rocks *rocks, struct err *err);
/* Closes the database, if it is open. No reader may be inside the gate. */
void rocks_close_database(struct rocks *rocks);
/* The write-ahead log could not be written; `error` is an errno. Decides when to try again. */
void rocks_log_failed(struct rocks *rocks, int error);
/* RocksDB refuses writes, so the database must be opened again. Frees `message`. */
void rocks_database_failed(struct rocks *rocks, char *message);
/* A group was written: ends a state of failure. */
void rocks_write_succeeded(struct rocks *rocks);
/* If the store is broken and the time of the next attempt has come, tries to repair it. */
void rocks_repair(struct rocks *rocks);
/* Returns the time until the next attempt of rocks_repair(); negative: none is planned. */
MUST_USE int64_t rocks_repair_wait_ns(const struct rocks *rocks);

/* read.c, range.c */
/* store_get() of this store. */
void rocks_get(struct store *store, struct store_get *get);
/* store_range() of this store. */
void rocks_range(struct store *store, struct store_range *range);
/* The worker threads: run tasks of rocks->reads until it is closed. */
void *rocks_worker_main(void *rocks);
/* The slow threads: run tasks of rocks->slow until it is closed, with low priority. */
void *rocks_slow_main(void *rocks);
enum read_result { READ_OK, READ_INCOMPLETE, READ_FAILED };
/* Reads one row. The caller destroys *out_pin when it does not need the row any more. If the row is
 * absent, *out_pin is NULL and *out is STR_NULL. */
MUST_USE enum read_result rocks_read(struct rocks *rocks, rocksdb_t *db,
                                     rocksdb_readoptions_t *options, struct str key,
                                     struct str *out, rocksdb_pinnableslice_t **out_pin);

/* commit.c */
/* Creates the group, which is used again for every commit. */
MUST_USE struct group *rocks_group_create(struct rocks *rocks);
/* Frees the group. */
void rocks_group_destroy(struct group *group);
/* Reads the newest stamp and time from the database, when it is opened. */
MUST_USE bool rocks_load_numbers(struct rocks *rocks, struct err *err);
/* store_update() of this store. */
void rocks_update(struct store *store, struct store_update *update, bool is_alone);
/* The committer thread. */
void *rocks_committer_main(void *rocks);

/* drop.c */
/* store_drop_space() of this store. */
void rocks_drop_space(struct store *store, uint32_t space);
/* Reads the dropped spaces from the database, when it is opened. */
MUST_USE bool rocks_load_drops(struct rocks *rocks, struct err *err);
/* Adds the space of a drop task to rocks->drops, and frees the task. With the turn. */
void rocks_note_drop(struct rocks *rocks, struct task *task);
/* Returns whether a task of the committer's inbox is a drop. */
bool rocks_is_drop(const struct task *task);
/* Adds rocks->drops to the batch of a group. With the turn. */
void rocks_write_drops(struct rocks *rocks, rocksdb_writebatch_t *writes);
/* The group was written: hands rocks->drops to the sweeper, and empties it. With the turn. */
void rocks_drops_written(struct rocks *rocks);
/* Creates the compaction filter that removes rows of purged spaces. */
MUST_USE rocksdb_compactionfilter_t *rocks_drop_filter_create(struct rocks *rocks);
/* The sweeper thread. */
void *rocks_sweeper_main(void *rocks);

/* damage.c */
/* Initializes the record of bad blocks. */
void damage_init(struct damage *damage);
/* Frees it. */
void damage_finish(struct damage *damage);
/* A read failed: logs it, once for each bad block. Frees the message. Any thread. */
void rocks_read_failed(struct rocks *rocks, char *message);
/* RocksDB refuses writes. If the message names a bad block, turns compactions off from the next
 * open on. */
void rocks_note_write_failure(struct rocks *rocks, const char *message);
/* The scrubber thread. */
void *rocks_scrubber_main(void *rocks);

/* merge.c: the sweeper calls both once a second. */
/* Adapts the number of files that start a compaction to the write rate. */
void rocks_adapt_merging(struct rocks *rocks);
/* Flushes the memtable if the log has become too long. */
void rocks_limit_log(struct rocks *rocks);

#endif
