/* Calls of a few users, around the time of the first loading. */
#include <stdio.h>
#include <string.h>

#include "apps/calls/calls.h"
#include "base/base.h"
#include "base/clock.h"

#define HOUR_MS INT64_C(3600000)

static const struct {
    const char *call_id, *user_id, *provider_id;
    int hours; /* from now, to the full hour */
} samples[] = {
    {"sample-ana-1", "ana", "dr-lund", -26 * 24},
    {"sample-ana-2", "ana", "dr-lund", -19 * 24 + 2},
    {"sample-ana-3", "ana", "dr-moreau", -12 * 24},
    {"sample-ana-4", "ana", "dr-lund", -5 * 24 - 3},
    {"sample-ana-5", "ana", "dr-osei", -2 * 24},
    {"sample-ana-6", "ana", "dr-lund", -2},
    {"sample-ana-7", "ana", "dr-lund", 3},
    {"sample-ana-8", "ana", "dr-osei", 5},
    {"sample-ana-9", "ana", "dr-moreau", 2 * 24},
    {"sample-ana-10", "ana", "dr-lund", 7 * 24},
    {"sample-ana-11", "ana", "dr-lund", 14 * 24},
    {"sample-ben-1", "ben", "dr-osei", -9 * 24},
    {"sample-ben-2", "ben", "dr-osei", -24},
    {"sample-ben-3", "ben", "dr-lund", 24},
    {"sample-ben-4", "ben", "dr-osei", 4 * 24},
    {"sample-chloe-1", "chloe", "dr-moreau", -30},
    {"sample-chloe-2", "chloe", "dr-moreau", 6},
};

bool calls_load_samples(struct gramme_db *db, struct gramme_error **error)
{
    enum { COMPLETED_UNTIL_HOURS = -12 }; /* one is overdue */
    int64_t now_ms = clock_wall_ms() / HOUR_MS * HOUR_MS;
    for (size_t i = 0; i < COUNT_OF(samples); i++) {
        struct call call = {.scheduled_for_ms = now_ms + samples[i].hours * HOUR_MS};
        strcpy(call.call_id, samples[i].call_id);
        strcpy(call.user_id, samples[i].user_id);
        strcpy(call.provider_id, samples[i].provider_id);
        struct call created;
        enum calls_result result = calls_create(db, &call, &created, error);
        if (result == CALLS_OK && samples[i].hours < COMPLETED_UNTIL_HOURS) {
            result = calls_change_status(db, &created, CALL_COMPLETED, &created, error);
        }
        if (result == CALLS_FAILED) {
            return false;
        }
    }
    return true;
}
