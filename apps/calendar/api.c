/* The REST API of the calendar; openapi.json describes it. The router (apps/common/router.c) calls
 * the handlers on worker threads, where they wait for the database. */
#include <stdio.h>

#include "apps/calendar/calendar.h"
#include "apps/calendar/date.h"
#include "apps/common/files.h"
#include "base/base.h"
#include "base/buf.h"
#include "base/clock.h"

/* --- requests --- */

static bool check_date(struct app_request *request, const char *name, const char *text, int *out)
{
    if (date_parse(text, out)) {
        return true;
    }
    answer_bad_field(request, name, "%s must be a date YYYY-MM-DD of the years 1900 to 2999", name);
    return false;
}

/* Reads title, start and end from the body. False: 400 has been answered. */
static bool read_event(struct app_request *request, const char *const *fields, struct event *out)
{
    *out = (struct event){0};
    const struct gramme_value *body = request_body(request, fields);
    const char *title =
        body == NULL ? NULL : request_text(request, body, "title", CALENDAR_TITLE_MAX);
    if (title == NULL ||
        !check_date(request, "start", gramme_get_string(body, "start"), &out->start) ||
        !check_date(request, "end", gramme_get_string(body, "end"), &out->end)) {
        return false;
    }
    if (out->end <= out->start) {
        answer_bad_field(request, "end", "end must be after start");
        return false;
    }
    strcpy(out->title, title);
    return true;
}

/* --- answers --- */

static void set_date(struct gramme_value *map, const char *name, int day)
{
    char text[DATE_SIZE];
    date_format(text, day);
    gramme_set_string(map, name, text);
}

/* Returns whether the user may change the event: its owner and admins; everybody if it has no
 * owner. */
static bool may_change(const struct identity *who, const struct event *event)
{
    return event->owner[0] == '\0' || identity_is(who, event->owner);
}

static void show_event(const struct identity *who, const struct event *event,
                       struct gramme_value *out)
{
    gramme_set_string(out, "id", event->id);
    gramme_set_string(out, "title", event->title);
    set_date(out, "start", event->start);
    set_date(out, "end", event->end);
    gramme_set_int(out, "version", event->version);
    if (event->owner[0] != '\0') {
        gramme_set_string(out, "owner", event->owner);
    }
    gramme_set_bool(out, "mayChange", may_change(who, event));
}

static void show_item(const struct identity *who, const struct gramme_value *item,
                      struct gramme_value *out)
{
    struct event event;
    if (calendar_read(item, &event)) {
        show_event(who, &event, out);
    }
}

static void answer_event(struct app_request *request, int status, const struct event *event)
{
    struct gramme_value *body = gramme_map_create();
    show_event(request_identity(request), event, body);
    answer_version(request, event->version);
    answer_value(request, status, body);
    gramme_value_destroy(body);
}

/* Writes a message: "Dana has the night of 2026-11-20", "Dana has 3 of these nights, from
 * 2026-11-20 on". */
static void format_clash(char *out, size_t size, const struct clash *clash)
{
    char night[DATE_SIZE];
    date_format(night, clash->nights[0]);
    const char *title = clash->events[0].title;
    const char *who = clash->events[0].id[0] == '\0' ? "Another event" : title;
    bool is_shared = false;
    for (size_t i = 1; i < clash->night_count; i++) {
        is_shared |= strcmp(clash->events[i].id, clash->events[0].id) != 0;
    }
    if (clash->night_count == 1) {
        snprintf(out, size, "%s has the night of %s", who, night);
    } else {
        snprintf(out, size, "%s%s has %zu of these nights, from %s on", who,
                 is_shared ? " with others" : "", clash->night_count, night);
    }
}

static void answer_clash(struct app_request *request, struct clash *clash)
{
    struct gramme_error *error = NULL;
    calendar_name_clash(request_db(request), clash, &error); /* it may name no events */
    gramme_error_destroy(error);
    struct gramme_value *details = gramme_map_create();
    struct gramme_value *nights = gramme_set_list(details, "nights");
    struct gramme_value *taken = gramme_set_list(details, "taken");
    for (size_t i = 0; i < clash->night_count; i++) {
        char text[DATE_SIZE];
        date_format(text, clash->nights[i]);
        gramme_add_string(nights, text);
        if (clash->events[i].id[0] != '\0') {
            struct gramme_value *entry = gramme_add_map(taken);
            gramme_set_string(entry, "night", text);
            gramme_set_string(entry, "eventId", clash->events[i].id);
            gramme_set_string(entry, "title", clash->events[i].title);
        }
    }
    char message[CALENDAR_TITLE_MAX * 4 + 100];
    format_clash(message, sizeof(message), clash);
    answer_problem_details(request, 409, "overlap", details, message);
    gramme_value_destroy(details);
}

