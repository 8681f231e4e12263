/* store/rocks/rocks.h: the store on RocksDB, on disk or in memory. */
#ifndef GRAMME_STORE_ROCKS_ROCKS_H
#define GRAMME_STORE_ROCKS_ROCKS_H

#include "store/store.h"

/* `directory` is created if it is missing; STR_NULL keeps everything in memory. */
MUST_USE bool rocks_open(struct str directory, const struct store_options *options,
                         struct store **out, struct err *err);

#endif
