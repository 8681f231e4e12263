/* Signed requests over HTTP, with libcurl. Each calling thread borrows a curl handle, which keeps
 * its connection for the next request. Called on any thread that may block; one lock, of the list
 * of idle handles. */
#include "aws/client.h"

#include <curl/curl.h>
#include <pthread.h>
#include <stdio.h>
#include <zlib.h>

#include "aws/client_internal.h"
#include "aws/profile.h"
#include "base/clock.h"
#include "base/mem.h"

enum { CONNECT_TIMEOUT_MS = 3000, TIMEOUT_MS = 30000 };
static const size_t response_bytes_max = (size_t)256 << 20;

/* One attempt in progress. */
struct transfer {
    const struct aws_request *request;
    struct aws_response *response;
    bool has_crc32;
    uint32_t crc32;
    bool too_large;
};

static void fail(struct aws_response *response, const char *code, const char *url, const char *what)
{
    response->failure = code;
    response->status = 0;
    snprintf(response->detail, sizeof(response->detail), "%s: %s", url, what);
}

/* --- handles --- */

static CURL *take_handle(struct aws_client *client)
{
    CURL *curl = NULL;
    pthread_mutex_lock(&client->lock);
    if (client->idle_count > 0) {
        curl = client->idle[--client->idle_count];
    }
    pthread_mutex_unlock(&client->lock);
    return curl != NULL ? curl : curl_easy_init();
}

static void return_handle(struct aws_client *client, CURL *curl)
{
    curl_easy_reset(curl); /* keeps the connection */
    pthread_mutex_lock(&client->lock);
    bool kept = client->idle_count < AWS_IDLE_MAX;
    if (kept) {
        client->idle[client->idle_count++] = curl;
    }
    pthread_mutex_unlock(&client->lock);
    if (!kept) {
        curl_easy_cleanup(curl);
    }
}

/* --- callbacks of curl --- */

static size_t on_body(char *data, size_t size, size_t count, void *context)
{
    struct transfer *transfer = context;
    size_t len = size * count;
    size_t most = transfer->request->response_bytes_max;
    if (transfer->response->body.len + len > (most == 0 ? response_bytes_max : most)) {
        transfer->too_large = true;
        return 0; /* aborts the transfer */
    }
    buf_add(&transfer->response->body, str_make(data, len));
    return len;
}

static void take_header(struct transfer *transfer, struct str name, struct str value)
{
    struct aws_response *response = transfer->response;
    int64_t number;
    bool is_id = str_eq_nocase(name, STR("x-amzn-requestid")) ||
                 str_eq_nocase(name, STR("x-amz-request-id"));
    if (is_id) {
        size_t len = MIN(value.len, sizeof(response->request_id) - 1);
        memcpy(response->request_id, value.data, len);
        response->request_id[len] = '\0';
    } else if (str_eq_nocase(name, STR("x-amz-crc32")) && str_to_int64(value, &number)) {
        transfer->has_crc32 = true;
        transfer->crc32 = (uint32_t)number;
    } else if (str_eq_nocase(name, STR("x-amz-retry-after")) && str_to_int64(value, &number) &&
               number >= 0) {
        response->retry_after_ms = number;
    }
    if (transfer->request->take_header != NULL) {
        transfer->request->take_header(transfer->request->context, name, value);
    }
}

static size_t on_header(char *data, size_t size, size_t count, void *context)
{
    struct str line = str_make(data, size * count);
    const char *colon = memchr(line.data, ':', line.len);
    if (colon != NULL) {
        size_t name_len = (size_t)(colon - line.data);
        take_header(context, str_make(line.data, name_len),
                    str_trim(str_skip(line, name_len + 1), " \t\r\n"));
    }
    return line.len;
}

static int on_progress(void *context, curl_off_t down_total, curl_off_t down, curl_off_t up_total,
                       curl_off_t up)
{
    (void)down_total;
    (void)down;
    (void)up_total;
    (void)up;
    return atomic_load_explicit((const atomic_bool *)context, memory_order_relaxed);
}

/* --- the request --- */

static struct curl_slist *add_header(struct curl_slist *list, struct arena *arena,
                                     const struct sigv4_header *header)
{
    /* "name;" is how curl writes a header without a value */
    struct str line =
        header->value.len == 0
            ? arena_format(arena, "%.*s;", STR_ARG(header->name))
            : arena_format(arena, "%.*s: %.*s", STR_ARG(header->name), STR_ARG(header->value));
    return curl_slist_append(list, line.data);
}

