/* store/wal/wal_state.h: the file `wal.state`: what the segments of the WAL do not hold themselves.
 *
 *     block 0, 1    the state, twice: the newest segment, and how the last process ended
 *     block 2, 3    marks: numbers of acknowledged records, without a sync
 *
 * The state is written when a segment begins, when a record is discarded, and at a clean end: one
 * copy and a sync, then the other copy and a sync. So at least one copy is always intact, and no
 * record is acknowledged before both copies hold the state that it depends on.
 *
 * A mark is written after each commit, before the update is answered, alternating between the two
 * blocks, without a sync: it costs one system call, and survives a crash of the process but not of
 * the machine. It proves that records up to its number were acknowledged. The WAL alone cannot
 * prove that of its last record. */
#ifndef GRAMME_STORE_WAL_WAL_STATE_H
#define GRAMME_STORE_WAL_WAL_STATE_H

#include "err/err.h"
#include "store/disk/checksum.h"
#include "store/disk/files.h"

enum { WAL_MANIFEST_NAME_MAX = 31 };

/* The SST files of a store that was closed cleanly. */
struct wal_sst_state {
    uint64_t stored;                          /* the SST files hold all records up to this number */
    char manifest[WAL_MANIFEST_NAME_MAX + 1]; /* file name; "" if not known */
    uint64_t manifest_bytes;
    uint64_t manifest_hash;
};

struct wal_state {
    uint64_t segment;   /* number of the newest segment; 0: there is none yet */
    uint64_t void_from; /* records of that segment from this number on are void; 0: none is */
    bool is_clean;      /* the store was closed cleanly after record `last` */
    uint64_t last;
    uint64_t last_checksum;
    struct wal_sst_state ssts;
};

struct wal_state_file;

/* The contents of the file. */
struct wal_state_found {
    struct wal_state state;
    uint64_t acknowledged; /* number in the newest mark; 0: there is no mark */
    int bad_copies;        /* damaged copies of the state: 0 or 1 */
    uint64_t sequence;
    int good_copy; /* 0 or 1 */
};

/* Reads the file. False: it is missing, cannot be read, or both copies are damaged. */
MUST_USE bool wal_state_read(const struct files *files, const char *directory,
                             const uint8_t store_id[STORE_ID_LEN], struct wal_state_found *out,
                             struct err *err);

/* Creates the file of a new WAL without segments, and replaces an existing one. */
MUST_USE bool wal_state_create(const struct files *files, const char *directory,
                               const uint8_t store_id[STORE_ID_LEN], struct err *err);
/* Opens the file for writing; `found` is the result of wal_state_read(). NULL: errno says why. */
MUST_USE struct wal_state_file *wal_state_open(const struct files *files, const char *directory,
                                               const uint8_t store_id[STORE_ID_LEN],
                                               const struct wal_state_found *found);
/* Closes the file. Accepts NULL. */
void wal_state_close(struct wal_state_file *file);

/* Writes and syncs both copies. False: errno says why; the old or the new state may be on disk. */
MUST_USE bool wal_state_write(struct wal_state_file *file, const struct wal_state *state);
/* Writes a mark: records up to `number` are acknowledged. A failure is ignored: without the mark
 * the next open cannot tell a lost last record from one that was never acknowledged. */
void wal_state_mark(struct wal_state_file *file, uint64_t number);

#endif
