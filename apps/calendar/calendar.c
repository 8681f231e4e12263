/* The data layer of the calendar: one function per access pattern of its document. Called by api.c
 * on worker threads. */
#include "apps/calendar/calendar.h"

#include <stdio.h>
#include <string.h>

#include "apps/calendar/date.h"
#include "apps/common/write.h"
#include "base/base.h"

#define TABLE "cal-app-sam"

/* --- items --- */

bool calendar_read(const struct gramme_value *item, struct event *out)
{
    struct event event = {.version = gramme_get_int(item, "version", 0)};
    const char *id = gramme_get_string(item, "SK");
    const char *title = gramme_get_string(item, "title");
    if (id == NULL || strlen(id) >= sizeof(event.id) || title == NULL ||
        strlen(title) >= sizeof(event.title) ||
        !date_parse(gramme_get_string(item, "startDate"), &event.start) ||
        !date_parse(gramme_get_string(item, "endDate"), &event.end)) {
        return false;
    }
    strcpy(event.id, id);
    strcpy(event.title, title);
    const char *owner = gramme_get_string(item, "ownerId");
    snprintf(event.owner, sizeof(event.owner), "%s", owner == NULL ? "" : owner);
    *out = event;
    return true;
}

static void set_date(struct gramme_value *map, const char *name, int day)
{
    char text[DATE_SIZE];
    date_format(text, day);
    gramme_set_string(map, name, text);
}

static void set_event_key(struct gramme_value *key, const char *id)
{
    gramme_set_string(key, "PK", "EVENT");
    gramme_set_string(key, "SK", id);
}

static void set_slot_key(struct gramme_value *key, int night)
{
    gramme_set_string(key, "PK", "SLOT");
    set_date(key, "SK", night);
}

/* --- transactions: the event first, then its nights --- */

static void take_night(struct gramme_request *write, const char *id, int night)
{
    struct gramme_request *put = gramme_transact_put(write, TABLE);
    set_slot_key(gramme_request_item(put), night);
    gramme_set_string(gramme_request_item(put), "eventId", id);
    gramme_request_condition(put, "attribute_not_exists(PK)");
}

static void free_night(struct gramme_request *write, int night)
{
    set_slot_key(gramme_request_key(gramme_transact_delete(write, TABLE)), night);
}

/* Adds the condition that the event exists with the version that was read. */
static void require_seen(struct gramme_request *change, const struct event *seen)
{
    gramme_request_condition(change, "version = :seen");
    gramme_set_int(gramme_request_values(change), ":seen", seen->version);
}

/* Reads the nights whose condition failed. `nights`: those of the transaction in their order; the
 * event is before them. */
static enum calendar_result read_clash(const struct gramme_error *error, const int *nights,
                                       size_t night_count, struct clash *clash)
{
    clash->night_count = 0;
    for (size_t i = 0; i < night_count; i++) {
        if (gramme_error_reason_is(error, 1 + i, GRAMME_REASON_CONDITION_FAILED)) {
            clash->nights[clash->night_count++] = nights[i];
        }
    }
    return clash->night_count > 0 ? CALENDAR_OVERLAP : CALENDAR_FAILED;
}

/* Sends a transaction and destroys it. */
static bool send(struct gramme_db *db, struct gramme_request *write, struct gramme_error **error)
{
    bool written = write_run(db, write, error);
    gramme_request_destroy(write);
    return written;
}

/* --- the access patterns --- */

