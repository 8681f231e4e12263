/* store/wal/wal_state.h: the file `wal.state`: what must be known of the log beside its segments.
 *
 *     block 0, 1    the state, twice: the newest segment, and how the last process ended
 *     block 2, 3    marks: numbers of acknowledged records, without a sync
 *
 * The state is written when a segment begins, when a record is discarded and at a clean end: first
 * one copy, synced, then the other, synced. So one of the two is always intact, and if one is not,
 * the other says all that a record was ever acknowledged upon.
 *
 * A mark is written after each commit, before the caller learns of it, alternating between the two
 * blocks, and not synced: it costs a system call and survives the end of the process, not of the
 * machine. It proves that records up to its number were acknowledged, which the log alone cannot
 * prove of its last record. */
#ifndef GRAMME_STORE_WAL_WAL_STATE_H
#define GRAMME_STORE_WAL_WAL_STATE_H

#include "err/err.h"
#include "store/wal/files.h"
#include "store/wal/sealed.h"

enum { WAL_MANIFEST_NAME_MAX = 31 };

/* How the tables looked when the store was closed. */
struct wal_tables {
    uint64_t stored;                          /* they hold all records up to this number */
    char manifest[WAL_MANIFEST_NAME_MAX + 1]; /* file name; "" if not known */
    uint64_t manifest_bytes;
    uint64_t manifest_hash;
};

struct wal_state {
    uint64_t segment;   /* number of the newest; 0: there is none yet */
    uint64_t void_from; /* records of the newest from this number on are void; 0: none is */
    bool is_clean;      /* the store was closed after record `last` */
    uint64_t last;
    uint64_t last_checksum;
    struct wal_tables tables;
};

struct wal_state_file;

/* What the file says. */
struct wal_state_found {
    struct wal_state state;
    uint64_t acknowledged; /* by a mark; 0: there is none */
    int bad_copies;        /* of the state: 1 is a note, 2 is never returned */
    uint64_t sequence;
    int good_copy; /* 0 or 1 */
};

/* Reads the file of a store. False: it is missing, cannot be read, or both copies are damaged. */
MUST_USE bool wal_state_read(const struct files *files, const char *directory,
                             const uint8_t store_id[STORE_ID_LEN], struct wal_state_found *out,
                             struct err *err);

/* Creates the file of a new log, with no segment; replaces one that is there. */
MUST_USE bool wal_state_create(const struct files *files, const char *directory,
                               const uint8_t store_id[STORE_ID_LEN], struct err *err);
/* Opens the file for writing, after wal_state_read() has returned `found`. NULL: errno. */
MUST_USE struct wal_state_file *wal_state_open(const struct files *files, const char *directory,
                                               const uint8_t store_id[STORE_ID_LEN],
                                               const struct wal_state_found *found);
/* Accepts NULL. */
void wal_state_close(struct wal_state_file *file);

/* Writes both copies. False: errno says why; either the old or the new state may be on disk. */
MUST_USE bool wal_state_write(struct wal_state_file *file, const struct wal_state *state);
/* Marks records up to `number` as acknowledged. A failure weakens a later proof, nothing else. */
void wal_state_mark(struct wal_state_file *file, uint64_t number);

#endif
