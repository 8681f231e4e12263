/* Days as numbers and as text. Pure functions; any thread. */
#include "apps/calendar/date.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/base.h"

enum { YEAR_MIN = 1900, YEAR_MAX = 2999, DAY_SECONDS = 24 * 60 * 60 };

bool date_parse(const char *text, int *out)
{
    if (text == NULL || strlen(text) != DATE_SIZE - 1) {
        return false;
    }
    struct tm parts = {.tm_mday = 1};
    int year;
    if (sscanf(text, "%4d-%2d-%2d", &year, &parts.tm_mon, &parts.tm_mday) != 3 || year < YEAR_MIN ||
        year > YEAR_MAX) {
        return false;
    }
    parts.tm_year = year - 1900;
    parts.tm_mon--;
    int day = (int)(timegm(&parts) / DAY_SECONDS);
    char again[DATE_SIZE];
    date_format(again, day);
    if (strcmp(again, text) != 0) { /* such as the 31st of February, or 2026-+1-01 */
        return false;
    }
    *out = day;
    return true;
}

void date_format(char out[DATE_SIZE], int day)
{
    time_t seconds = (time_t)day * DAY_SECONDS;
    struct tm parts;
    gmtime_r(&seconds, &parts);
    size_t len = strftime(out, DATE_SIZE, "%Y-%m-%d", &parts);
    assert(len == DATE_SIZE - 1);
}
