/* Calls to Kinesis: DescribeStreamSummary and PutRecords. Called by deliver.c on a delivery thread.
 */
#include "kinesis/stream_calls.h"

#include <stdio.h>

#include "aws/retry.h"
#include "json/reader.h"
#include "json/writer.h"

#define TARGET_PREFIX "Kinesis_20131202."
enum { RESPONSE_BYTES_MAX = 4 << 20 };

/* Takes the part up to the next colon from *text. */
static struct str take_part(struct str *text)
{
    const char *colon = text->len > 0 ? memchr(text->data, ':', text->len) : NULL;
    size_t len = colon == NULL ? text->len : (size_t)(colon - text->data);
    struct str part = str_make(text->data, len);
    *text = str_skip(*text, MIN(len + 1, text->len));
    return part;
}

bool stream_arn_parse(struct str arn, struct str *out_region, struct str *out_name)
{
    static const struct str resource = {"stream/", 7};
    struct str rest = arn;
    struct str prefix = take_part(&rest);
    struct str partition = take_part(&rest);
    struct str service = take_part(&rest);
    *out_region = take_part(&rest);
    struct str account = take_part(&rest);
    *out_name = str_starts_with(rest, resource) ? str_skip(rest, resource.len) : STR("");
    return str_eq(prefix, STR("arn")) && partition.len > 0 && str_eq(service, STR("kinesis")) &&
           out_region->len > 0 && account.len > 0 && out_name->len > 0;
}

/* Makes one attempt of an operation. */
static bool call(struct aws_client *client, struct str target, struct str body,
                 const atomic_bool *stop, struct aws_response *response)
{
    const struct sigv4_header headers[] = {
        {STR("content-type"), STR("application/x-amz-json-1.1")},
        {STR("x-amz-target"), target},
    };
    struct aws_request request = {
        .method = STR("POST"),
        .path = STR("/"),
        .headers = headers,
        .header_count = COUNT_OF(headers),
        .body = body,
        .response_bytes_max = RESPONSE_BYTES_MAX,
        .stop = stop,
    };
    aws_client_attempt(client, &request, response);
    return response->status == 200;
}

static void describe_failure(const struct aws_error *error, char problem[256])
{
    snprintf(problem, 256, "%s: %.120s", error->code, error->message);
}

/* --- whether a stream can be used --- */

struct summary {
    struct str status;
    struct str arn;
};

/* Reads StreamDescriptionSummary of a response. */
static bool read_summary(struct arena *arena, struct str body, struct summary *out)
{
    struct json_reader reader;
    struct json_string name;
    struct json_string value;
    json_reader_init(&reader, arena, body);
    if (!json_enter_object(&reader) || !json_next_member(&reader, &name) ||
        !str_eq(name.text, STR("StreamDescriptionSummary")) || !json_enter_object(&reader)) {
        return false;
    }
    while (json_next_member(&reader, &name)) {
        struct str *member = str_eq(name.text, STR("StreamStatus")) ? &out->status
                             : str_eq(name.text, STR("StreamARN"))  ? &out->arn
                                                                    : NULL;
        if (member == NULL) {
            json_skip(&reader);
        } else if (json_read_string(&reader, &value)) {
            *member = value.text;
        }
    }
    return reader.mistake == NULL;
}

static enum stream_check judge_summary(struct str arn, struct str body, char problem[256])
{
    struct arena arena;
    arena_init(&arena);
    struct summary summary = {STR(""), STR("")};
    enum stream_check check = STREAM_IS_UNKNOWN;
    if (!read_summary(&arena, body, &summary)) {
        snprintf(problem, 256, "the answer to DescribeStreamSummary cannot be read");
    } else if (!str_eq(summary.arn, arn)) { /* a stream of that name in another account */
        snprintf(problem, 256, "the stream's ARN is %.*s", STR_ARG(summary.arn));
        check = STREAM_IS_REFUSED;
    } else if (str_eq(summary.status, STR("ACTIVE")) || str_eq(summary.status, STR("UPDATING"))) {
        check = STREAM_IS_ACTIVE;
    } else {
        snprintf(problem, 256, "the stream is %.*s", STR_ARG(summary.status));
        check = STREAM_IS_NOT_ACTIVE;
    }
    arena_finish(&arena);
    return check;
}

/* Judges a call that failed. Throttled calls, for example, have status 400, too. */
static enum stream_check judge_failure(const struct aws_response *response, char problem[256])
{
    struct aws_error error;
    aws_response_error(response, &error);
    describe_failure(&error, problem);
    if (response->failure != NULL) {
        return strcmp(response->failure, AWS_NO_CREDENTIALS) == 0 ? STREAM_IS_REFUSED
                                                                  : STREAM_IS_UNKNOWN;
    }
    bool is_refusal = response->status >= 400 && response->status < 500 && response->status != 429;
    bool may_pass = response->renewed || retry_kind_of(error.status, error.code) != RETRY_NEVER;
    return is_refusal && !may_pass ? STREAM_IS_REFUSED : STREAM_IS_UNKNOWN;
}