/* Makes all headers, including Authorization. */
static struct curl_slist *make_headers(const struct aws_client *client, struct arena *arena,
                                       const struct aws_request *request,
                                       const struct credentials *credentials)
{
    char time[SIGV4_TIME_SIZE];
    sigv4_format_time(clock_wall_ms() - clock_wall_moved_ms(), time);
    struct sigv4_header headers[SIGV4_HEADERS_MAX + 1];
    size_t count = request->header_count;
    assert(count <= AWS_REQUEST_HEADERS_MAX);
    if (count > 0) {
        memcpy(headers, request->headers, count * sizeof(headers[0]));
    }
    struct str host = arena_format(arena, "%.*s%.*s", STR_ARG(request->host_prefix),
                                   STR_ARG(client->endpoint.host));
    headers[count++] = (struct sigv4_header){STR("Host"), host};
    headers[count++] = (struct sigv4_header){STR("X-Amz-Date"), str_from_c(time)};
    if (!str_is_null(credentials->session_token)) {
        headers[count++] =
            (struct sigv4_header){STR("X-Amz-Security-Token"), credentials->session_token};
    }
    struct sigv4_request to_sign = {.method = request->method,
                                    .path = request->path,
                                    .query = request->query,
                                    .headers = headers,
                                    .header_count = count,
                                    .body = request->body};
    struct sigv4_scope scope = {
        .access_key_id = credentials->access_key_id,
        .secret_access_key = credentials->secret_access_key,
        .region = client->endpoint.region,
        .service = client->service,
        .time = str_from_c(time),
    };
    struct buf authorization = {0};
    sigv4_sign(&to_sign, &scope, &authorization);
    headers[count++] = (struct sigv4_header){STR("Authorization"), buf_str(&authorization)};
    struct curl_slist *list = NULL;
    for (size_t i = 0; i < count; i++) {
        list = add_header(list, arena, &headers[i]);
    }
    buf_finish(&authorization);
    return curl_slist_append(list, "Expect:"); /* no 100-continue */
}

/* The whole address of a request: SCHEME://PREFIX HOST PATH ? QUERY. */
static struct str make_url(const struct aws_client *client, struct arena *arena,
                           const struct aws_request *request)
{
    bool has_query = request->query.len > 0;
    return arena_format(arena, "%s://%.*s%.*s%.*s%s%.*s",
                        client->endpoint.is_secure ? "https" : "http",
                        STR_ARG(request->host_prefix), STR_ARG(client->endpoint.host),
                        STR_ARG(request->path), has_query ? "?" : "", STR_ARG(request->query));
}

/* Sets method and body. curl must not wait for a body after HEAD. */
static void set_method(CURL *curl, struct arena *arena, const struct aws_request *request)
{
    if (str_eq(request->method, STR("HEAD"))) {
        curl_easy_setopt(curl, CURLOPT_NOBODY, 1L);
    } else if (str_eq(request->method, STR("GET"))) {
        curl_easy_setopt(curl, CURLOPT_HTTPGET, 1L);
    } else {
        curl_easy_setopt(curl, CURLOPT_POSTFIELDS,
                         request->body.len == 0 ? "" : request->body.data);
        curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->body.len);
        curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, arena_copy_c(arena, request->method).data);
    }
}

static void set_options(const struct aws_client *client, CURL *curl, struct transfer *transfer,
                        struct curl_slist *headers, char *problem)
{
    const atomic_bool *stop = transfer->request->stop;
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, transfer);
    curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, on_header);
    curl_easy_setopt(curl, CURLOPT_HEADERDATA, transfer);
    curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, problem);
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(curl, CURLOPT_PATH_AS_IS, 1L); /* keys may have parts such as ".." */
    curl_easy_setopt(curl, CURLOPT_USERAGENT, "gramme/" GRAMME_VERSION);
    curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, client->connect_timeout_ms);
    curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, client->timeout_ms);
    if (client->endpoint.is_local) {
        curl_easy_setopt(curl, CURLOPT_PROXY, ""); /* regardless of the environment */
    }
    if (!str_is_null(client->ca_file)) {
        curl_easy_setopt(curl, CURLOPT_CAINFO, client->ca_file.data);
    }
    if (stop != NULL) {
        curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
        curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, on_progress);
        curl_easy_setopt(curl, CURLOPT_XFERINFODATA, stop);
    }
}

/* Stores the outcome as a response or a failure. */
static void conclude(const struct aws_client *client, CURL *curl, CURLcode code,
                     const struct transfer *transfer, const char *problem)
{
    struct aws_response *response = transfer->response;
    const char *what = problem[0] != '\0' ? problem : curl_easy_strerror(code);
    const char *url = client->endpoint.url.data;
    if (transfer->too_large) {
        fail(response, AWS_BAD_ANSWER, url, "the answer does not end");
    } else if (code == CURLE_ABORTED_BY_CALLBACK) {
        fail(response, AWS_STOPPED, url, "stopped");
    } else if (code == CURLE_OPERATION_TIMEDOUT) {
        fail(response, AWS_TIMED_OUT, url, what);
    } else if (code != CURLE_OK) {
        fail(response, AWS_CONNECTION_FAILED, url, what);
    } else if (transfer->has_crc32 &&
               transfer->crc32 !=
                   crc32(0, (const Bytef *)response->body.data, (uInt)response->body.len)) {
        fail(response, AWS_BAD_ANSWER, url, "the answer was damaged on the way");
    } else {
        long status = 0;
        curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
        response->status = (int)status;
    }
}

