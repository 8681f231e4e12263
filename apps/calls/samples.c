/* Sample calls of a few users, some days before and after the first load. Called at start with
 * --samples. */
#include <string.h>

#include "apps/calls/calls.h"
#include "base/base.h"
#include "base/clock.h"

#define HOUR_MS INT64_C(3600000)
#define DAY_MS  (24 * HOUR_MS)

static const struct {
    const char *call_id, *user_id, *provider_id;
    int day;  /* from today */
    int hour; /* of UTC */
    enum call_status status;
} samples[] = {
    {"sample-ana-1", "ana", "dr-lund", -26, 9, CALL_COMPLETED},
    {"sample-ana-2", "ana", "dr-lund", -19, 11, CALL_COMPLETED},
    {"sample-ana-3", "ana", "dr-moreau", -12, 9, CALL_COMPLETED},
    {"sample-ana-4", "ana", "dr-lund", -5, 15, CALL_COMPLETED},
    {"sample-ana-5", "ana", "dr-osei", -2, 10, CALL_COMPLETED},
    {"sample-ana-6", "ana", "dr-lund", -1, 14, CALL_SCHEDULED}, /* overdue */
    {"sample-ana-7", "ana", "dr-lund", 1, 9, CALL_SCHEDULED},
    {"sample-ana-8", "ana", "dr-osei", 1, 13, CALL_SCHEDULED},
    {"sample-ana-9", "ana", "dr-moreau", 3, 10, CALL_SCHEDULED},
    {"sample-ana-10", "ana", "dr-lund", 8, 9, CALL_SCHEDULED},
    {"sample-ana-11", "ana", "dr-lund", 15, 9, CALL_SCHEDULED},
    {"sample-ben-1", "ben", "dr-osei", -9, 16, CALL_COMPLETED},
    {"sample-ben-2", "ben", "dr-osei", -3, 16, CALL_COMPLETED},
    {"sample-ben-3", "ben", "dr-lund", 1, 10, CALL_SCHEDULED},
    {"sample-ben-4", "ben", "dr-osei", 5, 16, CALL_SCHEDULED},
    {"sample-chloe-1", "chloe", "dr-moreau", -2, 8, CALL_COMPLETED},
    {"sample-chloe-2", "chloe", "dr-moreau", 2, 8, CALL_SCHEDULED},
};

bool calls_load_samples(struct gramme_db *db, struct gramme_error **error)
{
    int64_t today_ms = clock_wall_ms() / DAY_MS * DAY_MS;
    for (size_t i = 0; i < COUNT_OF(samples); i++) {
        struct call call = {.scheduled_for_ms =
                                today_ms + samples[i].day * DAY_MS + samples[i].hour * HOUR_MS};
        strcpy(call.call_id, samples[i].call_id);
        strcpy(call.user_id, samples[i].user_id);
        strcpy(call.provider_id, samples[i].provider_id);
        struct call created;
        enum calls_result result = calls_create(db, &call, &created, error);
        if (result == CALLS_OK && samples[i].status == CALL_COMPLETED) {
            struct call completed = {.status = CALL_COMPLETED};
            result = calls_change_status(db, &created, &completed, &created, error);
        }
        if (result == CALLS_FAILED) {
            return false;
        }
    }
    return true;
}
