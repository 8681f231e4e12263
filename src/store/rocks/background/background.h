/* store/rocks/background/background.h: threads that work without a request: the sweeper and the
 * scrubber. */
#ifndef GRAMME_STORE_ROCKS_BACKGROUND_BACKGROUND_H
#define GRAMME_STORE_ROCKS_BACKGROUND_BACKGROUND_H

#include "store/rocks/rocks_internal.h"

/* sweeper.c */
/* The drops of these spaces are durable: hands them to the sweeper. Any thread. */
void rocks_sweep_spaces(struct rocks *rocks, const uint32_t *spaces, size_t count);
/* The sweeper thread. */
void *rocks_sweeper_main(void *rocks);

/* compactions.c: the sweeper calls both once a second. */
/* Adapts the number of files that start a compaction to the write rate. */
void rocks_adapt_compactions(struct rocks *rocks);
/* Flushes the memtable if the write-ahead log has become too long. */
void rocks_limit_wal(struct rocks *rocks);

/* scrubber.c */
/* The scrubber thread. */
void *rocks_scrubber_main(void *rocks);

#endif
