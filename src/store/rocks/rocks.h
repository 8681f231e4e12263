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

/* Creates `directory`, which must not exist, with the tables as of now: they hold every update that
 * was acknowledged before the call, and each later one as a whole or not at all. Tables are hard
 * links where the file system allows it, so this takes little time and space. Flushes the memtable
 * and waits for that. On a thread that may block. */
MUST_USE bool rocks_checkpoint(struct store *store, const char *directory, struct err *err);

/* For tests: flushes the memtable to files, so that reads may need the disk. Waits for it; false if
 * it failed. */
MUST_USE bool rocks_flush(struct store *store);
/* For tests: returns the size of RocksDB's tables, with rows that are deleted and not yet removed.
 */
MUST_USE uint64_t rocks_file_bytes(struct store *store);
/* Reads all tables and returns how many damaged places were found. The scrubber does the same at a
 * limited rate. */
MUST_USE uint64_t rocks_scrub(struct store *store);
/* For tests: returns how often the database was closed and opened again because of a failure. */
MUST_USE uint64_t rocks_reopen_count(struct store *store);
/* For tests: returns the number of files of level 0, which are not merged yet. */
MUST_USE uint64_t rocks_newest_files(struct store *store);

#endif
