#include "apps/tickets/tickets.h"

#include <string.h>

enum { CALLER_LEN_MAX = 128, ISSUE_LEN_MAX = 4000, COMMENT_LEN_MAX = 4000 };

/* What is no UUID needs no look into the table. */
static bool is_ticket_id(const char *text)
{
    return strlen(text) == GRAMME_UUID_SIZE - 1 &&
           strspn(text, "0123456789abcdef-") == GRAMME_UUID_SIZE - 1;
}

static void answer_not_found(struct app_request *request)
{
    answer_problem(request, 404, "not_found", "There is no such ticket");
}

static void create_ticket(struct app_request *request)
{
    const struct gramme_value *body = request_body(request);
    const char *caller = body ? request_text(request, body, "caller_id", CALLER_LEN_MAX) : NULL;
    const char *issue =
        caller ? request_text(request, body, "issue_description", ISSUE_LEN_MAX) : NULL;
    if (issue == NULL) {
        return; /* answered */
    }
    struct gramme_error *error = NULL;
    struct gramme_value *ticket = tickets_create_ticket(request_db(request), caller, issue, &error);
    if (ticket == NULL) {
        answer_error(request, error);
    } else {
        answer_header(request, "Location", "/tickets/api/tickets/%s",
                      gramme_get_string(ticket, "ticket_id"));
        answer_value(request, 201, ticket);
    }
    gramme_value_destroy(ticket);
    gramme_error_destroy(error);
}

static void get_ticket_status(struct app_request *request)
{
    const char *id = request_param(request, "ticket_id");
    if (!is_ticket_id(id)) {
        answer_not_found(request);
        return;
    }
    struct gramme_error *error = NULL;
    struct gramme_answer *answer = tickets_get_ticket_status(request_db(request), id, &error);
    if (answer == NULL) {
        answer_error(request, error);
    } else if (gramme_answer_item(answer) == NULL) {
        answer_not_found(request);
    } else {
        answer_value(request, 200, gramme_answer_item(answer));
    }
    gramme_answer_destroy(answer);
    gramme_error_destroy(error);
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

static void add_comment(struct app_request *request)
{
    const char *id = request_param(request, "ticket_id");
    const struct gramme_value *body = request_body(request);
    const char *text = body ? request_text(request, body, "comment_text", COMMENT_LEN_MAX) : NULL;
    if (text == NULL) {
        return; /* answered */
    }
    if (!is_ticket_id(id)) {
        answer_not_found(request);
        return;
    }
    struct gramme_error *error = NULL;
    struct gramme_value *ticket = tickets_add_comment(request_db(request), id, text, &error);
    if (ticket == NULL) {
        answer_no_comment(request, error);
    } else {
        answer_value(request, 201, ticket);
    }
    gramme_value_destroy(ticket);
    gramme_error_destroy(error);
}

static void list_recent_tickets(struct app_request *request)
{
    struct page page;
    const char *caller = request_query_text(request, "caller", CALLER_LEN_MAX);
    if (caller == NULL || !request_page(request, &page)) {
        return; /* answered */
    }
    struct gramme_error *error = NULL;
    struct gramme_answer *answer =
        tickets_list_recent_tickets(request_db(request), caller, &page, &error);
    if (answer == NULL) {
        answer_error(request, error);
    } else {
        answer_page(request, answer, answer_item_as_is);
    }
    gramme_answer_destroy(answer);
    gramme_error_destroy(error);
}

static const struct app_route routes[] = {
    {"POST", "/tickets", create_ticket},
    {"GET", "/tickets", list_recent_tickets},
    {"GET", "/tickets/{ticket_id}", get_ticket_status},
    {"POST", "/tickets/{ticket_id}/comments", add_comment},
};

extern const char tickets_schema[];
static const char *const schemas[] = {tickets_schema, NULL};

const struct app_definition tickets_app = {
    .name = "tickets",
    .schemas = schemas,
    .routes = routes,
    .route_count = sizeof(routes) / sizeof(routes[0]),
    .load_samples = tickets_load_samples,
};
