/* store/backup/copy.h: copies a file at a limited rate, without leaving it in the kernel's cache.
 */
#ifndef GRAMME_STORE_BACKUP_COPY_H
#define GRAMME_STORE_BACKUP_COPY_H

#include "err/err.h"

/* Limits a rate over several files. */
struct rate {
    uint64_t bytes_per_second; /* 0: no limit */
    int64_t start_us;
    uint64_t bytes;                               /* since then */
    void (*piece)(void *context, uint64_t bytes); /* after each piece; may be NULL */
    void *context;
};

/* Reads a file, and writes it to `to` unless that is NULL: mode 0600, synced; it must not exist.
 * *out_size and out_hash (XXH3-128) are those of the bytes that were read. */
MUST_USE bool copy_file(struct rate *rate, const char *from, const char *to, uint64_t *out_size,
                        uint8_t out_hash[16], struct err *err);

#endif
