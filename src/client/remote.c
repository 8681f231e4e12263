/* The transport to a DynamoDB over HTTP: turns calls into requests of src/aws. Any number of
 * threads may call at once. */
#include <stdio.h>

#include "aws/client.h"
#include "base/mem.h"
#include "client/error_internal.h"
#include "client/transport_internal.h"

struct remote {
    struct transport transport;
    struct aws_client *client;
};

/* The headers of an operation. */
static size_t add_operation(struct arena *arena, const struct attempt *attempt,
                            struct aws_request *request, struct sigv4_header *headers)
{
    static const char *const prefixes[] = {[FAMILY_DYNAMODB] = "DynamoDB_20120810",
                                           [FAMILY_STREAMS] = "DynamoDBStreams_20120810",
                                           [FAMILY_GRAMME] = "Gramme_20261115"};
    request->method = STR("POST");
    request->path = STR("/");
    request->body = attempt->body;
    headers[0] = (struct sigv4_header){STR("Content-Type"), STR("application/x-amz-json-1.0")};
    headers[1] = (struct sigv4_header){
        STR("X-Amz-Target"),
        arena_format(arena, "%s.%.*s", prefixes[attempt->family], STR_ARG(attempt->operation)),
    };
    return 2;
}

/* The same of a page. */
static size_t add_page(const struct attempt *attempt, struct aws_request *request)
{
    const char *mark = memchr(attempt->page.data, '?', attempt->page.len);
    size_t path_len = mark != NULL ? (size_t)(mark - attempt->page.data) : attempt->page.len;
    request->method = STR("GET");
    request->path = str_make(attempt->page.data, path_len);
    request->query = mark != NULL ? str_skip(attempt->page, path_len + 1) : STR("");
    return 0;
}

static void remote_call(struct transport *transport, struct attempt *attempt)
{
    struct remote *remote = CONTAINER_OF(transport, struct remote, transport);
    struct arena arena;
    arena_init(&arena);
    struct sigv4_header headers[2];
    struct aws_request request = {.headers = headers};
    struct aws_response response = {.body = attempt->answer};
    request.header_count = str_is_null(attempt->page)
                               ? add_operation(&arena, attempt, &request, headers)
                               : add_page(attempt, &request);
    aws_client_attempt(remote->client, &request, &response);
    attempt->answer = response.body;
    attempt->status = response.status;
    attempt->renewed = response.renewed;
    attempt->retry_after_ms = response.retry_after_ms;
    snprintf(attempt->request_id, sizeof(attempt->request_id), "%s", response.request_id);
    if (response.failure != NULL) {
        attempt_fail(attempt, response.failure, "%s", response.detail);
    }
    arena_finish(&arena);
}

static void remote_close(struct transport *transport)
{
    struct remote *remote = CONTAINER_OF(transport, struct remote, transport);
    aws_client_close(remote->client);
    mem_free(remote);
}

bool remote_open(const char *url, const struct gramme_options *options, struct transport **out,
                 struct gramme_error **error)
{
    struct aws_options aws = {
        .service = "dynamodb",
        .url = url,
        .region = options->region,
        .access_key_id = options->access_key_id,
        .secret_access_key = options->secret_access_key,
        .session_token = options->session_token,
        .profile = options->profile,
        .ca_file = options->ca_file,
        .connect_timeout_ms = options->connect_timeout_ms,
        .timeout_ms = options->timeout_ms,
        .attempts_max = options->attempts_max,
    };
    struct aws_problem problem;
    struct aws_client *client;
    if (!aws_client_open(&aws, &client, &problem)) {
        return error_set(error, problem.code, "%s", problem.text);
    }
    struct remote *remote = mem_zalloc(sizeof(*remote));
    remote->client = client;
    remote->transport =
        (struct transport){remote_call, remote_close, aws_client_attempts_max(client)};
    *out = &remote->transport;
    return true;
}
