/* tests/store/bad_disk.h: simulates disk errors. bad_disk.c replaces write(), pwritev(),
 * fdatasync() and pread() of the whole test program, including RocksDB. */
#ifndef GRAMME_TESTS_STORE_BAD_DISK_H
#define GRAMME_TESTS_STORE_BAD_DISK_H

#include "base/base.h"

/* Which calls fail, by the suffix of the file name, and with which errno. */
enum bad_disk_kind {
    BAD_LOG_WRITE,   /* .wal: writes half of the bytes, then ENOSPC */
    BAD_LOG_SYNC,    /* .wal, by fdatasync(): EIO */
    BAD_LOG_STATE,   /* wal.state: EIO */
    BAD_TABLE_WRITE, /* .sst: ENOSPC */
    BAD_TABLE_READ,  /* .sst, by pread(): EIO */
    BAD_ANY_WRITE, /* every file of a store except wal.state, whose blocks are preallocated: ENOSPC
                    */
    BAD_BUT_FOR_PROBE /* the same, except for the probe file too: ENOSPC */
};

enum { BAD_FOR_EVER = 1 << 30 };

/* Makes the next `count` calls of the kind fail; 0: no more. */
void bad_disk_fail(enum bad_disk_kind kind, int count);
/* Returns how many calls of the kind have failed since bad_disk_fail(). */
int bad_disk_failures(enum bad_disk_kind kind);
/* Returns the id of the thread that wrote to the write-ahead log last, of the calls while a kind
 * was armed. */
int bad_disk_log_thread(void);
/* Disarms all kinds. */
void bad_disk_heal(void);

#endif
