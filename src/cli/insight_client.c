/* A blocking HTTP client for the insight API of a server. Called by `gramme patterns` and `gramme
 * top` on the main thread. */
#include "cli/insight_client.h"

#include <stdlib.h>

#include "auth/sigv4.h"
#include "base/clock.h"
#include "base/terminal.h"

enum { ANSWER_BYTES_MAX = 256 << 20 };

/* --- JSON as a tree --- */

static struct json_node *parse_value(struct json_reader *reader)
{
    struct json_node *node = ARENA_NEW(reader->arena, struct json_node);
    struct json_node **end = &node->first;
    struct json_string string;
    node->kind = json_peek(reader);
    switch (node->kind) {
    case JSON_NULL:
        return json_read_null(reader) ? node : NULL;
    case JSON_BOOL:
        return json_read_bool(reader, &node->truth) ? node : NULL;
    case JSON_NUMBER:
        return json_read_number(reader, &node->text) ? node : NULL;
    case JSON_STRING:
        if (!json_read_string(reader, &string)) {
            return NULL;
        }
        node->text = string.text;
        return node;
    case JSON_ARRAY:
        if (!json_enter_array(reader)) {
            return NULL;
        }
        while (json_next_element(reader)) {
            *end = parse_value(reader);
            if (*end == NULL) {
                return NULL;
            }
            end = &(*end)->next;
        }
        return reader->mistake == NULL ? node : NULL;
    case JSON_OBJECT:
        if (!json_enter_object(reader)) {
            return NULL;
        }
        while (json_next_member(reader, &string)) {
            struct str name = string.text;
            *end = parse_value(reader);
            if (*end == NULL) {
                return NULL;
            }
            (*end)->name = name;
            end = &(*end)->next;
        }
        return reader->mistake == NULL ? node : NULL;
    default:
        return NULL;
    }
}

struct json_node *json_parse(struct arena *arena, struct str text)
{
    struct json_reader reader;
    json_reader_init(&reader, arena, text);
    struct json_node *node = parse_value(&reader);
    return node != NULL && json_at_end(&reader) ? node : NULL;
}

struct json_node *json_get(const struct json_node *node, const char *name)
{
    if (node == NULL || node->kind != JSON_OBJECT) {
        return NULL;
    }
    struct json_node *member = node->first;
    while (member != NULL && !str_eq(member->name, str_from_c(name))) {
        member = member->next;
    }
    return member;
}

double json_get_number(const struct json_node *node, const char *name)
{
    const struct json_node *member = json_get(node, name);
    char digits[64] = "0";
    if (member != NULL && member->kind == JSON_NUMBER && member->text.len < sizeof(digits)) {
        memcpy(digits, member->text.data, member->text.len);
        digits[member->text.len] = 0;
    }
    return strtod(digits, NULL);
}

struct str json_get_text(const struct json_node *node, const char *name)
{
    const struct json_node *member = json_get(node, name);
    return member != NULL && member->kind == JSON_STRING ? member->text : STR("");
}

bool json_get_bool(const struct json_node *node, const char *name)
{
    const struct json_node *member = json_get(node, name);
    return member != NULL && member->kind == JSON_BOOL && member->truth;
}

/* --- the connection --- */

bool insight_client_init(struct insight_client *client, struct arena *arena, const char *endpoint,
                         const char *ca_file, struct err *err)
{
    *client = (struct insight_client){.arena = arena};
    if (!address_parse(arena, str_from_c(endpoint), ca_file, &client->address, err)) {
        return false;
    }
    client->host = client->address.host_header;
    return true;
}

/* Reads the key and the region from the environment. False: there is no key. */
static bool read_scope(const char *time, struct sigv4_scope *out)
{
    const char *id = getenv("AWS_ACCESS_KEY_ID");
    const char *secret = getenv("AWS_SECRET_ACCESS_KEY");
    const char *region = getenv("AWS_REGION");
    if (id == NULL || secret == NULL) {
        return false;
    }
    region = region != NULL ? region : getenv("AWS_DEFAULT_REGION");
    *out = (struct sigv4_scope){
        .access_key_id = str_from_c(id),
        .secret_access_key = str_from_c(secret),
        .region = str_from_c(region != NULL ? region : "us-east-1"),
        .service = STR("dynamodb"),
        .time = str_from_c(time),
    };
    return true;
}

