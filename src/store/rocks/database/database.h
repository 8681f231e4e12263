/* store/rocks/database/database.h: the RocksDB database together with the write-ahead log: options,
 * opening and closing, replay, and the durable write of a group. At the start and at the end of the
 * store, then with the turn to commit. */
#ifndef GRAMME_STORE_ROCKS_DATABASE_DATABASE_H
#define GRAMME_STORE_ROCKS_DATABASE_DATABASE_H

#include "store/rocks/rocks_internal.h"

/* rocksdb_options.c */
/* Creates the options of the database and the objects that they use. */
void rocks_options_create(struct rocks *rocks, size_t cache_bytes);
/* Frees them; the database must be closed. */
void rocks_options_destroy(struct rocks *rocks);

/* drop_filter.c */
/* Creates the compaction filter that removes rows of purged spaces. */
MUST_USE rocksdb_compactionfilter_t *rocks_drop_filter_create(struct rocks *rocks);

/* database.c */
/* Opens RocksDB for writing: sets rocks->db. */
MUST_USE bool rocks_open_rocksdb(struct rocks *rocks, struct err *err);
/* Opens the database for reading: sets rocks->db. Close it with rocks_close_database(). */
MUST_USE bool rocks_open_read_only(struct rocks *rocks, struct err *err);
/* Opens the database unless rocks_inspect() has left it open, replays the write-ahead log, opens
 * the gate. */
MUST_USE bool rocks_open_database(struct rocks *rocks, struct err *err);
/* Closes the database, if it is open. No reader may be inside the gate. */
void rocks_close_database(struct rocks *rocks);

/* quarantine_sst.c */
/* Closes the database, if it is open. If a compaction has failed on a bad block, puts the bad
 * blocks of the SST file into quarantine; if that is not possible, turns compactions off. With the
 * turn to commit, and no reader inside the gate. */
void rocks_close_damaged(struct rocks *rocks);

/* manifest_state.c */
/* Describes the manifest for wal_close_cleanly(). Does not set out->stored. */
MUST_USE bool rocks_describe_manifest(const struct rocks *rocks, struct wal_sst_state *out,
                                      struct err *err);
/* Sets *err to: the store is damaged, `what` and `why`, nothing was changed, and which commands
 * help. Returns false. */
bool rocks_is_damaged(const struct rocks *rocks, const char *what, const char *why,
                      struct err *err);

/* replay.c */
/* Returns the options of the write-ahead log. */
MUST_USE struct wal_options rocks_wal_options(const struct rocks *rocks);
/* Reads the number of the last WAL record that the SST files hold. */
MUST_USE bool rocks_read_stored(struct rocks *rocks, uint64_t *out, struct err *err);
/* Applies a WAL record to the memtable. */
MUST_USE bool rocks_apply(struct rocks *rocks, uint64_t number, struct str record, struct err *err);
/* Replays the write-ahead log: applies the records that the SST files do not hold. */
MUST_USE bool rocks_replay(struct rocks *rocks, struct err *err);
/* Releases the segments of the write-ahead log whose records are all in SST files. */
void rocks_release_wal(struct rocks *rocks);

/* durable_write.c */
enum written { WRITTEN, NOT_WRITTEN, PERHAPS_WRITTEN };
/* Writes a group to the write-ahead log, syncs it, and applies it to the memtable. */
MUST_USE enum written rocks_write(struct rocks *rocks, rocksdb_writebatch_t *writes);
/* While the database is closed: writes a batch to the write-ahead log only, and syncs it; the next
 * open applies it. False: it was not written, or perhaps, if the process ends soon. */
MUST_USE bool rocks_write_to_wal(struct rocks *rocks, rocksdb_writebatch_t *writes);

#endif
