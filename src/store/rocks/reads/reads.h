/* store/rocks/reads/reads.h: gets and ranges, and the threads that read for callers which must not
 * block. */
#ifndef GRAMME_STORE_ROCKS_READS_READS_H
#define GRAMME_STORE_ROCKS_READS_READS_H

#include "store/rocks/rocks_internal.h"

enum read_result { READ_OK, READ_INCOMPLETE, READ_FAILED };
/* Reads one row. The caller destroys *out_pin when it does not need the row any more. If the row is
 * absent, *out_pin is NULL and *out is STR_NULL. Any thread, inside the gate or with the turn. */
MUST_USE enum read_result rocks_read(struct rocks *rocks, rocksdb_t *db,
                                     rocksdb_readoptions_t *options, struct str key,
                                     struct str *out, rocksdb_pinnableslice_t **out_pin);
/* Creates options for one read; the caller destroys them. */
MUST_USE rocksdb_readoptions_t *rocks_read_options_create(void);
/* store_get() of this store. */
void rocks_get(struct store *store, struct store_get *get);
/* store_range() of this store. */
void rocks_range(struct store *store, struct store_range *range);
/* The worker threads: run tasks of rocks->reads until it is closed. */
void *rocks_worker_main(void *rocks);
/* The slow threads: run tasks of rocks->slow until it is closed, with low priority. */
void *rocks_slow_main(void *rocks);

#endif
