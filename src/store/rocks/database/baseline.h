/* store/rocks/database/baseline.h: plain RocksDB with the options of the store: the baseline
 * against which gramme-bench measures the store. It stands here because RocksDB is used in this
 * folder only. */
#ifndef GRAMME_STORE_ROCKS_DATABASE_BASELINE_H
#define GRAMME_STORE_ROCKS_DATABASE_BASELINE_H

#include "store/store.h"

struct rocks_baseline;

/* Creates an empty database in `directory`. Destroy it with rocks_baseline_destroy(). */
MUST_USE bool rocks_baseline_open(const char *directory, size_t cache_bytes,
                                  struct rocks_baseline **out, struct err *err);
/* Closes the database and deletes its files. Accepts NULL. */
void rocks_baseline_destroy(struct rocks_baseline *baseline);
/* Adds a row to the batch. */
void rocks_baseline_put(struct rocks_baseline *baseline, struct str key, struct str value);
/* Writes the batch with one fsync, and empties it. */
MUST_USE bool rocks_baseline_commit(struct rocks_baseline *baseline, struct err *err);

#endif
