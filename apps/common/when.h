/* apps/common/when.h: points in time, as microseconds since 1970 and as ISO 8601 texts in UTC,
 * whose order is the order of time. */
#ifndef GRAMME_APPS_WHEN_H
#define GRAMME_APPS_WHEN_H

#include <stdbool.h>
#include <stdint.h>

#define WHEN_SIZE 28 /* "2026-02-09T12:20:25.343883Z" and its NUL */

#define WHEN_SECOND INT64_C(1000000)
#define WHEN_DAY    (WHEN_SECOND * 24 * 60 * 60)

/* Returns the current time, in microseconds since 1970. */
int64_t when_now(void);
/* Formats a time in the years 1970 to 9999. */
void when_format(char out[WHEN_SIZE], int64_t when);
/* The same without the fraction: "2026-02-09T12:20:25Z". */
void when_format_seconds(char out[WHEN_SIZE], int64_t when);
/* Parses both forms, with 1 to 6 digits of fraction. False, with *out unchanged: the text is NULL
 * or not a time, there is no such day, or it is before 1970. */
bool when_parse(const char *text, int64_t *out);

#endif
