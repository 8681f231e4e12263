/* Whether the disk accepts writes. A failure of the write-ahead log or of RocksDB makes the store
 * broken: no group is written until rocks_resume() has succeeded. This file logs the failure once,
 * releases the reserve of a full disk, and decides when to try again. Called by the committer. */
#include "store/rocks/faults/health.h"

#include <errno.h>

#include "base/clock.h"
#include "base/log.h"
#include "store/rocks/faults/damage.h"

/* Attempts without a pause; the second one because another update of the group may have caused
 * ENOSPC. */
enum { TRIES_AT_ONCE = 2 };
static const int64_t first_delay_us = 50000;
static const int64_t last_delay_us = 2000000;

void rocks_report_failure(struct rocks *rocks, const char *message)
{
    log_write(rocks->health.is_reported ? LOG_DEBUG : LOG_ERROR, "store", "cannot write: %s",
              message);
    rocks->health.is_reported = true;
}

void rocks_delay_next_try(struct rocks *rocks)
{
    struct health *health = &rocks->health;
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
    rocks_report_failure(rocks, message);
    if (wal_is_fresh(rocks->wal)) {
        rocks_delay_next_try(rocks);
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

void rocks_wal_failed(struct rocks *rocks, int error)
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

int64_t rocks_resume_wait_ns(const struct rocks *rocks)
{
    if (!rocks->health.broken) {
        return -1;
    }
    int64_t wait_us = rocks->health.next_try_us - clock_monotonic_us();
    return MAX(wait_us, (int64_t)1) * 1000;
}