struct gramme_answer *calendar_list_events(struct gramme_db *db, int from, int to,
                                           const struct page *page, struct gramme_error **error)
{
    struct gramme_request *query = gramme_request_create("Query", TABLE);
    gramme_request_index(query, "startDateIndex");
    gramme_request_key_condition(query, "PK = :event AND startDate BETWEEN :first AND :last");
    /* Removes events that ended before. `:first`: an event that starts earlier has ended by then.
     */
    gramme_request_filter(query, "endDate > :from");
    struct gramme_value *values = gramme_request_values(query);
    gramme_set_string(values, ":event", "EVENT");
    set_date(values, ":first", from - (CALENDAR_NIGHTS_MAX - 1));
    set_date(values, ":last", to - 1);
    set_date(values, ":from", from);
    gramme_request_consistent(query);
    bool fits = page_apply(page, query);
    assert(fits); /* checked by request_page() */
    struct gramme_answer *answer = gramme_send(db, query, error);
    gramme_request_destroy(query);
    return answer;
}

/* Enters an event at the nights of the clash that it has. */
static void name_nights(struct clash *clash, const struct event *event)
{
    for (size_t i = 0; i < clash->night_count; i++) {
        if (clash->nights[i] >= event->start && clash->nights[i] < event->end) {
            clash->events[i] = *event;
        }
    }
}

bool calendar_name_clash(struct gramme_db *db, struct clash *clash, struct gramme_error **error)
{
    int first = clash->nights[0];
    int last = clash->nights[0];
    for (size_t i = 0; i < clash->night_count; i++) {
        first = MIN(first, clash->nights[i]);
        last = MAX(last, clash->nights[i]);
        clash->events[i].id[0] = '\0';
    }
    char *cursor = NULL;
    do {
        struct page page = {.limit = 100, .cursor = cursor};
        struct gramme_answer *answer = calendar_list_events(db, first, last + 1, &page, error);
        gramme_free(cursor);
        if (answer == NULL) {
            return false;
        }
        const struct gramme_value *items = gramme_answer_items(answer);
        for (size_t i = 0; i < gramme_value_count(items); i++) {
            struct event event;
            if (calendar_read(gramme_value_at(items, i), &event)) {
                name_nights(clash, &event);
            }
        }
        cursor = gramme_answer_cursor(answer);
        gramme_answer_destroy(answer);
    } while (cursor != NULL);
    return true;
}

enum calendar_result calendar_get_event(struct gramme_db *db, const char *id, struct event *out,
                                        struct gramme_error **error)
{
    struct gramme_request *get = gramme_request_create("GetItem", TABLE);
    set_event_key(gramme_request_key(get), id);
    gramme_request_consistent(get);
    struct gramme_answer *answer = gramme_send(db, get, error);
    gramme_request_destroy(get);
    if (answer == NULL) {
        return CALENDAR_FAILED;
    }
    bool found = calendar_read(gramme_answer_item(answer), out);
    gramme_answer_destroy(answer);
    return found ? CALENDAR_OK : CALENDAR_NOT_FOUND;
}

/* An event with this id exists. CALENDAR_THE_SAME: the same request was sent before;
 * CALENDAR_ID_TAKEN: it is another event. */
static enum calendar_result compare_existing(const struct gramme_value *item,
                                             const struct event *wanted, struct event *out)
{
    struct event existing;
    bool same = calendar_read(item, &existing) && existing.version == 1 &&
                strcmp(existing.title, wanted->title) == 0 && existing.start == wanted->start &&
                existing.end == wanted->end;
    if (!same) {
        return CALENDAR_ID_TAKEN;
    }
    *out = existing;
    return CALENDAR_THE_SAME;
}

