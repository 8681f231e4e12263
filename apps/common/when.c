/* Times as the documents write them, ISO 8601 in UTC. Pure functions; any thread. */
#include "apps/common/when.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"

enum { SECONDS_LEN = 19 }; /* "2026-02-09T12:20:25" */

int64_t when_now(void)
{
    return clock_wall_us();
}

/* Writes up to the seconds, without the Z. */
static void format_seconds(char out[WHEN_SIZE], int64_t when)
{
    time_t seconds = (time_t)(when / WHEN_SECOND);
    struct tm parts;
    gmtime_r(&seconds, &parts);
    snprintf(out, WHEN_SIZE, "%04u-%02u-%02uT%02u:%02u:%02u",
             (unsigned)(parts.tm_year + 1900) % 10000, (unsigned)(parts.tm_mon + 1) % 100,
             (unsigned)parts.tm_mday % 100, (unsigned)parts.tm_hour % 100,
             (unsigned)parts.tm_min % 100, (unsigned)parts.tm_sec % 100);
}

void when_format(char out[WHEN_SIZE], int64_t when)
{
    format_seconds(out, when);
    snprintf(out + SECONDS_LEN, WHEN_SIZE - SECONDS_LEN, ".%06uZ",
             (unsigned)(when % WHEN_SECOND) % 1000000);
}

void when_format_seconds(char out[WHEN_SIZE], int64_t when)
{
    format_seconds(out, when);
    memcpy(out + SECONDS_LEN, "Z", 2);
}

/* Returns the number in `count` digits; -1: one of the characters is not a digit. */
static int digits(const char *text, int count)
{
    int number = 0;
    for (int i = 0; i < count; i++) {
        if (text[i] < '0' || text[i] > '9') {
            return -1;
        }
        number = number * 10 + (text[i] - '0');
    }
    return number;
}

/* Reads ".343883Z" or "Z". */
static bool parse_fraction(const char *text, int64_t *out_us)
{
    *out_us = 0;
    if (text[0] == '.') {
        text++;
        int64_t unit = WHEN_SECOND;
        for (; unit > 1 && text[0] >= '0' && text[0] <= '9'; text++) {
            unit /= 10;
            *out_us += (text[0] - '0') * unit;
        }
        if (unit == WHEN_SECOND) {
            return false;
        }
    }
    return strcmp(text, "Z") == 0;
}

bool when_parse(const char *text, int64_t *out)
{
    int64_t fraction_us;
    if (text == NULL || strnlen(text, WHEN_SIZE) <= SECONDS_LEN ||
        !parse_fraction(text + SECONDS_LEN, &fraction_us)) {
        return false;
    }
    struct tm parts = {
        .tm_year = digits(text, 4) - 1900,
        .tm_mon = digits(text + 5, 2) - 1,
        .tm_mday = digits(text + 8, 2),
        .tm_hour = digits(text + 11, 2),
        .tm_min = digits(text + 14, 2),
        .tm_sec = digits(text + 17, 2),
    };
    int64_t when = (int64_t)timegm(&parts) * WHEN_SECOND;
    char again[WHEN_SIZE];
    format_seconds(again, when);
    if (when < 0 || memcmp(again, text, SECONDS_LEN) != 0) { /* letters, or the 31st of February */
        return false;
    }
    *out = when + fraction_us;
    return true;
}
