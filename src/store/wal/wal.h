/* store/wal/wal.h: the write-ahead log. Each group of updates is written as one record and synced
 * before it is applied to the memtable; on open, the records that no SST file holds are replayed.
 *
 * Records are numbered without gaps and chained: each repeats the checksum of the one before it.
 * They stand in segments, files NUMBER.wal, each record on block boundaries of its own. How
 * a record becomes void, and what proves that none is missing: docs/internals/recovery.md. The
 * bytes: docs/internals/formats.md.
 *
 * RocksDB's own WAL is not used: its file grows with every write, which makes each sync a third
 * slower than overwriting a preallocated file (spares.h), and after one failed write RocksDB
 * refuses all others until it is closed.
 *
 * Only the thread that has the turn to commit calls these functions. */
#ifndef GRAMME_STORE_WAL_WAL_H
#define GRAMME_STORE_WAL_WAL_H

#include "store/wal/spares.h"
#include "store/wal/wal_scan.h"

struct wal;

struct wal_options {
    const struct files *files;
    const char *directory; /* exists; NULL: a store in memory, which has no WAL */
    uint8_t store_id[STORE_ID_LEN];
    uint64_t filled_bytes;  /* size of preallocated segments */
    uint64_t growing_bytes; /* size of other segments */
    bool has_thread;        /* a thread preallocates segments */
    uint64_t salt_seed;     /* for reproducible tests; 0: salts are random */
};

/* Creates the struct; wal_recover() opens the WAL. Free it with wal_destroy(). */
MUST_USE struct wal *wal_create(const struct wal_options *options);
/* Closes the files and frees the struct. Accepts NULL. */
void wal_destroy(struct wal *wal);

/* Creates an empty WAL, synced, in a directory that has none. */
MUST_USE bool wal_initialize(const struct wal_options *options, struct err *err);

/* Opens the WAL: checks all of it, syncs it, and calls `apply` for each record after number
 * `stored`, in order. False: nothing was changed on disk, and *err says why; the caller may try
 * again. The next record begins a new segment. */
MUST_USE bool wal_recover(struct wal *wal, uint64_t stored, wal_apply *apply, void *context,
                          struct err *err);

/* Returns the number of the next record. */
MUST_USE uint64_t wal_next(const struct wal *wal);
/* Writes a record and syncs it. It is pending until wal_commit() or wal_discard(). False: errno
 * says why, and the caller must call wal_discard(). */
MUST_USE bool wal_append(struct wal *wal, struct str payload);
/* Commits the pending record. */
void wal_commit(struct wal *wal);
/* Makes the pending record void, whether it was written or not; the next one begins a segment.
 * False: the record is void only when the next record is committed; if the process ends before,
 * wal_recover() may find it. */
MUST_USE bool wal_discard(struct wal *wal);
/* Returns whether the next record is the first of its segment. If writing it fails, another segment
 * would not help. */
MUST_USE bool wal_is_fresh(const struct wal *wal);

/* Returns whether a segment was begun since the last wal_release(). */
MUST_USE bool wal_has_grown(const struct wal *wal);
/* Returns the size of all segments that are still needed. */
MUST_USE uint64_t wal_bytes(const struct wal *wal);
/* Returns the number of segments that are still needed. */
MUST_USE size_t wal_segment_count(const struct wal *wal);
/* The SST files hold all records up to number `stored`: releases the segments that hold only these.
 */
void wal_release(struct wal *wal, uint64_t stored);
/* Deletes spare files, to free space on a full disk. */
void wal_drop_spares(struct wal *wal);

/* Records a clean end and the state of the SST files, when the store is closed. If it fails, the
 * next open treats the end as a crash. */
void wal_close_cleanly(struct wal *wal, const struct wal_sst_state *ssts);

#endif
