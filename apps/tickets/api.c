/* The REST API of the tickets; openapi.json describes it. The router (apps/common/router.c) calls
 * the handlers on worker threads, where they wait for the database. */
#include "apps/tickets/tickets.h"

#include <string.h>

#include "apps/common/files.h"

enum { CALLER_LEN_MAX = IDENTITY_ID_LEN_MAX, ISSUE_LEN_MAX = 4000, COMMENT_LEN_MAX = 4000 };

static void answer_not_found(struct app_request *request)
{
    answer_problem(request, 404, "not_found", "There is no such ticket");
}

/* --- answers --- */

/* Sets the title: the first line of the description, at most 80 characters. */
static void set_title(struct gramme_value *out, const char *description)
{
    enum { TITLE_LEN_MAX = 80 };
    description += strspn(description, " \t\r\n");
    size_t len = 0;
    size_t characters = 0;
    while (description[len] != '\0' && description[len] != '\n' && description[len] != '\r' &&
           characters < TITLE_LEN_MAX) {
        len++;
        while ((description[len] & 0xC0) == 0x80) { /* the rest of a character in UTF-8 */
            len++;
        }
        characters++;
    }
    gramme_set_format(out, "title", "%.*s%s", (int)len, description,
                      characters == TITLE_LEN_MAX && description[len] != '\0' ? "..." : "");
}

static void add_history(struct gramme_value *history, const char *status,
                        const struct gramme_value *at, const struct gramme_value *by)
{
    struct gramme_value *entry = gramme_add_map(history);
    gramme_set_string(entry, "status", status == NULL ? "" : status);
    gramme_set_value(entry, "at", at);
    gramme_set_value(entry, "by", by);
}

/* Returns the status of the ticket when it was opened; another program may have opened it with any.
 */
static const char *first_status(const struct gramme_value *item)
{
    const struct gramme_value *changes = gramme_get(item, "history");
    if (gramme_value_count(changes) == 0) {
        return gramme_get_string(item, "status");
    }
    const char *from = gramme_get_string(gramme_value_at(changes, 0), "from");
    return from != NULL ? from : tickets_status(0);
}

/* Adds the history of the status; it begins with the status when the ticket was opened. */
static void set_history(struct gramme_value *out, const struct gramme_value *item)
{
    const struct gramme_value *changes = gramme_get(item, "history");
    struct gramme_value *history = gramme_list_create();
    add_history(history, first_status(item), gramme_get(item, "created_at"),
                gramme_get(item, "caller_id"));
    for (size_t i = 0; i < gramme_value_count(changes); i++) {
        const struct gramme_value *change = gramme_value_at(changes, i);
        add_history(history, gramme_get_string(change, "status"), gramme_get(change, "at"),
                    gramme_get(change, "by"));
    }
    gramme_set_value(out, "history", history);
    gramme_value_destroy(history);
}

static bool is_mine(const struct identity *who, const struct gramme_value *item)
{
    char key[TICKETS_CALLER_SIZE];
    const char *caller = gramme_get_string(item, "caller_id");
    tickets_user_key(who->id, key);
    return caller != NULL && strcmp(caller, key) == 0;
}

static bool may_see(const struct identity *who, const struct gramme_value *item)
{
    return identity_has(who, ROLE_AGENT) || is_mine(who, item);
}

static void show_ticket(const struct identity *who, const struct gramme_value *item,
                        struct gramme_value *out)
{
    for (size_t i = 0; i < gramme_value_count(item); i++) {
        const struct gramme_value *entry = gramme_value_at(item, i);
        gramme_set_value(out, gramme_value_name(entry), entry);
    }
    gramme_remove(out, "comment_ids");          /* clients do not need them */
    if (gramme_get(item, "comments") == NULL) { /* another program may have left it out */
        gramme_set_list(out, "comments");
    }
    const char *description = gramme_get_string(item, "issue_description");
    set_title(out, description == NULL ? "" : description);
    set_history(out, item);
    gramme_set_bool(out, "mine", is_mine(who, item));
}

