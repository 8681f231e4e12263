/* store/rocks/open/open.h: opening, creating and upgrading a store; what the files of this folder
 * share. On the thread of the caller, before any thread of the store runs. */
#ifndef GRAMME_STORE_ROCKS_OPEN_OPEN_H
#define GRAMME_STORE_ROCKS_OPEN_OPEN_H

#include "store/rocks/rocks_internal.h"

/* inspect.c */
/* Checks the directory; creates a store in it or upgrades an older one if need be; sets
 * rocks->identity. May leave the database open. On failure nothing was deleted. */
MUST_USE bool rocks_inspect(struct rocks *rocks, struct err *err);
/* Releases the lock of the directory, if it is held. */
void rocks_unlock(struct rocks *rocks);

/* new_store.c */
/* Creates a store in the directory, which holds nothing else, or what an interrupted creation has
 * left. Leaves the database open. */
MUST_USE bool rocks_create_store(struct rocks *rocks, struct err *err);
/* Removes STORE.new: the creation is complete. */
void rocks_remove_new_file(const struct rocks *rocks);
/* Sets *err to: the store cannot be opened, and errno. Returns false. */
bool rocks_cannot_open(const struct rocks *rocks, struct err *err);
/* Writes an empty write-ahead log and then the identity, which makes the directory a store of this
 * format. */
MUST_USE bool rocks_write_identity(struct rocks *rocks, struct err *err);
/* Length of the row "format" of space 0: format (u32), seed (u64). */
enum { FORMAT_ROW_LEN = 12 };
/* Writes the row by which servers that know only format 3 detect a newer store, and refuse it. */
MUST_USE bool rocks_write_format_row(struct rocks *rocks, rocksdb_writeoptions_t *options,
                                     struct err *err);

/* upgrade.c */
/* Upgrades a store of format 3; leaves the database open. */
MUST_USE bool rocks_upgrade(struct rocks *rocks, struct err *err);
/* Deletes files of the older write-ahead log that an interrupted upgrade may have left. */
void rocks_delete_old_wal(struct rocks *rocks);

/* open_store.c */
/* Creates the struct with its options, queues and locks; opens nothing and starts no thread. */
MUST_USE struct rocks *rocks_create(struct str directory, size_t cache_bytes);
/* Closes the database if it is open, releases the lock, and frees the struct. No thread may run. */
void rocks_destroy(struct rocks *rocks);

#endif