enum calendar_result calendar_create_event(struct gramme_db *db, const struct event *event,
                                           struct event *out, struct clash *clash,
                                           struct gramme_error **error)
{
    if (event->end - event->start > CALENDAR_NIGHTS_MAX) {
        return CALENDAR_TOO_MANY;
    }
    struct gramme_request *write = gramme_request_create("TransactWriteItems", NULL);
    struct gramme_request *put = gramme_transact_put(write, TABLE);
    struct gramme_value *item = gramme_request_item(put);
    set_event_key(item, event->id);
    gramme_set_string(item, "title", event->title);
    set_date(item, "startDate", event->start);
    set_date(item, "endDate", event->end);
    gramme_set_int(item, "version", 1);
    if (event->owner[0] != '\0') {
        gramme_set_string(item, "ownerId", event->owner);
    }
    gramme_request_condition(put, "attribute_not_exists(PK)");
    gramme_request_return_on_failure(put);
    int nights[CALENDAR_NIGHTS_MAX];
    size_t night_count = 0;
    for (int night = event->start; night < event->end; night++) {
        take_night(write, event->id, night);
        nights[night_count++] = night;
    }
    if (send(db, write, error)) {
        *out = *event;
        out->version = 1;
        return CALENDAR_OK;
    }
    if (gramme_error_reason_is(*error, 0, GRAMME_REASON_CONDITION_FAILED)) {
        return compare_existing(gramme_error_reason_item(*error, 0), event, out);
    }
    return read_clash(*error, nights, night_count, clash);
}

static bool has_night(const struct event *event, int night)
{
    return night >= event->start && night < event->end;
}

/* Returns how many nights an update takes and frees. */
static int count_changes(const struct event *seen, const struct event *event)
{
    int first = MAX(seen->start, event->start);
    int last = MIN(seen->end, event->end);
    int kept = MAX(last - first, 0);
    return (seen->end - seen->start) + (event->end - event->start) - 2 * kept;
}

enum calendar_result calendar_update_event(struct gramme_db *db, const struct event *seen,
                                           const struct event *event, struct event *out,
                                           struct clash *clash, struct gramme_error **error)
{
    if (event->end - event->start > CALENDAR_NIGHTS_MAX ||
        count_changes(seen, event) > CALENDAR_NIGHTS_MAX) {
        return CALENDAR_TOO_MANY;
    }
    struct gramme_request *write = gramme_request_create("TransactWriteItems", NULL);
    struct gramme_request *update = gramme_transact_update(write, TABLE);
    set_event_key(gramme_request_key(update), seen->id);
    gramme_request_update(update, "SET title = :title, startDate = :start, endDate = :end, "
                                  "version = :version");
    struct gramme_value *values = gramme_request_values(update);
    gramme_set_string(values, ":title", event->title);
    set_date(values, ":start", event->start);
    set_date(values, ":end", event->end);
    gramme_set_int(values, ":version", seen->version + 1);
    require_seen(update, seen);
    int taken[CALENDAR_NIGHTS_MAX];
    size_t taken_count = 0;
    for (int night = event->start; night < event->end; night++) {
        if (!has_night(seen, night)) {
            take_night(write, seen->id, night);
            taken[taken_count++] = night;
        }
    }
    for (int night = seen->start; night < seen->end; night++) {
        if (!has_night(event, night)) {
            free_night(write, night);
        }
    }
    if (send(db, write, error)) {
        *out = *event;
        strcpy(out->id, seen->id);
        strcpy(out->owner, seen->owner);
        out->version = seen->version + 1;
        return CALENDAR_OK;
    }
    if (gramme_error_reason_is(*error, 0, GRAMME_REASON_CONDITION_FAILED)) {
        return CALENDAR_STALE;
    }
    return read_clash(*error, taken, taken_count, clash);
}

enum calendar_result calendar_delete_event(struct gramme_db *db, const struct event *seen,
                                           struct gramme_error **error)
{
    if (seen->end - seen->start > CALENDAR_NIGHTS_MAX) { /* another program wrote it */
        return CALENDAR_TOO_MANY;
    }
    struct gramme_request *write = gramme_request_create("TransactWriteItems", NULL);
    struct gramme_request *gone = gramme_transact_delete(write, TABLE);
    set_event_key(gramme_request_key(gone), seen->id);
    require_seen(gone, seen);
    for (int night = seen->start; night < seen->end; night++) {
        free_night(write, night);
    }
    if (send(db, write, error)) {
        return CALENDAR_OK;
    }
    return gramme_error_reason_is(*error, 0, GRAMME_REASON_CONDITION_FAILED) ? CALENDAR_STALE
                                                                             : CALENDAR_FAILED;
}
