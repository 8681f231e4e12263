/* store/rocks/open/fill_store.h: creates a store from rows, or from the files of another store: for
 * `gramme repair` and `gramme restore`, on their main thread. Until it is complete the directory
 * holds a file STORE.partial, and servers refuse to open it. */
#ifndef GRAMME_STORE_ROCKS_OPEN_FILL_STORE_H
#define GRAMME_STORE_ROCKS_OPEN_FILL_STORE_H

#include "err/err.h"

struct rocks_fill;

/* Begins a store with this seed, in a directory that is empty or does not exist. End it with
 * rocks_fill_finish() or rocks_fill_abandon(). */
MUST_USE bool rocks_fill_begin(const char *directory, uint64_t seed, struct rocks_fill **out,
                               struct err *err);
/* Adds a row; each key may be added once. rocks_fill_finish() reports a failure. */
void rocks_fill_put(struct rocks_fill *fill, struct str key, struct str value);
/* Completes the store, so that servers open it. `last_stamp` is the largest stamp of its logs.
 * Frees `fill` in any case; after a failure the directory stays as it is, incomplete. */
MUST_USE bool rocks_fill_finish(struct rocks_fill *fill, uint64_t last_stamp, struct err *err);
/* Frees `fill`; the directory stays as it is, incomplete. Accepts NULL. */
void rocks_fill_abandon(struct rocks_fill *fill);

/* First step of a restore from files: creates the directory if it is missing, refuses one that is
 * not empty, locks it and marks it as incomplete. *out_lock is the descriptor of the lock; the
 * caller closes it at the end. */
MUST_USE bool rocks_claim_directory(const char *directory, int *out_lock, struct err *err);
/* Last step of a restore from files, when the SST files and the manifest are in the directory:
 * writes an empty WAL and an identity with a new id and this seed, and removes STORE.partial.
 * `format` is that of the store whose files they were. */
MUST_USE bool rocks_adopt_sst_files(const char *directory, uint64_t seed, uint32_t format,
                                    struct err *err);

#endif
