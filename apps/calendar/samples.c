/* Sample events, some days before and after the first load. Called at start with --samples. */
#include <string.h>

#include "apps/calendar/calendar.h"
#include "base/base.h"
#include "base/clock.h"

#define DAY_MS INT64_C(86400000)

static const struct {
    const char *id, *title;
    int start, nights; /* days from today */
} samples[] = {
    {"5a3e0000-0000-4000-8000-000000000001", "Ana", -20, 7},
    {"5a3e0000-0000-4000-8000-000000000002", "Ben and Kofi", -9, 3},
    {"5a3e0000-0000-4000-8000-000000000003", "Chloe", -2, 5},
    {"5a3e0000-0000-4000-8000-000000000004", "Dana", 4, 2},
    {"5a3e0000-0000-4000-8000-000000000005", "The Lunds", 8, 9},
    {"5a3e0000-0000-4000-8000-000000000006", "Ana", 25, 4},
    {"5a3e0000-0000-4000-8000-000000000007", "Works on the roof", 40, 21},
};

bool calendar_load_samples(struct gramme_db *db, struct gramme_error **error)
{
    int today = (int)(clock_wall_ms() / DAY_MS);
    for (size_t i = 0; i < COUNT_OF(samples); i++) {
        struct event event = {.start = today + samples[i].start};
        event.end = event.start + samples[i].nights;
        strcpy(event.id, samples[i].id);
        strcpy(event.title, samples[i].title);
        struct clash clash;
        /* Existing events, and nights that are taken, are not changed. */
        if (calendar_create_event(db, &event, &event, &clash, error) == CALENDAR_FAILED) {
            return false;
        }
    }
    return true;
}