enum stream_check stream_check(struct aws_client *client, struct str arn, const atomic_bool *stop,
                               char problem[256])
{
    struct str region;
    struct str name;
    if (!stream_arn_parse(arn, &region, &name)) {
        snprintf(problem, 256, "this is not the ARN of a Kinesis stream");
        return STREAM_IS_REFUSED;
    }
    struct aws_response response = {0};
    struct buf body = {0};
    enum stream_check check;
    JSON_PUT(&body, "{\"StreamName\":");
    json_write_string(&body, name);
    buf_add_char(&body, '}');
    if (call(client, STR(TARGET_PREFIX "DescribeStreamSummary"), buf_str(&body), stop, &response)) {
        check = judge_summary(arn, buf_str(&response.body), problem);
    } else {
        check = judge_failure(&response, problem);
    }
    buf_finish(&body);
    aws_response_finish(&response);
    return check;
}

/* --- PutRecords --- */

void stream_put_begin(struct stream_put *put, struct str stream_name)
{
    put->body.len = 0;
    put->count = 0;
    put->bytes = 0;
    JSON_PUT(&put->body, "{\"StreamName\":");
    json_write_string(&put->body, stream_name);
    JSON_PUT(&put->body, ",\"Records\":[");
}

bool stream_put_fits(const struct stream_put *put, size_t data_bytes)
{
    return put->count < PUT_RECORDS_MAX &&
           (put->count == 0 || put->bytes + data_bytes <= PUT_BYTES_MAX);
}

void stream_put_add(struct stream_put *put, struct str partition_key, struct str data)
{
    assert(stream_put_fits(put, data.len));
    buf_add(&put->body, put->count > 0 ? STR(",{\"PartitionKey\":") : STR("{\"PartitionKey\":"));
    json_write_string(&put->body, partition_key);
    JSON_PUT(&put->body, ",\"Data\":");
    json_write_base64(&put->body, data);
    buf_add_char(&put->body, '}');
    put->count++;
    put->bytes += partition_key.len + data.len;
}

/* Reads one element of Records: it failed if it has an ErrorCode that is not null. */
static void read_result(struct stream_put *put, struct json_reader *reader, bool *out_failed)
{
    struct json_string name;
    struct json_string text;
    *out_failed = false;
    if (!json_enter_object(reader)) {
        return;
    }
    while (json_next_member(reader, &name)) {
        bool is_code = str_eq(name.text, STR("ErrorCode"));
        if ((is_code || str_eq(name.text, STR("ErrorMessage"))) &&
            json_peek(reader) == JSON_STRING && json_read_string(reader, &text)) {
            *out_failed = true;
            snprintf(put->problem, sizeof(put->problem), "%.*s", STR_ARG(text.text));
        } else {
            json_skip(reader);
        }
    }
}

static size_t read_results(struct stream_put *put, struct json_reader *reader)
{
    size_t count = 0;
    if (!json_enter_array(reader)) {
        return 0;
    }
    while (json_next_element(reader)) {
        bool failed;
        read_result(put, reader, &failed);
        if (count < put->count) {
            put->failed[count] = failed;
        }
        count++;
    }
    return count;
}

bool stream_put_read(struct stream_put *put, struct str body)
{
    struct arena arena;
    struct json_reader reader;
    struct json_string name;
    size_t count = 0;
    arena_init(&arena);
    json_reader_init(&reader, &arena, body);
    if (json_enter_object(&reader)) {
        while (json_next_member(&reader, &name)) {
            if (str_eq(name.text, STR("Records"))) {
                count = read_results(put, &reader);
            } else {
                json_skip(&reader);
            }
        }
    }
    bool ok = reader.mistake == NULL && count == put->count;
    if (!ok) {
        snprintf(put->problem, sizeof(put->problem), "the answer to PutRecords cannot be read");
    }
    arena_finish(&arena);
    return ok;
}

bool stream_put_send(struct stream_put *put, struct aws_client *client, const atomic_bool *stop)
{
    JSON_PUT(&put->body, "]}");
    put->problem[0] = '\0';
    if (!call(client, STR(TARGET_PREFIX "PutRecords"), buf_str(&put->body), stop, &put->response)) {
        struct aws_error error;
        aws_response_error(&put->response, &error);
        describe_failure(&error, put->problem);
        return false;
    }
    return stream_put_read(put, buf_str(&put->response.body));
}

void stream_put_finish(struct stream_put *put)
{
    buf_finish(&put->body);
    aws_response_finish(&put->response);
}
