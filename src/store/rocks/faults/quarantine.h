/* store/rocks/faults/quarantine.h: ranges of keys that must not be read, because a bad block of an
 * SST file that held some of them was replaced: struct quarantine. Older versions of its rows may
 * be in other SST files, so that a read would return them as if they were the newest.
 *
 * The list changes only while the gate is shut. Readers use it inside the gate or with the turn. */
#ifndef GRAMME_STORE_ROCKS_FAULTS_QUARANTINE_H
#define GRAMME_STORE_ROCKS_FAULTS_QUARANTINE_H

#include "store/rocks/rocks_internal.h"

/* Initializes an empty list. */
void quarantine_init(struct quarantine *quarantine);
/* Frees it. */
void quarantine_finish(struct quarantine *quarantine);
/* Reads the list from the rows of space 0, when the database has been opened and before the gate
 * is. */
MUST_USE bool rocks_load_quarantine(struct rocks *rocks, struct err *err);
/* Returns whether a block is in the list. */
MUST_USE bool quarantine_has_block(const struct quarantine *quarantine, uint64_t sst,
                                   uint64_t offset);
/* Returns the range that holds the key; NULL: none. */
MUST_USE const struct quarantine_range *quarantine_find(const struct quarantine *quarantine,
                                                        struct str key);
/* Returns the first range, in the direction of the read, that overlaps lo <= key < hi; NULL: none.
 * Ranges of dropped spaces do not count. */
MUST_USE const struct quarantine_range *rocks_quarantine_ahead(const struct rocks *rocks,
                                                               struct str lo, struct str hi,
                                                               bool backward);
/* Returns how many ranges there are, without those of dropped spaces. */
MUST_USE size_t rocks_quarantine_live_count(const struct rocks *rocks);
/* Logs that a read failed because of the range, once for each. Any thread. */
void rocks_note_quarantined_read(struct rocks *rocks, const struct quarantine_range *range);
/* Logs how many ranges there are, if any. When the store is opened. */
void rocks_report_quarantine(const struct rocks *rocks);

#endif
