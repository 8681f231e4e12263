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

/* Marks a directory in which a repair or restore has not come to its end. */
#define ROCKS_PARTIAL_NAME "STORE.partial"

/* What reading does when the block cache has not got what it needs. */
enum tier {
    TIER_CACHED,  /* gives up: for threads that must not block */
    TIER_QUICK,   /* ranges: reads from the disk for a while, then gives up; see read_speed.h */
    TIER_BLOCKING /* reads from the disk */
};

/* What the committer knows of the disk. */
struct health {
    bool broken;         /* nothing is written until rocks_repair() says otherwise */
    bool reopen;         /* the database takes no writes: it must be opened again */
    bool is_reported;    /* the operator was */
    int failures;        /* in a row: of writes to a fresh segment, and to open the database */
    int64_t next_try_us; /* not before this is it tried again */
    uint64_t reopen_count;
};

/* What is known of bad blocks: see damage.c. */
enum { DAMAGES_MAX = 256 };
struct damage {
    pthread_mutex_t mutex;
    uint64_t places[DAMAGES_MAX]; /* hashes of those that the operator was told of */
    size_t count;
    atomic_bool compactions_are_off;
};

/* So many files of the newest level are merged together while much is written. */
enum { NEWEST_FILES = 4 };

/* How eagerly RocksDB merges: see merge.c. Of the sweeper, inside the gate. */
struct merging {
    bool eagerly;
    uint64_t written;           /* rocks->written when it was looked at last */
    uint64_t flushed_log_bytes; /* rocks->log_bytes at the last flush for its sake */
};

struct rocks {
    struct store store;
    char *path;
    const struct files *files;
    struct identity identity;
    uint64_t seed_wanted; /* of a store that is created; 0: a random one */
    int lock_fd;          /* of STORE.lock; -1: none */
    bool is_open;         /* everything was checked and replayed */
    rocksdb_env_t *env;   /* memory only */
    rocksdb_cache_t *cache;
    rocksdb_options_t *options;
    rocksdb_readoptions_t *read_cached; /* by enum tier; ranges make their own */
    rocksdb_readoptions_t *read_blocking;
    rocksdb_readoptions_t *read_stored;
    rocksdb_writeoptions_t
        *write_synced; /* with RocksDB's own log: only when a store is created, and bare.c */
    rocksdb_writeoptions_t *write_unlogged; /* what is in our log */
    rocksdb_compactionfilter_t *drop_filter;

    struct gate gate;
    struct read_speed read_speed;
    struct space_set gone;    /* dropped; readers and the committer ask */
    struct space_set purged;  /* the drop is on disk: compactions may leave the rows out */
    struct work_queue reads;  /* for the workers */
    struct work_queue slow;   /* for the slow threads: expensive work, in time slices */
    struct work_queue sweeps; /* for the sweeper */
    struct inbox updates;     /* for the committer */
    pthread_t *workers;
    int worker_count;
    pthread_t *slow_threads; /* as many, with low priority */
    int slow_count;
    pthread_t sweeper;
    bool sweeper_started;
    struct merging merging;
    struct reserve reserve;
    struct damage damage;
    struct work_queue scrubs; /* stays empty: the scrubber waits for its end */
    pthread_t scrubber;
    bool scrubber_started;
    uint64_t scrub_bytes_per_second; /* 0: there is no scrubber */
    atomic_uint_least64_t written;   /* bytes, by the committer */
    atomic_uint_least64_t log_bytes; /* of the log, by the committer */
    atomic_bool closing;             /* tells the sweeper to stop in the middle */
    struct task last_task;           /* tells the committer that there will be no more */
    pthread_t committer;
    bool committer_started;

    /* Of whoever has the turn to commit: the committer, or a caller that may block. */
    pthread_mutex_t turn;
    struct group *group;
    rocksdb_t *db; /* what the gate shows, or would; NULL: it could not be opened */
    struct wal *wal;
    struct health health;
    uint64_t last_stamp;
    int64_t last_time_ns; /* of an update */
    uint32_t *drops;      /* spaces to be dropped with the next commit */
    size_t drop_count;
    size_t drop_capacity;
};

static inline struct rocks *rocks_of(struct store *store)
{
    return CONTAINER_OF(store, struct rocks, store);
}

/* Frees a message of RocksDB's, says it to the operator, and says whether there was one. */
bool rocks_failed(char *message, const char *doing);
/* What the cache could not answer is no failure. */
MUST_USE bool rocks_is_incomplete(const char *message);

/* What RocksDB says of itself: a property that is a number. 0: it has none. */
MUST_USE uint64_t rocks_number(rocksdb_t *db, const char *property);
#define ROCKS_NEWEST_FILES "rocksdb.num-files-at-level0"

/* A key of space 0: `name` is the part, at most 16 characters. */
void rocks_own_key(char out[STORE_PREFIX_LEN], const char *name);

/* options.c: the options of the database and the objects that they need. */
void rocks_options_create(struct rocks *rocks, size_t cache_bytes);
void rocks_options_destroy(struct rocks *rocks);
/* For one read; the caller destroys it. */
MUST_USE rocksdb_readoptions_t *rocks_read_options_create(void);

/* inspect.c, upgrade.c: before the database is opened for writing. */
/* Checks the directory, or creates a store in it, or upgrades an older one; fills the identity. May
 * leave the database open. On failure nothing was deleted. */
MUST_USE bool rocks_inspect(struct rocks *rocks, struct err *err);
/* Accepts that there is no lock. */
void rocks_unlock(struct rocks *rocks);
/* The manifest, for wal_close_cleanly(); leaves `stored` alone. */
MUST_USE bool rocks_describe_tables(const struct rocks *rocks, struct wal_tables *out,
                                    struct err *err);
