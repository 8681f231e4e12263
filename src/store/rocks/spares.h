/* store/rocks/spares.h: files for the journal that have their length already.
 *
 * To append to a file and sync it makes the file system write the file's length and place as well;
 * to write over what is there takes one write less, and a third less time. So a thread writes
 * zeroes into a file before it is needed, and files that are done with are kept to be used again.
 *
 * One thread asks; the thread that fills is started when the first file is wished for, so that
 * small databases have neither it nor the files. */
#ifndef GRAMME_STORE_ROCKS_SPARES_H
#define GRAMME_STORE_ROCKS_SPARES_H

#include "base/base.h"

enum { SPARE_BYTES = 16 << 20 };

struct spares;

/* Deletes the spare files that an earlier process has left. */
MUST_USE struct spares *spares_create(const char *directory);
/* Deletes the files, too. */
void spares_destroy(struct spares *spares);

/* There should be one soon. */
void spares_wish(struct spares *spares);
/* Renames one to `path` (not synced) and opens it for writing; -1: there is none. */
MUST_USE int spares_take(struct spares *spares, const char *path);
/* Takes a file of SPARE_BYTES that is done with; deletes it if there are enough. */
void spares_give(struct spares *spares, const char *path);
/* The disk is full: deletes all. */
void spares_clear(struct spares *spares);

#endif
