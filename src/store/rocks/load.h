/* store/rocks/load.h: makes a new store out of rows, or out of the files of another one: for
 * `gramme repair` and `gramme restore`. Until it is finished the directory is no store: the file
 * STORE.partial stands in it, and servers refuse it. */
#ifndef GRAMME_STORE_ROCKS_LOAD_H
#define GRAMME_STORE_ROCKS_LOAD_H

#include "err/err.h"

struct rocks_load;

/* Makes a store with this seed of hashes in a directory that is empty or does not exist. */
MUST_USE bool rocks_load_begin(const char *directory, uint64_t seed, struct rocks_load **out,
                               struct err *err);
/* Adds a row; each key once. A failure is told by rocks_load_finish(). */
void rocks_load_put(struct rocks_load *load, struct str key, struct str value);
/* Completes the store: from then on servers open it. Frees `load` in any case; after a failure the
 * directory stays as it is, without a store. */
MUST_USE bool rocks_load_finish(struct rocks_load *load, uint64_t last_stamp, struct err *err);
/* Gives up; the directory stays as it is. Accepts NULL. */
void rocks_load_abandon(struct rocks_load *load);

/* The two steps in between, for restoring files. Creates the directory if it is missing, refuses
 * one that has anything in it, locks it and marks it as incomplete. *out_lock is the descriptor of
 * the lock, to be closed at the end. */
MUST_USE bool rocks_claim_directory(const char *directory, int *out_lock, struct err *err);
/* Tables and manifest are in the directory: writes an empty log and the identity, with a new store
 * id and this seed, and removes the mark. */
MUST_USE bool rocks_adopt_tables(const char *directory, uint64_t seed, struct err *err);

#endif