static void answer_too_many(struct app_request *request, const struct event *event)
{
    if (event->end - event->start > CALENDAR_NIGHTS_MAX) {
        answer_problem(request, 422, "too_long", "An event can have at most %d nights, this has %d",
                       CALENDAR_NIGHTS_MAX, event->end - event->start);
    } else {
        answer_problem(request, 422, "too_many_changes",
                       "At most %d nights can be taken and freed at once: move it in two steps",
                       CALENDAR_NIGHTS_MAX);
    }
}

/* Answers with `event` if `result` is a success, else with an error: then `event` is the requested
 * one. Destroys `error`. */
static void answer_result(struct app_request *request, enum calendar_result result,
                          const struct event *event, struct clash *clash,
                          struct gramme_error *error)
{
    switch (result) {
    case CALENDAR_OK:
    case CALENDAR_THE_SAME:
        answer_event(request, 200, event);
        break;
    case CALENDAR_ID_TAKEN:
        answer_problem(request, 409, "event_exists", "There is another event with this id");
        break;
    case CALENDAR_OVERLAP:
        answer_clash(request, clash);
        break;
    case CALENDAR_TOO_MANY:
        answer_too_many(request, event);
        break;
    case CALENDAR_NOT_FOUND:
        answer_problem(request, 404, "not_found", "There is no such event");
        break;
    case CALENDAR_STALE:
        answer_problem(request, 412, "version_mismatch",
                       "The event has changed since you saw it: read it again");
        break;
    case CALENDAR_FAILED:
        answer_error(request, error);
        break;
    }
    gramme_error_destroy(error);
}

/* --- handlers --- */

static void list_events(struct app_request *request)
{
    enum { RANGE_DAYS_MAX = 366 };
    int from;
    int to;
    struct page page;
    if (!check_date(request, "from", request_query(request, "from"), &from) ||
        !check_date(request, "to", request_query(request, "to"), &to) ||
        !request_page(request, &page)) {
        return;
    }
    if (to <= from || to - from > RANGE_DAYS_MAX) {
        answer_bad_field(request, "to", "to must be 1 to %d days after from", RANGE_DAYS_MAX);
        return;
    }
    struct gramme_error *error = NULL;
    struct gramme_answer *answer =
        calendar_list_events(request_db(request), from, to, &page, &error);
    if (answer == NULL) {
        answer_error(request, error);
        gramme_error_destroy(error);
        return;
    }
    answer_page(request, answer, show_item);
    gramme_answer_destroy(answer);
}

static void get_event(struct app_request *request)
{
    const char *id = request_param_id(request, "id", request_is_uuid, "event");
    if (id == NULL) {
        return;
    }
    struct event event;
    struct gramme_error *error = NULL;
    enum calendar_result result = calendar_get_event(request_db(request), id, &event, &error);
    answer_result(request, result, &event, NULL, error);
}

#define CREATE_FIELDS FIELDS("id", "title", "start", "end")

/* Reads the optional id of a new event, or makes one. False: 400 has been answered. */
static bool choose_id(struct app_request *request, struct event *out)
{
    const struct gramme_value *given = gramme_get(request_body(request, CREATE_FIELDS), "id");
    const char *id = gramme_value_string(given);
    if (given == NULL) {
        gramme_uuid(out->id);
        return true;
    }
    if (id == NULL || !request_is_uuid(id)) {
        answer_bad_field(request, "id", "id must be a UUID in lower case");
        return false;
    }
    strcpy(out->id, id);
    return true;
}

static void create_event(struct app_request *request)
{
    struct event event;
    if (!read_event(request, CREATE_FIELDS, &event) || !choose_id(request, &event)) {
        return;
    }
    strcpy(event.owner, request_identity(request)->id);
    struct gramme_error *error = NULL;
    struct clash clash;
    enum calendar_result result =
        calendar_create_event(request_db(request), &event, &event, &clash, &error);
    if (result != CALENDAR_OK) {
        answer_result(request, result, &event, &clash, error);
        return;
    }
    answer_header(request, "Location", "/calendar/api/events/%s", event.id);
    answer_event(request, 201, &event);
}

/* Reads the event in the path, if it has the version in If-Match and the signed-in user may change
 * it. False: an error has been answered. */
static bool find_seen(struct app_request *request, struct event *out)
{
    int64_t version;
    const char *id = request_param_id(request, "id", request_is_uuid, "event");
    if (id == NULL || !request_version(request, &version)) {
        return false;
    }
    struct gramme_error *error = NULL;
    enum calendar_result result = calendar_get_event(request_db(request), id, out, &error);
    if (result == CALENDAR_OK && !may_change(request_identity(request), out)) {
        answer_problem(request, 403, "not_allowed", "Only %s or an administrator may change this",
                       out->owner);
        return false;
    }
    if (result == CALENDAR_OK && out->version == version) {
        return true;
    }
    answer_result(request, result == CALENDAR_OK ? CALENDAR_STALE : result, out, NULL, error);
    return false;
}