static void answer_ticket(struct app_request *request, int status, const struct gramme_value *item)
{
    struct gramme_value *out = gramme_map_create();
    show_ticket(request_identity(request), item, out);
    answer_value(request, status, out);
    gramme_value_destroy(out);
}

/* --- tickets --- */

/* Sets `out` to the stored id of the caller in `field`, or of the signed-in user if `named` is
 * NULL. Only agents may name another user. False: 403 or 400 has been answered. */
static bool choose_caller(struct app_request *request, const char *field, const char *named,
                          char out[TICKETS_CALLER_SIZE])
{
    const struct identity *who = request_identity(request);
    char own[TICKETS_CALLER_SIZE];
    tickets_user_key(who->id, own);
    if (named == NULL || strcmp(named, who->id) == 0) {
        strcpy(out, own);
        return true;
    }
    if (strlen(named) >= TICKETS_CALLER_SIZE) {
        answer_bad_field(request, field, "%s must have at most %d bytes in UTF-8", field,
                         TICKETS_CALLER_SIZE - 1);
        return false;
    }
    tickets_caller_key(named, out);
    return strcmp(own, out) == 0 || request_require(request, ROLE_AGENT);
}

/* Reads an optional id from the body; *out NULL: the body has none. False: it is not a UUID, and
 * 400 has been answered. */
static bool body_uuid(struct app_request *request, const struct gramme_value *body,
                      const char *name, const char **out)
{
    *out = gramme_get_string(body, name);
    if (gramme_get(body, name) == NULL || (*out != NULL && request_is_uuid(*out))) {
        return true;
    }
    answer_bad_field(request, name, "%s must be a UUID in lower case", name);
    return false;
}

/* Reads a new ticket from the body. False: an error has been answered. */
static bool read_opening(struct app_request *request, char caller[TICKETS_CALLER_SIZE],
                         struct tickets_opening *out)
{
    const struct gramme_value *body =
        request_body(request, FIELDS("ticket_id", "caller_id", "issue_description"));
    const char *named = NULL;
    *out = (struct tickets_opening){.caller_id = caller};
    if (body == NULL || !body_uuid(request, body, "ticket_id", &out->ticket_id)) {
        return false;
    }
    out->issue_description = request_text(request, body, "issue_description", ISSUE_LEN_MAX);
    if (out->issue_description == NULL) {
        return false;
    }
    if (gramme_get(body, "caller_id") != NULL) {
        named = request_text(request, body, "caller_id", CALLER_LEN_MAX);
        if (named == NULL) {
            return false;
        }
    }
    return choose_caller(request, "caller_id", named, caller);
}

static void create_ticket(struct app_request *request)
{
    char caller[TICKETS_CALLER_SIZE];
    struct tickets_opening opening;
    if (!read_opening(request, caller, &opening)) {
        return; /* answered */
    }
    struct gramme_error *error = NULL;
    bool is_new;
    struct gramme_value *ticket =
        tickets_create_ticket(request_db(request), &opening, &is_new, &error);
    if (ticket != NULL) {
        answer_header(request, "Location", "/tickets/api/tickets/%s",
                      gramme_get_string(ticket, "ticket_id"));
        answer_ticket(request, is_new || opening.ticket_id == NULL ? 201 : 200, ticket);
    } else if (gramme_error_is(error, GRAMME_CONDITION_FAILED)) {
        answer_problem(request, 409, "ticket_exists", "There is another ticket with this id");
    } else {
        answer_error(request, error);
    }
    gramme_value_destroy(ticket);
    gramme_error_destroy(error);
}

/* Reads the ticket in the path, if the signed-in user may see it; the caller destroys the answer.
 * NULL: an error has been answered. */
static struct gramme_answer *find_ticket(struct app_request *request)
{
    const char *id = request_param_id(request, "ticket_id", request_is_uuid, "ticket");
    if (id == NULL) {
        return NULL;
    }
    struct gramme_error *error = NULL;
    struct gramme_answer *answer = tickets_get_ticket_status(request_db(request), id, &error);
    bool is_fine = false;
    if (answer == NULL) {
        answer_error(request, error);
    } else if (gramme_answer_item(answer) == NULL) {
        answer_not_found(request);
    } else if (!may_see(request_identity(request), gramme_answer_item(answer))) {
        answer_not_allowed(request);
    } else {
        is_fine = true;
    }
    gramme_error_destroy(error);
    if (!is_fine) {
        gramme_answer_destroy(answer);
        answer = NULL;
    }
    return answer;
}

