/* Requests with retries, and the errors of responses. Called on any thread that may block. */
#include <stdio.h>

#include "aws/client_internal.h"
#include "base/clock.h"
#include "json/reader.h"

enum { WAIT_STEP_MS = 50 };

/* --- errors --- */

static void copy_text(char *out, size_t capacity, struct str text)
{
    size_t len = MIN(text.len, capacity - 1);
    if (len > 0) {
        memcpy(out, text.data, len);
    }
    out[len] = '\0';
}

/* The name of an error without its namespace: "com.amazonaws...#ThrottlingException". */
static struct str without_namespace(struct str type)
{
    const char *mark = memrchr(type.data, '#', type.len);
    return mark == NULL ? type : str_skip(type, (size_t)(mark - type.data) + 1);
}

/* {"__type": "...", "message": "..."} */
static bool read_json_error(struct str body, struct aws_error *out)
{
    struct arena arena;
    struct json_reader reader;
    struct json_string name;
    struct json_string value;
    arena_init(&arena);
    json_reader_init(&reader, &arena, body);
    bool is_object = json_enter_object(&reader);
    while (is_object && json_next_member(&reader, &name)) {
        bool is_code = str_eq(name.text, STR("__type")) || str_eq(name.text, STR("code"));
        bool is_message = str_eq_nocase(name.text, STR("message"));
        if ((!is_code && !is_message) || json_peek(&reader) != JSON_STRING) {
            json_skip(&reader);
        } else if (!json_read_string(&reader, &value)) {
            break; /* the body is cut off, or no JSON */
        } else if (is_code) {
            copy_text(out->code, sizeof(out->code), without_namespace(value.text));
        } else {
            copy_text(out->message, sizeof(out->message), value.text);
        }
    }
    arena_finish(&arena);
    return is_object && out->code[0] != '\0';
}

/* The text between <name> and </name>; STR_NULL: there is none. Error texts have no nested tags. */
static struct str xml_text(struct str body, struct str start, struct str end)
{
    const char *from = memmem(body.data, body.len, start.data, start.len);
    if (from == NULL) {
        return STR_NULL;
    }
    struct str rest = str_skip(body, (size_t)(from - body.data) + start.len);
    const char *to = memmem(rest.data, rest.len, end.data, end.len);
    return to == NULL ? STR_NULL : str_make(rest.data, (size_t)(to - rest.data));
}

static bool read_xml_error(struct str body, struct aws_error *out)
{
    struct str code = body.len == 0 ? STR_NULL : xml_text(body, STR("<Code>"), STR("</Code>"));
    if (str_is_null(code)) {
        return false;
    }
    copy_text(out->code, sizeof(out->code), code);
    copy_text(out->message, sizeof(out->message),
              xml_text(body, STR("<Message>"), STR("</Message>")));
    return true;
}

void aws_response_error(const struct aws_response *response, struct aws_error *out)
{
    *out = (struct aws_error){.status = response->status};
    struct str body = buf_str(&response->body);
    if (response->failure != NULL) {
        copy_text(out->code, sizeof(out->code), str_from_c(response->failure));
        copy_text(out->message, sizeof(out->message), str_from_c(response->detail));
    } else if (!read_xml_error(body, out) && !read_json_error(body, out)) {
        copy_text(out->code, sizeof(out->code), STR(AWS_BAD_ANSWER));
        snprintf(out->message, sizeof(out->message), "HTTP status %d", response->status);
    }
}

/* --- retries --- */

static bool is_stopped(const struct aws_request *request)
{
    return request->stop != NULL && atomic_load_explicit(request->stop, memory_order_relaxed);
}

/* Sleeps, but stops soon after the caller cancels. */
static void wait_before_retry(const struct aws_request *request, int64_t delay_ms)
{
    while (delay_ms > 0 && !is_stopped(request)) {
        int64_t step_ms = MIN(delay_ms, (int64_t)WAIT_STEP_MS);
        retry_wait_ms(step_ms);
        delay_ms -= step_ms;
    }
}

/* Whether another attempt may be made after one that failed in this way. */
static bool may_retry(struct aws_client *client, const struct aws_request *request,
                      enum retry_kind kind, int attempts, int64_t started_us)
{
    int64_t patience_ms = request->patience_ms > 0 ? request->patience_ms : client->patience_ms;
    if (kind == RETRY_NEVER) {
        return false;
    }
    if (patience_ms > 0) {
        return clock_monotonic_us() - started_us < patience_ms * 1000;
    }
    return attempts < client->attempts_max && retry_quota_take(&client->quota, kind);
}

/* Replaces the last failure by AWS_STOPPED: it would have been retried, so it is not the result of
 * the request. */
static void set_stopped(struct aws_response *response)
{
    response->status = 0;
    response->failure = AWS_STOPPED;
    snprintf(response->detail, sizeof(response->detail), "stopped");
}

bool aws_client_call(struct aws_client *client, const struct aws_request *request,
                     struct aws_response *response)
{
    enum retry_kind retried = RETRY_NEVER;
    int64_t started_us = clock_monotonic_us();
    for (response->attempts = 1;; response->attempts++) {
        struct aws_error error;
        aws_client_attempt(client, request, response);
        if (response->status >= 200 && response->status < 300) {
            retry_quota_give(&client->quota, retried);
            return true;
        }
        aws_response_error(response, &error);
        enum retry_kind kind =
            response->renewed ? RETRY_TRANSIENT : retry_kind_of(error.status, error.code);
        if (!may_retry(client, request, kind, response->attempts, started_us)) {
            return false;
        }
        retried = kind;
        wait_before_retry(request, retry_delay_ms(&client->quota, kind, response->attempts,
                                                  response->retry_after_ms));
        if (is_stopped(request)) {
            set_stopped(response);
            return false;
        }
    }
}
