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

/* Creates `directory`, which must not exist, with the SST files as of now: they hold every update
 * that was acknowledged before the call, and each later one as a whole or not at all. SST files are
 * hard links where the file system allows it, so this takes little time and space. Flushes the
 * memtable and waits for that. *out_format is the format that a store with these files must have.
 * On a thread that may block. */
MUST_USE bool rocks_checkpoint(struct store *store, const char *directory, uint32_t *out_format,
                               struct err *err);

/* For tests: flushes the memtable to files, so that reads may need the disk. Waits for it; false if
 * it failed. */
MUST_USE bool rocks_flush(struct store *store);
/* For tests: returns the size of RocksDB's SST files, with rows that are deleted and not yet
 * removed.
 */
MUST_USE uint64_t rocks_file_bytes(struct store *store);
/* For tests: reads all files as the scrubber does, but at once, and returns how many damaged places
 * were found. */
MUST_USE uint64_t rocks_scrub(struct store *store);
/* For tests: returns how many bad places of SST files are known. */
MUST_USE size_t rocks_damage_count(struct store *store);
/* For tests: returns the format of the store's files. */
MUST_USE uint32_t rocks_format(struct store *store);
/* For tests: returns how many blocks are in quarantine. */
MUST_USE size_t rocks_quarantine_count(struct store *store);
/* For tests: merges all SST files. */
void rocks_compact_all(struct store *store);
/* For tests: returns how often the database was closed and opened again because of a failure. */
MUST_USE uint64_t rocks_reopen_count(struct store *store);
/* For tests: returns the number of files of level 0, which are not merged yet. */
MUST_USE uint64_t rocks_newest_files(struct store *store);

#endif
