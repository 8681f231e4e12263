/* store/rocks/bare.h: RocksDB alone, with the store's options: what is written goes to the disk
 * with nothing around it. It is what the store is measured against; nothing else uses it. */
#ifndef GRAMME_STORE_ROCKS_BARE_H
#define GRAMME_STORE_ROCKS_BARE_H

#include "store/store.h"

struct bare;

MUST_USE bool bare_open(const char *directory, size_t cache_bytes, struct bare **out,
                        struct err *err);
/* Closes the database and deletes its files. Accepts NULL. */
void bare_destroy(struct bare *bare);
/* Adds to the batch. */
void bare_put(struct bare *bare, struct str key, struct str value);
/* Writes the batch with one fsync, and empties it. */
MUST_USE bool bare_commit(struct bare *bare, struct err *err);

#endif
