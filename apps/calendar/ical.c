/* Events as iCalendar (RFC 5545): whole days, the end exclusive, as the table has them. */
#include <stdio.h>
#include <time.h>

#include "apps/calendar/calendar.h"
#include "apps/calendar/date.h"
#include "base/buf.h"

/* Adds a line, folded between characters to at most 75 bytes (3.1). */
static void add_line(struct buf *out, const char *name, struct str value)
{
    enum { LINE_MAX = 75 };
    struct buf line = {0};
    buf_add(&line, str_from_c(name));
    buf_add(&line, value);
    size_t room = LINE_MAX;
    size_t at = 0;
    while (at < line.len) {
        size_t end = MIN(at + room, line.len);
        while (end < line.len && ((unsigned char)line.data[end] & 0xC0) == 0x80) {
            end--;
        }
        if (at > 0) {
            buf_add_char(out, ' ');
        }
        buf_add(out, str_make(line.data + at, end - at));
        buf_add(out, STR("\r\n"));
        at = end;
        room = LINE_MAX - 1; /* continued lines begin with a space */
    }
    buf_finish(&line);
}

/* Adds a text: escapes special characters (3.3.11) and omits control characters. */
static void add_text(struct buf *out, const char *name, const char *text)
{
    struct buf escaped = {0};
    for (; *text != '\0'; text++) {
        if (*text == '\\' || *text == ';' || *text == ',') {
            buf_add_char(&escaped, '\\');
            buf_add_char(&escaped, *text);
        } else if (*text == '\n') {
            buf_add(&escaped, STR("\\n"));
        } else if ((unsigned char)*text >= 0x20 && *text != 0x7F) {
            buf_add_char(&escaped, *text);
        }
    }
    add_line(out, name, buf_str(&escaped));
    buf_finish(&escaped);
}

void calendar_ical_begin(struct buf *out)
{
    buf_add(out, STR("BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//Gramme//Calendar//EN\r\n"
                     "CALSCALE:GREGORIAN\r\nX-WR-CALNAME:House\r\n"
                     "REFRESH-INTERVAL;VALUE=DURATION:PT15M\r\n"));
}

static void add_date(struct buf *out, const char *name, int day)
{
    char text[DATE_SIZE];
    date_format(text, day); /* 2026-11-20 becomes 20261120 */
    buf_format(out, "%s%.4s%.2s%.2s\r\n", name, text, text + 5, text + 8);
}

void calendar_ical_add(struct buf *out, const struct event *event, int64_t now_us)
{
    time_t seconds = (time_t)(now_us / 1000000);
    struct tm tm;
    char stamp[32];
    gmtime_r(&seconds, &tm);
    strftime(stamp, sizeof(stamp), "%Y%m%dT%H%M%SZ", &tm);
    buf_format(out, "BEGIN:VEVENT\r\nUID:%s@gramme\r\nDTSTAMP:%s\r\nSEQUENCE:%lld\r\n", event->id,
               stamp, (long long)event->version);
    add_date(out, "DTSTART;VALUE=DATE:", event->start);
    add_date(out, "DTEND;VALUE=DATE:", event->end);
    add_text(out, "SUMMARY:", event->title);
    buf_add(out, STR("TRANSP:OPAQUE\r\nEND:VEVENT\r\n"));
}

void calendar_ical_end(struct buf *out)
{
    buf_add(out, STR("END:VCALENDAR\r\n"));
}