static void get_ticket_status(struct app_request *request)
{
    struct gramme_answer *answer = find_ticket(request);
    if (answer != NULL) {
        answer_ticket(request, 200, gramme_answer_item(answer));
    }
    gramme_answer_destroy(answer);
}

static void answer_no_comment(struct app_request *request, const struct gramme_error *error)
{
    if (gramme_error_is(error, GRAMME_CONDITION_FAILED)) {
        answer_not_found(request);
    } else if (gramme_error_is(error, GRAMME_VALIDATION) &&
               strstr(gramme_error_message(error), "Item size") != NULL) {
        answer_problem(request, 422, "ticket_full", "The ticket has no room for more comments");
    } else {
        answer_error(request, error);
    }
}

/* Adds a comment to a ticket that the signed-in user may see, and answers. */
static void write_comment(struct app_request *request, const struct tickets_comment *comment,
                          bool is_mine_)
{
    const struct identity *who = request_identity(request);
    bool is_private = is_mine_ && tickets_callers_are_hashed();
    char key[TICKETS_CALLER_SIZE];
    tickets_user_key(who->id, key);
    struct tickets_author author = {
        .id = is_private ? key : who->id,
        .name = is_private ? "Caller" : who->name,
        .role = is_mine_ ? "caller" : "agent",
    };
    struct gramme_error *error = NULL;
    struct gramme_value *ticket =
        tickets_add_comment(request_db(request), comment, &author, &error);
    if (ticket == NULL) {
        answer_no_comment(request, error);
    } else {
        answer_ticket(request, 201, ticket);
    }
    gramme_value_destroy(ticket);
    gramme_error_destroy(error);
}

static void add_comment(struct app_request *request)
{
    const struct gramme_value *body = request_body(request, FIELDS("comment_text", "comment_id"));
    struct tickets_comment comment = {.ticket_id = request_param(request, "ticket_id")};
    if (body == NULL || !body_uuid(request, body, "comment_id", &comment.comment_id)) {
        return; /* answered */
    }
    comment.text = request_text(request, body, "comment_text", COMMENT_LEN_MAX);
    struct gramme_answer *answer = comment.text == NULL ? NULL : find_ticket(request);
    if (answer != NULL) {
        write_comment(request, &comment,
                      is_mine(request_identity(request), gramme_answer_item(answer)));
    }
    gramme_answer_destroy(answer);
}

/* Reads a status from the body. NULL: it is not valid, and 400 has been answered. */
static const char *body_status(struct app_request *request, const struct gramme_value *body,
                               const char *name)
{
    const char *text = gramme_get_string(body, name);
    if (text != NULL && tickets_status_is_valid(text)) {
        return text;
    }
    struct gramme_value *details = gramme_map_create();
    struct gramme_value *list = gramme_set_list(details, "statuses");
    gramme_set_string(details, "field", name);
    for (size_t i = 0; tickets_status(i) != NULL; i++) {
        gramme_add_string(list, tickets_status(i));
    }
    answer_problem_details(request, 400, "bad_parameter", details,
                           "There is no such status: see statuses");
    gramme_value_destroy(details);
    return NULL;
}

/* Answers that a status was not changed: there is no such ticket, or it has another status. */
static void answer_unchanged(struct app_request *request, const struct gramme_error *error)
{
    const struct gramme_value *ticket = gramme_error_item(error);
    if (!gramme_error_is(error, GRAMME_CONDITION_FAILED)) {
        answer_error(request, error);
    } else if (ticket == NULL) {
        answer_not_found(request);
    } else {
        struct gramme_value *details = gramme_map_create();
        gramme_set_value(details, "status", gramme_get(ticket, "status"));
        answer_problem_details(request, 409, "status_changed", details,
                               "Somebody else has changed the status meanwhile");
        gramme_value_destroy(details);
    }
}

