/* store/rocks/journal.h: the log of all groups that were written, from which those are read again
 * that were in memory only when the process ended.
 *
 * RocksDB's own log is not used: it grows with every write, which makes each sync a third slower
 * than one into a file that has its length already (spares.h), and after one failed write RocksDB
 * refuses all others until it is closed.
 *
 * A record is one group: the bytes of a RocksDB batch, numbered without gaps. The batch holds its
 * number, too, in a row of the store's own: so the tables of RocksDB say up to which number they
 * hold everything. A segment is a file NUMBER.journal, by its first record. After the last record
 * may follow anything: zeroes, older records of a file that is used again, part of a record.
 *
 *     record    crc32 of what follows (4 bytes), length of the batch (4), number ^ secret (8),
 * batch
 *
 * Integers are little-endian. The secret is one of the store: with it nobody can put bytes into an
 * item that would pass for a record, should a record end just before them.
 *
 * Belongs to whoever has the turn to commit. */
#ifndef GRAMME_STORE_ROCKS_JOURNAL_H
#define GRAMME_STORE_ROCKS_JOURNAL_H

#include "base/err.h"

struct journal;

/* Of a directory that is there. NULL: of a store in memory, which keeps nothing. */
MUST_USE struct journal *journal_create(const char *directory);
/* Accepts NULL. */
void journal_destroy(struct journal *journal);

/* Reads what is there: `apply` gets each record that comes after number `stored`, in order. They
 * are on disk before the first is given: new ones will build upon them. May be called again, after
 * something has failed: then the next record begins a segment. */
typedef bool journal_apply(void *context, struct str record, struct err *err);
MUST_USE bool journal_recover(struct journal *journal, uint64_t secret, uint64_t stored,
                              journal_apply *apply, void *context, struct err *err);

/* The number of the next record. */
MUST_USE uint64_t journal_next(const struct journal *journal);
/* Writes a record to the disk. False: errno says why, and it must be cut. */
MUST_USE bool journal_append(struct journal *journal, struct str record);
/* It shall stay. */
void journal_keep(struct journal *journal);
/* It shall not, whether it was written or not; the next begins a segment. False: it may be found
 * when the journal is read before another record is kept, but no later. */
MUST_USE bool journal_cut(struct journal *journal);
/* Whether the next record is the first of its segment: if it fails, no other would fit either. */
MUST_USE bool journal_is_fresh(const struct journal *journal);

/* Whether a segment was begun since journal_release(), so that it is time to look for old ones. */
MUST_USE bool journal_has_grown(const struct journal *journal);
/* The tables hold everything up to number `stored`. */
void journal_release(struct journal *journal, uint64_t stored);
/* The disk is full: gives back what is only there to be used later. */
void journal_spare(struct journal *journal);

#endif
