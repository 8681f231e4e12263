/* store/rocks/wal.h: the end of RocksDB's write-ahead log, as far as writes were acknowledged.
 *
 * A write that failed may have left its record in the log: in part (disk full), or even as a whole
 * when only the fsync failed. RocksDB would bring a whole record back to life when it opens the
 * log again, after its writer was told that nothing was written. So the committer keeps in mind
 * how long the log was after each commit, and cuts it back to that length before it answers.
 *
 * Belongs to the committer. One record is one group, and nobody else writes to the log; a new log
 * file (NUMBER.log) is begun whenever a memtable is full. */
#ifndef GRAMME_STORE_ROCKS_WAL_H
#define GRAMME_STORE_ROCKS_WAL_H

#include "base/err.h"

struct wal {
    const char *directory; /* NULL: in memory, and nothing here does anything */
    uint64_t number;       /* of the log file that the last commit went to */
    int fd;                /* of that file; -1: none */
    uint64_t end;          /* its length then */
};

void wal_init(struct wal *wal, const char *directory);
void wal_finish(struct wal *wal);

/* Before RocksDB opens the directory: makes what is in the logs durable. Their last records may
 * not be, if the process was killed; reads would show them, and new records build upon them. */
MUST_USE bool wal_sync_all(const char *directory, size_t *out_count, struct err *err);
/* RocksDB has opened the directory. */
void wal_opened(struct wal *wal);
/* A write has succeeded. */
void wal_committed(struct wal *wal);
/* A write has failed: leaves nothing of it. False: it may yet turn up. */
MUST_USE bool wal_cut(struct wal *wal);

#endif
