/* store/backup/paced_copy.h: copies files at a limited rate, and drops them from the kernel's
 * cache. */
#ifndef GRAMME_STORE_BACKUP_PACED_COPY_H
#define GRAMME_STORE_BACKUP_PACED_COPY_H

#include "err/err.h"

/* Limits a rate over several files. */
struct rate {
    uint64_t bytes_per_second; /* 0: no limit */
    int64_t start_us;
    uint64_t bytes;                               /* copied since then */
    void (*piece)(void *context, uint64_t bytes); /* called after each piece; may be NULL */
    void *context;
};

/* Copies a file to `to`, which must not exist, with mode 0600, and syncs it. If `to` is NULL the
 * file is only read. *out_size and out_hash (XXH3-128) are those of the bytes that were read. */
MUST_USE bool copy_file(struct rate *rate, const char *from, const char *to, uint64_t *out_size,
                        uint8_t out_hash[16], struct err *err);

#endif
