/* tests/store/bad_disk.h: a disk that fails on command. write(), pwritev() and fdatasync() of
 * the whole test program, RocksDB included, go through here. */
#ifndef GRAMME_TESTS_STORE_BAD_DISK_H
#define GRAMME_TESTS_STORE_BAD_DISK_H

#include "base/base.h"

/* What fails, by the end of the file's name. */
enum bad_disk_kind {
    BAD_LOG_WRITE,    /* .wal: half of it is written, then ENOSPC */
    BAD_LOG_SYNC,     /* .wal, by fdatasync(), as for each record: EIO */
    BAD_LOG_STATE,    /* wal.state: EIO */
    BAD_TABLE_WRITE,  /* .sst: ENOSPC */
    BAD_ANY_WRITE,    /* every file of a store but wal.state, which has its blocks: ENOSPC */
    BAD_BUT_FOR_PROBE /* the same but for the probe, too: ENOSPC */
};

enum { BAD_FOR_EVER = 1 << 30 };

/* The next `count` calls of the kind fail; 0: none any more. */
void bad_disk_fail(enum bad_disk_kind kind, int count);
/* How many calls of the kind have failed since. */
int bad_disk_failures(enum bad_disk_kind kind);
void bad_disk_heal(void);

#endif