static void update_event(struct app_request *request)
{
    struct event seen;
    struct event event;
    if (!read_event(request, FIELDS("title", "start", "end"), &event) ||
        !find_seen(request, &seen)) {
        return;
    }
    struct gramme_error *error = NULL;
    struct clash clash;
    enum calendar_result result =
        calendar_update_event(request_db(request), &seen, &event, &event, &clash, &error);
    answer_result(request, result, &event, &clash, error);
}

static void delete_event(struct app_request *request)
{
    struct event seen;
    if (!find_seen(request, &seen)) {
        return;
    }
    struct gramme_error *error = NULL;
    enum calendar_result result = calendar_delete_event(request_db(request), &seen, &error);
    if (result == CALENDAR_OK) {
        answer_nothing(request);
    } else {
        answer_result(request, result, &seen, NULL, error);
    }
}

static void get_settings(struct app_request *request)
{
    struct gramme_value *body = gramme_map_create();
    gramme_set_int(body, "nightsMax", CALENDAR_NIGHTS_MAX);
    gramme_set_int(body, "titleMax", CALENDAR_TITLE_MAX);
    answer_value(request, 200, body);
    gramme_value_destroy(body);
}

/* --- the feed for calendar programs --- */

/* Calendar programs cannot sign in, so the URL contains a signed token of the user. */
static void get_feed_address(struct app_request *request)
{
    struct gramme_value *body = gramme_map_create();
    gramme_set_format(body, "url", "/calendar/feed.ics?token=%s",
                      request_token_make(request, "feed", request_identity(request)->id));
    answer_value(request, 200, body);
    gramme_value_destroy(body);
}

/* Adds the events from a quarter before today to two years after it. False: the database failed. */
static bool add_events(struct gramme_db *db, struct buf *out, struct gramme_error **error)
{
    enum { DAYS_BEFORE = 90, DAYS_AFTER = 730 };
    int64_t now = clock_wall_us();
    int today = (int)(now / (INT64_C(86400) * 1000000));
    char *cursor = NULL;
    do {
        struct page page = {.limit = 100, .cursor = cursor};
        struct gramme_answer *answer =
            calendar_list_events(db, today - DAYS_BEFORE, today + DAYS_AFTER, &page, error);
        gramme_free(cursor);
        if (answer == NULL) {
            return false;
        }
        const struct gramme_value *items = gramme_answer_items(answer);
        for (size_t i = 0; i < gramme_value_count(items); i++) {
            struct event event;
            if (calendar_read(gramme_value_at(items, i), &event)) {
                calendar_ical_add(out, &event, now);
            }
        }
        cursor = gramme_answer_cursor(answer);
        gramme_answer_destroy(answer);
    } while (cursor != NULL);
    return true;
}

static void get_feed(struct app_request *request)
{
    const char *token = request_query(request, "token");
    bool is_known = token != NULL ? request_token_read(request, "feed", token) != NULL
                                  : request_identity(request) != NULL;
    if (!is_known) {
        answer_problem(request, 401, "bad_token", "This address is not valid: get a new one");
        return;
    }
    struct buf out = {0};
    struct gramme_error *error = NULL;
    calendar_ical_begin(&out);
    if (add_events(request_db(request), &out, &error)) {
        calendar_ical_end(&out);
        buf_add_char(&out, '\0');
        answer_header(request, "Cache-Control", "private, max-age=300");
        answer_text(request, "text/calendar; charset=utf-8", out.data);
    } else {
        answer_error(request, error);
    }
    gramme_error_destroy(error);
    buf_finish(&out);
}

static const struct app_route routes[] = {
    {"GET", "/events?from&to&limit&cursor", list_events},
    {"POST", "/events", create_event},
    {"GET", "/events/{id}", get_event},
    {"PUT", "/events/{id}", update_event},
    {"DELETE", "/events/{id}", delete_event},
    {"GET", "/settings", get_settings},
    {"GET", "/feed", get_feed_address},
};
static const struct app_route beside_pages[] = {{"GET", "/feed.ics?token", get_feed}};

/* --- live updates --- */

/* Changes of nights are not sent. */
static const char *live_type(const struct gramme_value *item)
{
    struct event event;
    return calendar_read(item, &event) ? "event" : NULL;
}

static bool live_may_see(const struct identity *who, const struct gramme_value *item)
{
    (void)who;
    (void)item;
    return true;
}

static const struct app_live live = {
    .table = "cal-app-sam",
    .type = live_type,
    .may_see = live_may_see,
    .show = show_item,
};

const struct app_definition calendar_app = {
    .name = "calendar",
    .files = &calendar_files,
    .routes = routes,
    .route_count = COUNT_OF(routes),
    .page_routes = beside_pages,
    .page_route_count = COUNT_OF(beside_pages),
    .live = &live,
    .load_samples = calendar_load_samples,
};
