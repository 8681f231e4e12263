/* store/wal/spares.h: files for the log that have their length already.
 *
 * Appending to a file and syncing it makes the file system write the file's length and block
 * addresses as well; writing over existing blocks takes one disk write less, and a third less
 * time. So a thread writes zeroes into a file before it is needed, and segments that are no longer
 * needed are kept for reuse.
 *
 * Only the committing thread calls these functions. The thread that fills is started at the first
 * request, so that small stores have neither the thread nor the files. */
#ifndef GRAMME_STORE_WAL_SPARES_H
#define GRAMME_STORE_WAL_SPARES_H

#include "store/wal/files.h"

enum { SPARE_BYTES = 16 << 20 };

struct spares;

/* Deletes the spare files that an earlier process has left. `file_bytes` is the size of each.
 * Without a thread spares_request() fills the file itself. */
MUST_USE struct spares *spares_create(const struct files *files, const char *directory,
                                      uint64_t file_bytes, bool has_thread);
/* Deletes the files, too. Accepts NULL. */
void spares_destroy(struct spares *spares);

/* Asks for one to be made in the background. */
void spares_request(struct spares *spares);
/* Renames one to `path` (not synced) and opens it for writing; -1: there is none. */
MUST_USE int spares_take(struct spares *spares, const char *path);
/* Takes over a file of that size which is no longer needed; deletes it if there are enough. */
void spares_give(struct spares *spares, const char *path);
/* Deletes all, to free room on a full disk. */
void spares_clear(struct spares *spares);

#endif
