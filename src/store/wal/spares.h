/* store/wal/spares.h: preallocated files for segments of the WAL.
 *
 * When a file grows, a sync also writes its length and block addresses; overwriting existing blocks
 * takes one disk write less, and a third less time. So a thread fills files with zeroes before they
 * are needed, and released segments are kept for reuse.
 *
 * Only the committing thread calls these functions. The thread that fills is started at the first
 * request, so that small stores have neither the thread nor the files. */
#ifndef GRAMME_STORE_WAL_SPARES_H
#define GRAMME_STORE_WAL_SPARES_H

#include "store/disk/files.h"

enum { SPARE_BYTES = 16 << 20 };

struct spares;

/* Deletes the spare files that an earlier process has left. `file_bytes` is the size of each file.
 * If not `has_thread`, spares_request() fills the file before it returns. */
MUST_USE struct spares *spares_create(const struct files *files, const char *directory,
                                      uint64_t file_bytes, bool has_thread);
/* Stops the thread, deletes the spare files and frees the struct. Accepts NULL. */
void spares_destroy(struct spares *spares);

/* Requests a spare file; the thread creates it in the background. */
void spares_request(struct spares *spares);
/* Renames a spare file to `path`, without a sync, and opens it for writing. -1: there is none. */
MUST_USE int spares_take(struct spares *spares, const char *path);
/* Takes a file of `file_bytes` that is no longer needed for reuse; deletes it if there are enough
 * spare files. */
void spares_give(struct spares *spares, const char *path);
/* Deletes all spare files, to free space on a full disk. */
void spares_clear(struct spares *spares);

#endif