/* Sets the user who is recorded for a change of a status. If callers are stored as hashes and the
 * ticket is the agent's own, this is the hash. False: an error has been answered. */
static bool set_changer(struct app_request *request, char key[TICKETS_CALLER_SIZE],
                        struct tickets_change *change)
{
    const struct identity *who = request_identity(request);
    change->by = who->id;
    if (!tickets_callers_are_hashed()) {
        return true; /* no need to read the ticket */
    }
    struct gramme_answer *answer = find_ticket(request);
    if (answer != NULL && is_mine(who, gramme_answer_item(answer))) {
        tickets_user_key(who->id, key);
        change->by = key;
    }
    gramme_answer_destroy(answer);
    return answer != NULL;
}

static void change_status(struct app_request *request)
{
    const struct gramme_value *body = request_body(request, FIELDS("status", "from"));
    struct tickets_change change = {0};
    char key[TICKETS_CALLER_SIZE];
    change.to = body == NULL ? NULL : body_status(request, body, "status");
    change.from =
        change.to == NULL ? NULL : request_text(request, body, "from", TICKETS_STATUS_LEN_MAX);
    if (change.from == NULL || !request_require(request, ROLE_AGENT)) {
        return; /* answered */
    }
    change.ticket_id = request_param_id(request, "ticket_id", request_is_uuid, "ticket");
    if (change.ticket_id == NULL || !set_changer(request, key, &change)) {
        return;
    }
    struct gramme_error *error = NULL;
    struct gramme_value *ticket = tickets_change_status(request_db(request), &change, &error);
    if (ticket == NULL) {
        answer_unchanged(request, error);
    } else {
        answer_ticket(request, 200, ticket);
    }
    gramme_value_destroy(ticket);
    gramme_error_destroy(error);
}

static void list_recent_tickets(struct app_request *request)
{
    struct page page;
    char caller[TICKETS_CALLER_SIZE];
    const char *named = NULL;
    if (request_query(request, "caller") != NULL) {
        named = request_query_text(request, "caller", CALLER_LEN_MAX);
        if (named == NULL) {
            return; /* answered */
        }
    }
    if (!choose_caller(request, "caller", named, caller) || !request_page(request, &page)) {
        return; /* answered */
    }
    struct gramme_error *error = NULL;
    struct gramme_answer *answer =
        tickets_list_recent_tickets(request_db(request), caller, &page, &error);
    if (answer == NULL) {
        answer_error(request, error);
    } else {
        answer_page(request, answer, show_ticket);
    }
    gramme_answer_destroy(answer);
    gramme_error_destroy(error);
}

static void get_settings(struct app_request *request)
{
    struct gramme_value *body = gramme_map_create();
    struct gramme_value *list = gramme_set_list(body, "statuses");
    for (size_t i = 0; tickets_status(i) != NULL; i++) {
        gramme_add_string(list, tickets_status(i));
    }
    gramme_set_bool(body, "callerIdsAreHashed", tickets_callers_are_hashed());
    gramme_set_string(body, "hint",
                      "Do not enter passwords, MFA codes, device serial numbers or anything else "
                      "that is secret");
    answer_value(request, 200, body);
    gramme_value_destroy(body);
}

static const struct app_route routes[] = {
    {"POST", "/tickets", create_ticket},
    {"GET", "/tickets?caller&limit&cursor", list_recent_tickets},
    {"GET", "/tickets/{ticket_id}", get_ticket_status},
    {"POST", "/tickets/{ticket_id}/comments", add_comment},
    {"PUT", "/tickets/{ticket_id}/status", change_status},
    {"GET", "/settings", get_settings},
};

static const char *live_type(const struct gramme_value *item)
{
    (void)item;
    return "ticket";
}

static const struct app_live live = {
    .table = TICKETS_TABLE,
    .type = live_type,
    .may_see = may_see,
    .show = show_ticket,
};

const struct app_definition tickets_app = {
    .name = "tickets",
    .files = &tickets_files,
    .routes = routes,
    .route_count = sizeof(routes) / sizeof(routes[0]),
    .live = &live,
    .load_samples = tickets_load_samples,
};
