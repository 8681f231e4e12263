/* tests/store/bad_disk.h: a disk that fails on command. write(), pwritev(), fsync(), fdatasync()
 * and ftruncate() of the whole test program, RocksDB included, go through here. */
#ifndef GRAMME_TESTS_STORE_BAD_DISK_H
#define GRAMME_TESTS_STORE_BAD_DISK_H

#include "base/base.h"

/* What fails, by the end of the file's name. */
enum bad_disk_kind {
    BAD_LOG_WRITE,    /* .journal: half of it is written, then ENOSPC */
    BAD_LOG_SYNC,     /* .journal, by fdatasync(), as for each record: EIO */
    BAD_LOG_CUT,      /* .journal, by ftruncate() and fsync(), as to cut: EIO */
    BAD_TABLE_WRITE,  /* .sst: ENOSPC */
    BAD_ANY_WRITE,    /* every file of a store: ENOSPC */
    BAD_BUT_FOR_PROBE /* every file of a store but the probe: ENOSPC */
};

enum { BAD_FOR_EVER = 1 << 30 };

/* The next `count` calls of the kind fail; 0: none any more. */
void bad_disk_fail(enum bad_disk_kind kind, int count);
/* How many calls of the kind have failed since. */
int bad_disk_failures(enum bad_disk_kind kind);
void bad_disk_heal(void);

#endif
