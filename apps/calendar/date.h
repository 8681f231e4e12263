/* apps/calendar/date.h: days as numbers, counted from 1970-01-01, and as text. */
#ifndef GRAMME_APPS_DATE_H
#define GRAMME_APPS_DATE_H

#include <stdbool.h>

#define DATE_SIZE 11 /* "2026-02-09" and its NUL */

/* Parses YYYY-MM-DD of the years 1900 to 2999. False, with *out unchanged: the text is NULL or not
 * a date, or there is no such day. */
bool date_parse(const char *text, int *out);
/* Formats a day of the years 0 to 9999. */
void date_format(char out[DATE_SIZE], int day);

#endif
