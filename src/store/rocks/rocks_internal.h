/* store/rocks/rocks_internal.h: the struct that the files of this folder share, and helpers.
 * README.md has the threads and the order of locks. */
#ifndef GRAMME_STORE_ROCKS_ROCKS_INTERNAL_H
#define GRAMME_STORE_ROCKS_ROCKS_INTERNAL_H

#include <pthread.h>
#include <rocksdb/c.h>

#include "base/arena.h"
#include "store/disk/identity.h"
#include "store/disk/reserve.h"
#include "store/rocks/threads/gate.h"
#include "store/rocks/threads/queue.h"
#include "store/rocks/threads/read_speed.h"
#include "store/space_set.h"
#include "store/store.h"
#include "store/wal/wal.h"

/* A file that marks a directory in which a repair or restore is not complete. */
#define ROCKS_PARTIAL_NAME "STORE.partial"

/* Where a read may look for blocks that are not in the block cache. */
enum tier {
    TIER_CACHED,  /* nowhere, the read is incomplete: for threads that must not block */
    TIER_QUICK,   /* ranges: in files, for a limited time; see threads/read_speed.h */
    TIER_BLOCKING /* in files */
};

/* State of the disk, as the committer sees it. */
struct health {
    bool broken;      /* no writes until rocks_resume() has succeeded */
    bool reopen;      /* RocksDB refuses writes: the database must be closed and opened again */
    bool is_reported; /* the failure has a log line */
    int failures;     /* consecutive failures to write to a new segment or to open the database */
    int64_t next_try_us; /* time of the next attempt to resume */
    uint64_t reopen_count;
};

/* Bad blocks that were found: see faults/damage.h. */
enum { DAMAGES_MAX = 256 };
enum { UNCONFIRMED_MAX = 16 };
struct damage {
    pthread_mutex_t mutex;
    uint64_t places[DAMAGES_MAX]; /* hashes of the places that were logged */
    size_t count;
    atomic_bool compactions_are_off;
    /* RocksDB's message when a compaction has read a bad block, until the database is opened again,
     * else NULL; and the number of the SST file, 0: not known. With the turn to commit. */
    char *failure;
    uint64_t failed_sst;
    /* SST files that a compaction could not read, although they were good when they were read
     * again: one entry for each time. Likewise. */
    uint64_t unconfirmed[UNCONFIRMED_MAX];
    size_t unconfirmed_count;
};

/* Keys that must not be read: see faults/quarantine.h. */
struct quarantine_range {
    struct str first;
    struct str last;
    uint64_t sst; /* the file and offset of the block, or of the first of several */
    uint64_t offset;
};
struct quarantine {
    struct arena arena;
    struct quarantine_row *blocks; /* the rows of space 0 */
    size_t block_count;
    size_t block_capacity;
    struct quarantine_range *ranges; /* sorted; they do not overlap */
    size_t range_count;
};

/* Number of level-0 files that start a compaction while the write rate is high. */
enum { NEWEST_FILES = 4 };

/* When compactions start: see background/compactions.c. Sweeper only, inside the gate. */
struct merging {
    bool eagerly;
    uint64_t written;           /* rocks->written at the last check */
    uint64_t flushed_wal_bytes; /* rocks->wal_bytes at the last flush that shortened the WAL */
};

struct rocks {
    struct store store;
    char *path;
    const struct files *files;
    struct identity identity;
    uint64_t seed_wanted; /* seed of a store that is created; 0: random */
    int lock_fd;          /* of STORE.lock; -1: not locked */
    bool is_open;         /* all checks have passed and the WAL is replayed */
    rocksdb_env_t *env;   /* of a store in memory; else NULL */
    rocksdb_cache_t *cache;
    rocksdb_options_t *options;
    rocksdb_readoptions_t *read_cached;   /* TIER_CACHED; ranges create their own options */
    rocksdb_readoptions_t *read_blocking; /* TIER_BLOCKING */
    rocksdb_readoptions_t *read_stored;   /* SST files only, no memtables */
    /* With RocksDB's own WAL and a sync: when a store is created, and in baseline.c. */
    rocksdb_writeoptions_t *write_synced;
    rocksdb_writeoptions_t *write_unlogged; /* of groups, which are in our WAL */
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
    struct quarantine quarantine;
    struct work_queue scrubs; /* always empty: the scrubber sleeps in it until it is closed */
    pthread_t scrubber;
    bool scrubber_started;
    uint64_t scrub_bytes_per_second; /* 0: there is no scrubber */
    int64_t scrub_wait_ns;           /* before its first pass; 0: a minute */
    atomic_uint_least64_t written;   /* bytes of all groups; the committer adds to it */
    atomic_uint_least64_t wal_bytes; /* size of the WAL; the committer sets it */
    atomic_bool closing;             /* the sweeper stops as soon as it can */
    struct task last_task;           /* pushed to `updates` when the store is closed */
    pthread_t committer;
    bool committer_started;

    /* `turn` protects all of the following. The committer holds it, or a caller that may block. */
    pthread_mutex_t turn;
    struct rocks_group *group;
    rocksdb_t *db; /* also while the gate is shut; NULL: it could not be opened */
    struct wal *wal;
    struct health health;
    uint64_t last_stamp;
    int64_t last_time_ns; /* the newest time of an update */
    struct store_clock clock;
    uint32_t *drops; /* spaces that the next commit drops */
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

/* Flushes the memtable to an SST file, and waits until that is done. False: it failed, and the
 * error is logged. */
MUST_USE bool rocks_flush_memtable(rocksdb_t *db);

#endif