/* Sets rocks->db; close with rocks_close_database(). */
MUST_USE bool rocks_open_read_only(struct rocks *rocks, struct err *err);
/* An empty log, and the identity: from then on the directory is a store of this format. */
MUST_USE bool rocks_write_identity(struct rocks *rocks, struct err *err);
/* Writes the row by which servers of format 3 recognise a newer store, and refuse it. */
MUST_USE bool rocks_write_format_row(struct rocks *rocks, rocksdb_writeoptions_t *options,
                                     struct err *err);
/* Upgrades a store of format 3; leaves the database open. */
MUST_USE bool rocks_upgrade(struct rocks *rocks, struct err *err);
/* Deletes what an interrupted upgrade may have left. */
void rocks_delete_old_log(struct rocks *rocks);

/* open.c */
/* A store that is not opened yet: options, queues and locks, without threads. */
MUST_USE struct rocks *rocks_create(struct str directory, size_t cache_bytes);
/* Frees it; closes the database if it is open, and releases the lock. There are no threads. */
void rocks_destroy(struct rocks *rocks);
/* Writes the memtable to a table and waits for it. */
MUST_USE bool rocks_flush_tables(rocksdb_t *db);

/* write.c */
enum written { WRITTEN, NOT_WRITTEN, PERHAPS_WRITTEN };
/* Writes a group to the log, then to the database. */
MUST_USE enum written rocks_write(struct rocks *rocks, rocksdb_writebatch_t *writes);
/* How our log is set up. */
MUST_USE struct wal_options rocks_wal_options(const struct rocks *rocks);
/* Up to which record the tables hold everything. */
MUST_USE bool rocks_read_stored(struct rocks *rocks, uint64_t *out, struct err *err);
/* Puts a record of the log into the memtable. */
MUST_USE bool rocks_apply(struct rocks *rocks, uint64_t number, struct str record, struct err *err);
/* Puts into the memtable what only the log has. */
MUST_USE bool rocks_replay(struct rocks *rocks, struct err *err);
/* Deletes segments of the log whose records are all in tables. */
void rocks_release_log(struct rocks *rocks);

/* repair.c */
/* Opens RocksDB for writing: sets rocks->db. */
MUST_USE bool rocks_open_rocksdb(struct rocks *rocks, struct err *err);
/* Opens the database, unless rocks_inspect() left it open, replays the log, opens the gate. */
MUST_USE bool rocks_open_database(struct rocks *rocks, struct err *err);
void rocks_close_database(struct rocks *rocks);
/* How a write ended. */
void rocks_log_failed(struct rocks *rocks, int error);
void rocks_database_failed(struct rocks *rocks, char *message); /* RocksDB's, and freed */
void rocks_write_succeeded(struct rocks *rocks);
/* If something is broken, tries to make it well if it is time to. */
void rocks_repair(struct rocks *rocks);
/* How long the committer may sleep before rocks_repair() has something to do; negative: for ever */
MUST_USE int64_t rocks_repair_wait_ns(const struct rocks *rocks);

/* read.c, range.c */
void rocks_get(struct store *store, struct store_get *get);
void rocks_range(struct store *store, struct store_range *range);
void *rocks_worker_main(void *rocks);
void *rocks_slow_main(void *rocks);
/* Reads one row; `*out_pin` keeps it alive (NULL: absent, and *out is STR_NULL). */
enum read_result { READ_OK, READ_INCOMPLETE, READ_FAILED };
MUST_USE enum read_result rocks_read(struct rocks *rocks, rocksdb_t *db,
                                     rocksdb_readoptions_t *options, struct str key,
                                     struct str *out, rocksdb_pinnableslice_t **out_pin);

/* commit.c */
MUST_USE struct group *rocks_group_create(struct rocks *rocks);
void rocks_group_destroy(struct group *group);
MUST_USE bool rocks_load_numbers(struct rocks *rocks, struct err *err);
void rocks_update(struct store *store, struct store_update *update, bool is_alone);
void *rocks_committer_main(void *rocks);

/* drop.c */
void rocks_drop_space(struct store *store, uint32_t space);
MUST_USE bool rocks_load_drops(struct rocks *rocks, struct err *err);
/* The committer has a task that is no update: a space to drop. Frees it. */
void rocks_note_drop(struct rocks *rocks, struct task *task);
bool rocks_is_drop(const struct task *task);
/* Adds rocks->drops to a batch, and forgets them once it is on disk. */
void rocks_write_drops(struct rocks *rocks, rocksdb_writebatch_t *writes);
void rocks_drops_written(struct rocks *rocks);
/* For the options: leaves out rows of purged spaces. */
MUST_USE rocksdb_compactionfilter_t *rocks_drop_filter_create(struct rocks *rocks);
void *rocks_sweeper_main(void *rocks);

/* damage.c */
void damage_init(struct damage *damage);
void damage_finish(struct damage *damage);
/* A read failed: tells the operator, of each bad block once. Frees the message. */
void rocks_read_failed(struct rocks *rocks, char *message);
/* RocksDB refuses writes: if that is because of a bad block, the next open has no compactions. */
void rocks_note_write_failure(struct rocks *rocks, const char *message);
void *rocks_scrubber_main(void *rocks);

/* merge.c: to be called once a second. */
void rocks_adapt_merging(struct rocks *rocks);
/* Flushes the memtable if the log has become long. */
void rocks_limit_log(struct rocks *rocks);

#endif