/* Signs the request if there are credentials. */
static void add_signature(const struct insight_client *client, const char *method, struct str path,
                          struct buf *out)
{
    const char *token = getenv("AWS_SESSION_TOKEN");
    char time[SIGV4_TIME_SIZE];
    sigv4_format_time(clock_wall_ms(), time);
    struct sigv4_scope scope;
    if (!read_scope(time, &scope)) {
        return;
    }
    const char *question = memchr(path.data, '?', path.len);
    size_t len = question == NULL ? path.len : (size_t)(question - path.data);
    bool is_temporary = token != NULL && *token != 0;
    const struct sigv4_header headers[] = {
        {STR("host"), client->host},
        {STR("x-amz-date"), str_from_c(time)},
        {STR("x-amz-security-token"), is_temporary ? str_from_c(token) : STR("")}};
    struct sigv4_request request = {
        .method = str_from_c(method),
        .path = str_make(path.data, len),
        .query = question == NULL ? STR("") : str_skip(path, len + 1),
        .headers = headers,
        .header_count = is_temporary ? 3 : 2,
        .body = STR(""),
    };
    if (is_temporary) {
        buf_format(out, "X-Amz-Security-Token: %s\r\n", token);
    }
    buf_format(out, "X-Amz-Date: %s\r\nAuthorization: ", time);
    sigv4_sign(&request, &scope, out);
    buf_add(out, STR("\r\n"));
}

/* The body of an answer, and its status; false: it is not complete. */
static bool split(struct str answer, int *status, struct str *body)
{
    const char *end = answer.len == 0 ? NULL : memmem(answer.data, answer.len, "\r\n\r\n", 4);
    if (end == NULL || answer.len < 12 || !str_starts_with(answer, STR("HTTP/1.1 "))) {
        return false;
    }
    *status = atoi(answer.data + 9);
    *body = str_skip(answer, (size_t)(end - answer.data) + 4);
    return true;
}

static bool read_answer(struct insight_client *client, struct str answer, struct json_node **out,
                        struct err *err)
{
    int status = 0;
    struct str body = STR_NULL;
    if (!split(answer, &status, &body)) {
        return err_set(err, ERR_INTERNAL, "%.*s gave no whole answer", STR_ARG(client->host));
    }
    *out = json_parse(client->arena, arena_copy(client->arena, body));
    if (status != 200) {
        struct str text = json_get_text(*out, "error");
        text = text.len > 0 ? text : json_get_text(*out, "message");
        text = text.len > 0 ? text : json_get_text(*out, "Message"); /* of AccessDenied */
        text = terminal_text(client->arena, text);
        return err_set(err, ERR_INTERNAL, "%.*s answers %d%s%.*s", STR_ARG(client->host), status,
                       text.len > 0 ? ": " : " (is it a gramme with --insight on?)", STR_ARG(text));
    }
    return *out != NULL ||
           err_set(err, ERR_INTERNAL, "%.*s does not answer in JSON", STR_ARG(client->host));
}

bool insight_client_call(struct insight_client *client, const char *method, const char *path,
                         struct json_node **out, struct err *err)
{
    struct buf request = {0};
    struct buf answer = {0};
    struct str target = arena_format(client->arena, "/_gramme/api/%s", path);
    struct connection *connection;
    if (!connection_open(&client->address, &connection, err)) {
        return false;
    }
    buf_format(&request, "%s %.*s HTTP/1.1\r\nHost: %.*s\r\nConnection: close\r\n", method,
               STR_ARG(target), STR_ARG(client->host));
    add_signature(client, method, target, &request);
    buf_add(&request, strcmp(method, "POST") == 0 ? STR("Content-Length: 0\r\n\r\n") : STR("\r\n"));
    bool good =
        connection_send(connection, buf_str(&request)) &&
                connection_read_all(connection, ANSWER_BYTES_MAX, &answer)
            ? read_answer(client, buf_str(&answer), out, err)
            : err_set(err, ERR_INTERNAL, "the connection to %.*s was lost", STR_ARG(client->host));
    connection_close(connection);
    buf_finish(&request);
    buf_finish(&answer);
    return good;
}
