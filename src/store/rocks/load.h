/* store/rocks/load.h: creates a store from rows, or from the files of another store: for `gramme
 * repair` and `gramme restore`, on their main thread. Until it is complete the directory holds a
 * file STORE.partial, and servers refuse to open it. */
#ifndef GRAMME_STORE_ROCKS_LOAD_H
#define GRAMME_STORE_ROCKS_LOAD_H

#include "err/err.h"

struct rocks_load;

/* Begins a store with this seed, in a directory that is empty or does not exist. End it with
 * rocks_load_finish() or rocks_load_abandon(). */
MUST_USE bool rocks_load_begin(const char *directory, uint64_t seed, struct rocks_load **out,
                               struct err *err);
/* Adds a row; each key may be added once. rocks_load_finish() reports a failure. */
void rocks_load_put(struct rocks_load *load, struct str key, struct str value);
/* Completes the store, so that servers open it. `last_stamp` is the largest stamp of its logs.
 * Frees `load` in any case; after a failure the directory stays as it is, incomplete. */
MUST_USE bool rocks_load_finish(struct rocks_load *load, uint64_t last_stamp, struct err *err);
/* Frees `load`; the directory stays as it is, incomplete. Accepts NULL. */
void rocks_load_abandon(struct rocks_load *load);

/* First step of a restore from files: creates the directory if it is missing, refuses one that is
 * not empty, locks it and marks it as incomplete. *out_lock is the descriptor of the lock; the
 * caller closes it at the end. */
MUST_USE bool rocks_claim_directory(const char *directory, int *out_lock, struct err *err);
/* Last step of a restore from files, when the tables and the manifest are in the directory: writes
 * an empty log and an identity with a new id and this seed, and removes STORE.partial. */
MUST_USE bool rocks_adopt_tables(const char *directory, uint64_t seed, struct err *err);

#endif
