/* The answer to a request: headers, JSON, errors in their documented form. Called by handlers on
 * worker threads; server.c sends what they leave in the request. */
#include <stdarg.h>

#include "apps/common/request_internal.h"
#include "base/log.h"

void answer_header(struct app_request *request, const char *name, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    struct str value = arena_vformat(request->exchange->arena, format, args);
    va_end(args);
    /* A line end in a value would begin another header: callers encode values that come from
     * clients. */
    for (size_t i = 0; i < value.len; i++) {
        assert(value.data[i] != '\r' && value.data[i] != '\n');
    }
    buf_format(&request->headers, "%s: %.*s\r\n", name, STR_ARG(value));
}

void answer_version(struct app_request *request, int64_t version)
{
    answer_header(request, "ETag", "\"%lld\"", (long long)version);
}

void answer_value(struct app_request *request, int status, const struct gramme_value *value)
{
    assert(request->status == 0); /* one answer */
    size_t len;
    char *json = gramme_value_to_json(value, GRAMME_PLAIN, &len);
    assert(json != NULL);
    request->status = status;
    request->content_type = STR("application/json");
    buf_add(&request->out, str_make(json, len));
    gramme_free(json);
}

void answer_text(struct app_request *request, const char *content_type, const char *text)
{
    assert(request->status == 0);
    request->status = 200;
    request->content_type = str_from_c(content_type);
    buf_add(&request->out, str_from_c(text));
}

void answer_nothing(struct app_request *request)
{
    answer_empty(request, 204);
}

void answer_empty(struct app_request *request, int status)
{
    assert(request->status == 0);
    request->status = status;
}

void answer_bad_field(struct app_request *request, const char *field, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    struct str message = arena_vformat(request->exchange->arena, format, args);
    va_end(args);
    struct gramme_value *details = gramme_map_create();
    gramme_set_string(details, "field", field);
    answer_problem_details(request, 400, "bad_parameter", details, message.data);
    gramme_value_destroy(details);
}

void answer_not_allowed(struct app_request *request)
{
    answer_problem(request, 403, "not_allowed", "You may not do this: ask an administrator");
}

void answer_problem_details(struct app_request *request, int status, const char *code,
                            const struct gramme_value *details, const char *message)
{
    struct gramme_value *body = gramme_map_create();
    struct gramme_value *error = gramme_set_map(body, "error");
    gramme_set_string(error, "code", code);
    gramme_set_string(error, "message", message);
    gramme_set_string(error, "requestId", request->id);
    for (size_t i = 0; i < gramme_value_count(details); i++) {
        const struct gramme_value *detail = gramme_value_at(details, i);
        gramme_set_value(error, gramme_value_name(detail), detail);
    }
    answer_value(request, status, body);
    gramme_value_destroy(body);
}

void answer_problem(struct app_request *request, int status, const char *code, const char *format,
                    ...)
{
    va_list args;
    va_start(args, format);
    struct str message = arena_vformat(request->exchange->arena, format, args);
    va_end(args);
    answer_problem_details(request, status, code, NULL,
                           text_copy(request->exchange->arena, message));
}

void answer_unknown(struct app_request *request, const char *name, const char *kind)
{
    struct arena *arena = request->exchange->arena;
    struct gramme_value *details = gramme_map_create();
    gramme_set_string(details, "field", name);
    struct str message = arena_format(arena, "%s is not a %s of this request", name, kind);
    answer_problem_details(request, 400, "unknown_field", details, message.data);
    gramme_value_destroy(details);
}

void answer_bad_cursor(struct app_request *request)
{
    answer_problem(request, 400, "bad_cursor", "The cursor is none of this list");
}

void answer_error(struct app_request *request, const struct gramme_error *error)
{
    if (gramme_error_is(error, GRAMME_VALIDATION) && request_query(request, "cursor") != NULL) {
        answer_bad_cursor(request); /* well-formed, but of another table or index */
        return;
    }
    bool may_pass = gramme_error_retryable(error) || gramme_error_status(error) == 0;
    log_write(may_pass ? LOG_WARN : LOG_ERROR, "apps", "request %s: database: %s: %s", request->id,
              gramme_error_code(error), gramme_error_message(error));
    if (may_pass) {
        answer_header(request, "Retry-After", "1");
        answer_problem(request, 503, "unavailable",
                       "The service is not available just now. Nothing was lost: try again in a "
                       "moment");
    } else {
        answer_problem(request, 500, "database",
                       "Something went wrong on our side. If it happens again, tell your "
                       "administrator this number: %s",
                       request->id);
    }
}

void answer_page(struct app_request *request, const struct gramme_answer *answer,
                 void (*show)(const struct identity *who, const struct gramme_value *item,
                              struct gramme_value *out))
{
    struct gramme_value *body = gramme_map_create();
    struct gramme_value *items = gramme_set_list(body, "items");
    const struct gramme_value *found = gramme_answer_items(answer);
    for (size_t i = 0; i < gramme_value_count(found); i++) {
        struct gramme_value *out = gramme_map_create();
        show(&request->identity, gramme_value_at(found, i), out);
        if (gramme_value_count(out) > 0) {
            gramme_add_value(items, out);
        }
        gramme_value_destroy(out);
    }
    char *cursor = gramme_answer_cursor(answer);
    if (cursor != NULL) {
        gramme_set_string(body, "cursor", cursor);
        gramme_free(cursor);
    }
    answer_value(request, 200, body);
    gramme_value_destroy(body);
}
