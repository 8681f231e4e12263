/* store/rocks/faults/health.h: whether the disk accepts writes, and when to try again after a
 * failure: struct health. With the turn to commit. */
#ifndef GRAMME_STORE_ROCKS_FAULTS_HEALTH_H
#define GRAMME_STORE_ROCKS_FAULTS_HEALTH_H

#include "store/rocks/rocks_internal.h"

/* The write-ahead log could not be written; `error` is an errno. Decides when to try again. */
void rocks_wal_failed(struct rocks *rocks, int error);
/* RocksDB refuses writes, so the database must be opened again. Frees `message`. */
void rocks_database_failed(struct rocks *rocks, char *message);
/* Logs why nothing can be written, once until writes succeed again. */
void rocks_report_failure(struct rocks *rocks, const char *message);
/* A group was written: ends a state of failure. */
void rocks_write_succeeded(struct rocks *rocks);
/* An attempt to resume has failed: sets the time of the next one. */
void rocks_delay_next_try(struct rocks *rocks);
/* Returns the time until the next attempt of rocks_resume(); negative: none is planned. */
MUST_USE int64_t rocks_resume_wait_ns(const struct rocks *rocks);

#endif
