/* apps/calendar/calendar.h: events of whole nights that never overlap, as the document "DynamoDB
 * data model for cal-app-sam" has them. Table cal-app-sam:
 *
 *     PK EVENT, SK the event's id     startDate, endDate (exclusive), title, version, and ownerId
 *                                     if a user of the application made it
 *     PK SLOT,  SK a night's date     eventId: the event that has the night
 *
 * An event and its nights are written in one transaction, so a night is taken by one event or by
 * none. A transaction has at most 100 actions, one of them for the event: so an event has at most
 * 99 nights, and an update may take and free at most 99. */
#ifndef GRAMME_APPS_CALENDAR_H
#define GRAMME_APPS_CALENDAR_H

#include "apps/common/app.h"
#include "apps/common/page.h"

extern const struct app_definition calendar_app;

#define CALENDAR_ID_LEN     36  /* a UUID */
#define CALENDAR_TITLE_MAX  200 /* characters */
#define CALENDAR_NIGHTS_MAX 99

struct event {
    char id[CALENDAR_ID_LEN + 1];
    char title[CALENDAR_TITLE_MAX * 4 + 1];
    int start; /* the first night; see date.h */
    int end;   /* the day after the last */
    int64_t version;
    /* the id of the user who made it; "": another program did */
    char owner[IDENTITY_ID_LEN_MAX + 1];
};

/* Nights that other events have. */
struct clash {
    int nights[CALENDAR_NIGHTS_MAX];
    size_t night_count;
    /* The event that has each night, set by calendar_name_clash(); until then the id is "". */
    struct event events[CALENDAR_NIGHTS_MAX];
};

enum calendar_result {
    CALENDAR_OK,
    CALENDAR_THE_SAME,  /* create: the same event was created before; *out is it */
    CALENDAR_ID_TAKEN,  /* create: another event has this id */
    CALENDAR_OVERLAP,   /* *clash has the nights */
    CALENDAR_TOO_MANY,  /* the change needs more actions than a transaction may have */
    CALENDAR_NOT_FOUND, /* *out is unchanged here and below */
    CALENDAR_STALE,     /* the event has changed since it was read */
    CALENDAR_FAILED,    /* the database failed: *error */
};

/* Converts an item to an event. False: it is not an event, or not a valid one. */
bool calendar_read(const struct gramme_value *item, struct event *out);

/* Returns a page of the events with a night from `from` to before `to`, by their start. Also reads
 * events that began before `from`, as far back as the longest event reaches. The caller destroys
 * the answer; NULL: the database failed. request_page() has checked the page's cursor. */
struct gramme_answer *calendar_list_events(struct gramme_db *db, int from, int to,
                                           const struct page *page, struct gramme_error **error);
/* Finds the events that have the nights of a clash. False: the database failed, no event is set. */
bool calendar_name_clash(struct gramme_db *db, struct clash *clash, struct gramme_error **error);
/* Reads an event by its id: CALENDAR_OK, NOT_FOUND or FAILED. */
enum calendar_result calendar_get_event(struct gramme_db *db, const char *id, struct event *out,
                                        struct gramme_error **error);
/* Creates an event. Its version becomes 1, whatever `event` has. */
enum calendar_result calendar_create_event(struct gramme_db *db, const struct event *event,
                                           struct event *out, struct clash *clash,
                                           struct gramme_error **error);
/* Changes an event to the title and nights of `event`, and increments its version. `seen` is the
 * event as it was read. */
enum calendar_result calendar_update_event(struct gramme_db *db, const struct event *seen,
                                           const struct event *event, struct event *out,
                                           struct clash *clash, struct gramme_error **error);
/* Deletes an event and frees its nights; `seen` is the event as it was read. Returns CALENDAR_OK,
 * NOT_FOUND, STALE or FAILED.
 * */
enum calendar_result calendar_delete_event(struct gramme_db *db, const struct event *seen,
                                           struct gramme_error **error);

/* --- ical.c: events as iCalendar (RFC 5545) --- */

struct buf;
/* Adds the beginning of a calendar. */
void calendar_ical_begin(struct buf *out);
/* Adds an event; `now_us` becomes its DTSTAMP. */
void calendar_ical_add(struct buf *out, const struct event *event, int64_t now_us);
/* Adds the end of the calendar. */
void calendar_ical_end(struct buf *out);

/* samples.c: a few stays around today. False: the database failed. */
bool calendar_load_samples(struct gramme_db *db, struct gramme_error **error);

#endif
