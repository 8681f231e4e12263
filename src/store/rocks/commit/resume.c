/* Resumes writing after a failure. If the write-ahead log cannot be written, the committer tries
 * again in a new segment, after a probe has shown that the disk accepts writes.
 *
 * If RocksDB cannot write an SST file (disk full, I/O error), it refuses all writes, and its C
 * interface has no function to resume. So after a successful probe the committer closes the
 * database, opens it again and replays the write-ahead log. Until then reads continue; the gate
 * keeps readers out only while the database is closed. With the turn to commit. */
#include <fcntl.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "store/rocks/commit/commit_group.h"
#include "store/rocks/database/database.h"
#include "store/rocks/faults/health.h"

static const size_t probe_bytes = (size_t)1 << 20;

/* Closes the database and opens it again. If that fails, reads fail until it succeeds: without the
 * replayed records they would miss acknowledged writes. */
static bool reopen(struct rocks *rocks)
{
    gate_shut(&rocks->gate);
    if (rocks->db != NULL) {
        rocksdb_disable_manual_compaction(rocks->db); /* so that the sweeper leaves the gate */
    }
    gate_wait_empty(&rocks->gate);
    rocks_close_damaged(rocks);
    rocks->health.reopen_count++;
    struct arena arena;
    arena_init(&arena);
    struct err err = ERR_INIT(&arena);
    bool good = rocks_open_database(rocks, &err);
    if (!good) {
        rocks_report_failure(rocks, arena_format(&arena, "%.*s", STR_ARG(err.message)).data);
        gate_open(&rocks->gate, NULL);
    }
    arena_finish(&arena);
    return good;
}

static bool write_zeroes(int fd, size_t bytes)
{
    static const char zeroes[65536];
    while (bytes > 0) {
        ssize_t written = write(fd, zeroes, MIN(bytes, sizeof(zeroes)));
        if (written <= 0) {
            return false;
        }
        bytes -= (size_t)written;
    }
    return fsync(fd) == 0;
}

/* Whether the disk accepts a small write. */
static bool probe(const struct rocks *rocks)
{
    if (rocks->env != NULL) {
        return true;
    }
    wal_drop_spares(rocks->wal);
    struct statvfs disk;
    if (statvfs(rocks->path, &disk) == 0 && (uint64_t)disk.f_bavail * disk.f_frsize < probe_bytes) {
        return false;
    }
    struct buf name = {0};
    buf_format(&name, "%s/probe.tmp", rocks->path);
    int fd = open(name.data, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);
    bool good = fd >= 0 && write_zeroes(fd, probe_bytes);
    if (fd >= 0) {
        close(fd);
        unlink(name.data);
    }
    buf_finish(&name);
    return good;
}

void rocks_resume(struct rocks *rocks)
{
    struct health *health = &rocks->health;
    if (LIKELY(!health->broken) || clock_monotonic_us() < health->next_try_us) {
        return;
    }
    health->broken = !probe(rocks) || (health->reopen && !reopen(rocks));
    health->reopen = health->reopen && health->broken;
    if (health->broken) {
        rocks_delay_next_try(rocks);
    }
    assert(health->broken || rocks->db != NULL);
}
