/* Recovers from a failing disk. If the log cannot be written, the committer tries again in a new
 * segment, after a probe has shown that the disk accepts writes.
 *
 * If RocksDB cannot write a table (disk full, I/O error), it refuses all writes, and its C
 * interface has no function to resume. So after a successful probe the committer closes the
 * database, opens it again and replays the log. Until then reads continue; the gate keeps readers
 * out only while the database is closed.
 *
 * Committer only, but for rocks_open_database(), which also opens the database at the start. */
#include <errno.h>
#include <fcntl.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/log.h"
#include "store/rocks/rocks_internal.h"

/* Attempts without a pause; the second one because another update of the group may have caused
 * ENOSPC. */
enum { TRIES_AT_ONCE = 2 };
static const int64_t first_delay_us = 50000;
static const int64_t last_delay_us = 2000000;
static const size_t probe_bytes = (size_t)1 << 20;

static bool describe(struct rocks *rocks, char *message, struct err *err)
{
    bool in_use = strstr(message, "While lock file") != NULL ||
                  strstr(message, "lock hold by current process") != NULL;
    if (in_use) {
        err_set(err, ERR_INTERNAL, "the store in %s is in use by another server", rocks->path);
    } else {
        err_set(err, ERR_INTERNAL, "cannot open the store in %s: %s", rocks->path, message);
    }
    rocksdb_free(message);
    return false;
}

bool rocks_open_rocksdb(struct rocks *rocks, struct err *err)
{
    assert(rocks->db == NULL);
    char *message = NULL;
    rocksdb_t *db = rocksdb_open(rocks->options, rocks->path, &message);
    if (message != NULL) {
        return describe(rocks, message, err);
    }
    rocks->db = db;
    return true;
}

bool rocks_open_database(struct rocks *rocks, struct err *err)
{
    if (rocks->db == NULL && !rocks_open_rocksdb(rocks, err)) {
        return false;
    }
    if (!rocks_replay(rocks, err)) {
        rocks_close_database(rocks);
        return false;
    }
    assert(rocks->wal != NULL);
    rocks->merging.eagerly = false;
    gate_open(&rocks->gate, rocks->db);
    return true;
}

void rocks_close_database(struct rocks *rocks)
{
    if (rocks->db != NULL) {
        rocksdb_close(rocks->db);
        rocks->db = NULL;
    }
}

/* Logs a failure, once until writes succeed again. */
static void report_failure(struct rocks *rocks, const char *message)
{
    log_write(rocks->health.is_reported ? LOG_DEBUG : LOG_ERROR, "store", "cannot write: %s",
              message);
    rocks->health.is_reported = true;
}

/* Closes the database and opens it again. If that fails, reads fail until it succeeds: without the
 * replayed records they would miss acknowledged writes. */
static bool reopen(struct rocks *rocks)
{
    gate_shut(&rocks->gate);
    if (rocks->db != NULL) {
        rocksdb_disable_manual_compaction(rocks->db); /* so that the sweeper leaves the gate */
    }
    gate_wait_empty(&rocks->gate);
    rocks_close_database(rocks);
    rocks->health.reopen_count++;
    struct arena arena;
    arena_init(&arena);
    struct err err = ERR_INIT(&arena);
    bool good = rocks_open_database(rocks, &err);
    if (!good) {
        report_failure(rocks, arena_format(&arena, "%.*s", STR_ARG(err.message)).data);
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

static void wait_before_next_try(struct health *health)
{
    health->failures++;
    health->next_try_us = 0;
    if (health->failures > TRIES_AT_ONCE) {
        int doublings = MIN(health->failures - TRIES_AT_ONCE - 1, 16);
        health->next_try_us =
            clock_monotonic_us() + MIN(first_delay_us << doublings, last_delay_us);
    }
}

/* Plans the next attempt: at once, if the record was not the first of its segment, because a new
 * segment may have space (file size limit); else later. */
static void note_failure(struct rocks *rocks, const char *message)
{
    rocks->health.broken = true;
    report_failure(rocks, message);
    if (wal_is_fresh(rocks->wal)) {
        wait_before_next_try(&rocks->health);
    } else {
        rocks->health.next_try_us = 0;
    }
}

/* Deletes the reserve file; then there is space, and the next attempt is made at once. */
static void release_reserve(struct rocks *rocks)
{
    if (reserve_release(&rocks->reserve)) {
        rocks->health.next_try_us = 0;
    }
}

void rocks_log_failed(struct rocks *rocks, int error)
{
    note_failure(rocks, strerror(error));
    if (error == ENOSPC || error == EDQUOT) {
        release_reserve(rocks);
    }
}

void rocks_database_failed(struct rocks *rocks, char *message)
{
    rocks_note_write_failure(rocks, message);
    note_failure(rocks, message);
    if (strstr(message, strerror(ENOSPC)) != NULL) {
        release_reserve(rocks);
    }
    rocksdb_free(message);
    rocks->health.reopen = true;
}

void rocks_write_succeeded(struct rocks *rocks)
{
    struct health *health = &rocks->health;
    health->failures = 0;
    if (UNLIKELY(health->is_reported)) {
        health->is_reported = false;
        log_write(LOG_INFO, "store", "writing to %s works again", rocks->path);
    }
}

void rocks_repair(struct rocks *rocks)
{
    struct health *health = &rocks->health;
    if (LIKELY(!health->broken) || clock_monotonic_us() < health->next_try_us) {
        return;
    }
    health->broken = !probe(rocks) || (health->reopen && !reopen(rocks));
    health->reopen = health->reopen && health->broken;
    if (health->broken) {
        wait_before_next_try(health);
    }
}

int64_t rocks_repair_wait_ns(const struct rocks *rocks)
{
    if (!rocks->health.broken) {
        return -1;
    }
    int64_t wait_us = rocks->health.next_try_us - clock_monotonic_us();
    return MAX(wait_us, (int64_t)1) * 1000;
}
