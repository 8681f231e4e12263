/* store/rocks/faults/damage.h: bad blocks of SST files. Each is logged once; when a compaction has
 * failed on one, the blocks of its SST file are put into quarantine, or automatic compactions are
 * stopped. */
#ifndef GRAMME_STORE_ROCKS_FAULTS_DAMAGE_H
#define GRAMME_STORE_ROCKS_FAULTS_DAMAGE_H

#include "store/rocks/rocks_internal.h"

/* Initializes the list of bad blocks. */
void damage_init(struct damage *damage);
/* Frees it. */
void damage_finish(struct damage *damage);
/* A read failed: logs it, once for each bad block. Returns whether it failed on a bad block. Frees
 * the message. Any thread. */
bool rocks_read_failed(struct rocks *rocks, char *message);
/* RocksDB refuses writes. If the message is about a bad block, keeps it for
 * rocks_close_damaged(). With the turn to commit. */
void rocks_note_write_failure(struct rocks *rocks, const char *message);
/* Logs that no bad block was found in the SST file of rocks->damage.failure, and counts it. Returns
 * whether compactions may go on: false after the third time for one SST file, or if there were
 * many. With the turn to commit. */
MUST_USE bool rocks_note_unconfirmed(struct rocks *rocks);
/* Turns compactions off from the next open on, because the bad block of rocks->damage.failure
 * cannot be put into quarantine; `why` says why. With the turn to commit. */
void rocks_stop_compactions(struct rocks *rocks, const char *why);
/* Logs a bad place of an SST file, given by its number, unless a read has logged it before. Any
 * thread. */
void rocks_note_damage(struct rocks *rocks, uint64_t file, int64_t offset, const char *text);

#endif
