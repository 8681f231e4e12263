/* store/rocks/rocks.h: the store on RocksDB, on disk or in memory. */
#ifndef GRAMME_STORE_ROCKS_ROCKS_H
#define GRAMME_STORE_ROCKS_ROCKS_H

#include "store/store.h"

/* Opens the store in a directory, which is created if it is missing. */
MUST_USE bool rocks_open_directory(struct str directory, const struct store_options *options,
                                   struct store **out, struct err *err);
/* An empty store that keeps everything in memory; `rest` is not used. */
MUST_USE bool rocks_open_memory(struct str rest, const struct store_options *options,
                                struct store **out, struct err *err);

/* Makes `directory`, which must not exist, with the tables as they are now: everything that was
 * acknowledged before the call, of later updates each as a whole or not at all. Tables are linked,
 * not copied, where the file system can: that takes little time and room. Waits for a flush. */
MUST_USE bool rocks_checkpoint(struct store *store, const char *directory, struct err *err);

/* For tests: moves what is in RocksDB's memtable into files, so that reads may have to go to the
 * disk. Waits for it; false if it failed. */
MUST_USE bool rocks_flush(struct store *store);
/* For tests: the bytes in RocksDB's files of live rows and dead ones. */
MUST_USE uint64_t rocks_file_bytes(struct store *store);
/* Reads all tables; returns how many damaged places were met. The scrubber does the same slowly. */
MUST_USE uint64_t rocks_scrub(struct store *store);
/* For tests: how often the database was opened again. */
MUST_USE uint64_t rocks_reopen_count(struct store *store);
/* For tests: how many files have not been merged with others yet. */
MUST_USE uint64_t rocks_newest_files(struct store *store);

#endif
