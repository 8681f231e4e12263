/* store/wal/wal.h: the write-ahead log. Each commit of the store is one record here, synced, before
 * it goes into memory; after a crash the records that no table holds yet are applied again.
 *
 * Records are numbered without gaps and chained: each repeats the checksum of the one before it.
 * They stand in segments, files NUMBER.wal, each record on block boundaries of its own. How
 * a record becomes void, and what proves that none is missing: docs/internals/recovery.md. The
 * bytes: docs/internals/formats.md.
 *
 * RocksDB's own log is not used: it grows with every write, which makes each sync a third slower
 * than one into a file that has its length already (spares.h), and after one failed write RocksDB
 * refuses all others until it is closed.
 *
 * All functions belong to the thread that commits. */
#ifndef GRAMME_STORE_WAL_WAL_H
#define GRAMME_STORE_WAL_WAL_H

#include "store/wal/spares.h"
#include "store/wal/wal_scan.h"

struct wal;

struct wal_options {
    const struct files *files;
    const char *directory; /* exists; NULL: of a store in memory, which keeps nothing */
    uint8_t store_id[STORE_ID_LEN];
    uint64_t filled_bytes;  /* size of segments that are filled beforehand */
    uint64_t growing_bytes; /* size of those that are not */
    bool has_thread;        /* fills segments in the background */
    uint64_t salt_seed;     /* for tests that must repeat themselves; 0: salts are random */
};

MUST_USE struct wal *wal_create(const struct wal_options *options);
/* Accepts NULL. */
void wal_destroy(struct wal *wal);

/* Makes an empty log in a directory that has none. It must be synced before a store counts as
 * created. */
MUST_USE bool wal_initialize(const struct wal_options *options, struct err *err);

/* Reads the log: checks all of it, syncs it, and gives `apply` each record that comes after number
 * `stored`, in order. False: nothing was changed on disk, and *err says what is wrong. May be
 * called again after a failure. The next record begins a new segment. */
MUST_USE bool wal_recover(struct wal *wal, uint64_t stored, wal_apply *apply, void *context,
                          struct err *err);

/* The number of the next record. */
MUST_USE uint64_t wal_next(const struct wal *wal);
/* Writes a record and syncs it. It is pending until wal_commit() or wal_discard(). False: errno
 * says why, and it must be discarded. */
MUST_USE bool wal_append(struct wal *wal, struct str payload);
/* Commits the pending record. */
void wal_commit(struct wal *wal);
/* Makes the pending record void, whether it was written or not; the next one begins a segment.
 * False: it may be found by wal_recover() before another record is committed, but no later. */
MUST_USE bool wal_discard(struct wal *wal);
/* Whether the next record is the first of its segment: if that fails, no other would fit. */
MUST_USE bool wal_is_fresh(const struct wal *wal);

/* Whether a segment was begun since the last wal_release(). */
MUST_USE bool wal_has_grown(const struct wal *wal);
/* Bytes of all segments that are still needed. */
MUST_USE uint64_t wal_bytes(const struct wal *wal);
/* How many segments are still needed. */
MUST_USE size_t wal_segment_count(const struct wal *wal);
/* The tables hold everything up to number `stored`: gives up the segments before it. */
void wal_release(struct wal *wal, uint64_t stored);
/* Deletes files that are only there for later use, to make room on a full disk. */
void wal_drop_spares(struct wal *wal);

/* The store is closed cleanly, and its tables look like this. A failure is not fatal: the next
 * open then takes this end for a crash. */
void wal_close_cleanly(struct wal *wal, const struct wal_tables *tables);

#endif