static void perform(struct aws_client *client, struct arena *arena,
                    const struct aws_request *request, struct aws_response *response,
                    struct curl_slist *headers)
{
    CURL *curl = take_handle(client);
    if (curl == NULL) {
        fail(response, AWS_CONNECTION_FAILED, client->endpoint.url.data, "curl cannot start");
        return;
    }
    struct transfer transfer = {.request = request, .response = response};
    char problem[CURL_ERROR_SIZE] = "";
    curl_easy_setopt(curl, CURLOPT_URL, make_url(client, arena, request).data);
    set_method(curl, arena, request);
    set_options(client, curl, &transfer, headers, problem);
    CURLcode code = curl_easy_perform(curl);
    conclude(client, curl, code, &transfer, problem);
    return_handle(client, curl);
}

/* Credentials that expired are replaced, if their source can. */
static void renew_if_expired(struct aws_client *client, struct aws_response *response)
{
    struct aws_error error;
    if (response->status < 400) {
        return;
    }
    aws_response_error(response, &error);
    if (strcmp(error.code, "ExpiredTokenException") == 0 ||
        strcmp(error.code, "ExpiredToken") == 0) {
        response->renewed = credential_source_renew(client->credentials);
    }
}

void aws_client_attempt(struct aws_client *client, const struct aws_request *request,
                        struct aws_response *response)
{
    struct arena arena;
    arena_init(&arena);
    struct secret_arena secrets = {0};
    struct credentials credentials;
    struct str problem;
    response->status = 0;
    response->body.len = 0;
    response->failure = NULL;
    response->request_id[0] = '\0';
    response->renewed = false;
    response->retry_after_ms = -1;
    if (!credential_source_get(client->credentials, &secrets, &credentials, &problem)) {
        response->failure = AWS_NO_CREDENTIALS;
        snprintf(response->detail, sizeof(response->detail), "%.*s", STR_ARG(problem));
    } else {
        struct curl_slist *headers = make_headers(client, &arena, request, &credentials);
        secret_arena_finish(&secrets); /* not kept for the time of the request */
        perform(client, &arena, request, response, headers);
        curl_slist_free_all(headers);
        renew_if_expired(client, response);
    }
    secret_arena_finish(&secrets);
    arena_erase(&arena); /* a header may be the session token */
    arena_finish(&arena);
}

void aws_response_finish(struct aws_response *response)
{
    buf_finish(&response->body);
}

/* --- opening --- */

static void start_curl(void)
{
    curl_global_init(CURL_GLOBAL_DEFAULT);
}

static int first_positive(int a, int b)
{
    return a > 0 ? a : b;
}

bool aws_client_open(const struct aws_options *options, struct aws_client **out,
                     struct aws_problem *problem)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, start_curl);
    struct aws_client *client = mem_zalloc(sizeof(*client));
    pthread_mutex_init(&client->lock, NULL);
    retry_quota_init(&client->quota);
    arena_init(&client->arena);
    if (!endpoint_find(&client->arena, options, &client->endpoint, problem)) {
        aws_client_close(client);
        return false;
    }
    client->service = arena_copy_c(&client->arena, str_from_c(options->service));
    client->connect_timeout_ms = first_positive(options->connect_timeout_ms, CONNECT_TIMEOUT_MS);
    client->timeout_ms = first_positive(options->timeout_ms, TIMEOUT_MS);
    client->attempts_max = endpoint_attempts(options);
    client->patience_ms = options->patience_ms;
    const char *ca_file =
        options->ca_file != NULL ? options->ca_file : profile_variable("AWS_CA_BUNDLE");
    if (ca_file != NULL) {
        client->ca_file = arena_copy_c(&client->arena, str_from_c(ca_file));
    }
    client->credentials = credential_source_create(options, client->endpoint.is_local);
    *out = client;
    return true;
}

void aws_client_close(struct aws_client *client)
{
    if (client == NULL) {
        return;
    }
    for (size_t i = 0; i < client->idle_count; i++) {
        curl_easy_cleanup(client->idle[i]);
    }
    credential_source_destroy(client->credentials);
    retry_quota_finish(&client->quota);
    pthread_mutex_destroy(&client->lock);
    arena_finish(&client->arena);
    mem_free(client);
}

int aws_client_attempts_max(const struct aws_client *client)
{
    return client->attempts_max;
}

struct str aws_client_url(const struct aws_client *client)
{
    return client->endpoint.url;
}
