/* The REST API of the calendar; openapi.json describes it. */
#include "apps/calendar/calendar.h"
#include "apps/calendar/date.h"
#include "base/base.h"

/* --- what comes in --- */

/* A UUID in lower case. */
static bool id_is_valid(const char *text)
{
    static const char shape[] = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
    if (strlen(text) != CALENDAR_ID_LEN) {
        return false;
    }
    for (size_t i = 0; i < CALENDAR_ID_LEN; i++) {
        bool fits = shape[i] == 'x' ? strchr("0123456789abcdef", text[i]) != NULL : text[i] == '-';
        if (!fits) {
            return false;
        }
    }
    return true;
}

/* The id that the path names. NULL: there cannot be such an event, and 404 has been answered. */
static const char *param_id(struct app_request *request)
{
    const char *id = request_param(request, "id");
    if (id_is_valid(id)) {
        return id;
    }
    answer_problem(request, 404, "not_found", "There is no such event");
    return NULL;
}

static bool check_date(struct app_request *request, const char *name, const char *text, int *out)
{
    if (date_parse(text, out)) {
        return true;
    }
    answer_problem(request, 400, "bad_parameter",
                   "%s must be a date YYYY-MM-DD of the years 1900 to 2999", name);
    return false;
}

/* Title, start and end of the body; else 400 has been answered. */
static bool read_event(struct app_request *request, struct event *out)
{
    const struct gramme_value *body = request_body(request);
    const char *title =
        body == NULL ? NULL : request_text(request, body, "title", CALENDAR_TITLE_MAX);
    if (title == NULL ||
        !check_date(request, "start", gramme_get_string(body, "start"), &out->start) ||
        !check_date(request, "end", gramme_get_string(body, "end"), &out->end)) {
        return false;
    }
    if (out->end <= out->start) {
        answer_problem(request, 400, "bad_parameter", "end must be after start");
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

static void show_event(const struct event *event, struct gramme_value *out)
{
    gramme_set_string(out, "id", event->id);
    gramme_set_string(out, "title", event->title);
    set_date(out, "start", event->start);
    set_date(out, "end", event->end);
    gramme_set_int(out, "version", event->version);
}

static void show_item(const struct gramme_value *item, struct gramme_value *out)
{
    struct event event;
    if (calendar_read(item, &event)) {
        show_event(&event, out);
    }
}

static void answer_event(struct app_request *request, int status, const struct event *event)
{
    struct gramme_value *body = gramme_map_create();
    show_event(event, body);
    answer_version(request, event->version);
    answer_value(request, status, body);
    gramme_value_destroy(body);
}

static void answer_clash(struct app_request *request, const struct clash *clash)
{
    struct gramme_value *details = gramme_map_create();
    struct gramme_value *nights = gramme_set_list(details, "nights");
    for (size_t i = 0; i < clash->night_count; i++) {
        char text[DATE_SIZE];
        date_format(text, clash->nights[i]);
        gramme_add_string(nights, text);
    }
    answer_problem_details(request, 409, "overlap", details,
                           clash->night_count == 1 ? "Another event has this night"
                                                   : "Other events have these nights");
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

/* What a function of calendar.h returned; `event` is the one that it wrote or found, or, when it
 * did not, was asked for. Ends the error. */
static void answer_result(struct app_request *request, enum calendar_result result,
                          const struct event *event, const struct clash *clash,
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
        answer_problem(request, 400, "bad_parameter", "to must be 1 to %d days after from",
                       RANGE_DAYS_MAX);
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
    const char *id = param_id(request);
    if (id == NULL) {
        return;
    }
    struct event event;
    struct gramme_error *error = NULL;
    enum calendar_result result = calendar_get_event(request_db(request), id, &event, &error);
    answer_result(request, result, &event, NULL, error);
}

/* The id that the body asks for, or a new one. */
static bool choose_id(struct app_request *request, struct event *out)
{
    const struct gramme_value *given = gramme_get(request_body(request), "id");
    const char *id = gramme_value_string(given);
    if (given == NULL) {
        gramme_uuid(out->id);
        return true;
    }
    if (id == NULL || !id_is_valid(id)) {
        answer_problem(request, 400, "bad_parameter", "id must be a UUID in lower case");
        return false;
    }
    strcpy(out->id, id);
    return true;
}

static void create_event(struct app_request *request)
{
    struct event event;
    if (!read_event(request, &event) || !choose_id(request, &event)) {
        return;
    }
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

/* The event that the path names, in the version that If-Match names; else something has been
 * answered. */
static bool find_seen(struct app_request *request, struct event *out)
{
    int64_t version;
    const char *id = param_id(request);
    if (id == NULL || !request_version(request, &version)) {
        return false;
    }
    struct gramme_error *error = NULL;
    enum calendar_result result = calendar_get_event(request_db(request), id, out, &error);
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
    if (!read_event(request, &event) || !find_seen(request, &seen)) {
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

static const struct app_route routes[] = {
    {"GET", "/events", list_events},          {"POST", "/events", create_event},
    {"GET", "/events/{id}", get_event},       {"PUT", "/events/{id}", update_event},
    {"DELETE", "/events/{id}", delete_event},
};

extern const char calendar_schema[]; /* made of schema.json by the build */
static const char *const schemas[] = {calendar_schema, NULL};

const struct app_definition calendar_app = {
    .name = "calendar",
    .schemas = schemas,
    .routes = routes,
    .route_count = COUNT_OF(routes),
    .load_samples = calendar_load_samples,
};
