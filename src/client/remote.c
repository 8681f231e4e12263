/* The transport to a DynamoDB over HTTP, with libcurl. Each calling thread borrows a curl handle,
 * which keeps its connection for the next call. */
#include <curl/curl.h>
#include <pthread.h>
#include <zlib.h>

#include "auth/sigv4.h"
#include "base/clock.h"
#include "base/mem.h"
#include "client/credentials_internal.h"
#include "client/endpoint_internal.h"
#include "client/error_internal.h"
#include "client/settings_internal.h"
#include "client/transport_internal.h"

enum {
    IDLE_MAX = 64,                        /* handles kept for later */
    ANSWER_BYTES_MAX = 256 * 1024 * 1024, /* responses of the service have at most 16 MB of items */
};

struct remote {
    struct transport transport;
    struct arena arena; /* of the settings */
    struct endpoint endpoint;
    struct str ca_file; /* ends with NUL; STR_NULL: the system's */
    long connect_timeout_ms;
    long timeout_ms;
    struct credential_source *credentials;
    pthread_mutex_t lock; /* of `idle` */
    CURL *idle[IDLE_MAX];
    size_t idle_count;
};

/* One attempt in progress. */
struct transfer {
    struct attempt *attempt;
    bool has_crc32;
    uint32_t crc32;
    bool too_large;
};

/* --- handles --- */

static CURL *take_handle(struct remote *remote)
{
    CURL *curl = NULL;
    pthread_mutex_lock(&remote->lock);
    if (remote->idle_count > 0) {
        curl = remote->idle[--remote->idle_count];
    }
    pthread_mutex_unlock(&remote->lock);
    return curl != NULL ? curl : curl_easy_init();
}

static void give_handle(struct remote *remote, CURL *curl)
{
    curl_easy_reset(curl); /* keeps the connection */
    pthread_mutex_lock(&remote->lock);
    bool kept = remote->idle_count < IDLE_MAX;
    if (kept) {
        remote->idle[remote->idle_count++] = curl;
    }
    pthread_mutex_unlock(&remote->lock);
    if (!kept) {
        curl_easy_cleanup(curl);
    }
}

/* --- callbacks of curl --- */

static size_t on_body(char *data, size_t size, size_t count, void *context)
{
    struct transfer *transfer = context;
    size_t len = size * count;
    if (transfer->attempt->answer.len + len > ANSWER_BYTES_MAX) {
        transfer->too_large = true;
        return 0; /* aborts the transfer */
    }
    buf_add(&transfer->attempt->answer, str_make(data, len));
    return len;
}

/* The value of a header line if it has this name; else STR_NULL. */
static struct str header_value(struct str line, struct str name)
{
    if (line.len <= name.len || line.data[name.len] != ':' ||
        !str_eq_nocase(str_make(line.data, name.len), name)) {
        return STR_NULL;
    }
    struct str value = str_skip(line, name.len + 1);
    while (value.len > 0 && (value.data[0] == ' ' || value.data[0] == '\t')) {
        value = str_skip(value, 1);
    }
    while (value.len > 0 && strchr(" \t\r\n", value.data[value.len - 1]) != NULL) {
        value.len--;
    }
    return value;
}

static size_t on_header(char *data, size_t size, size_t count, void *context)
{
    struct transfer *transfer = context;
    struct attempt *attempt = transfer->attempt;
    struct str line = str_make(data, size * count);
    struct str value = header_value(line, STR("x-amzn-requestid"));
    int64_t number;
    if (!str_is_null(value)) {
        size_t len = MIN(value.len, sizeof(attempt->request_id) - 1);
        memcpy(attempt->request_id, value.data, len);
        attempt->request_id[len] = '\0';
    }
    if (str_to_int64(header_value(line, STR("x-amz-crc32")), &number)) {
        transfer->has_crc32 = true;
        transfer->crc32 = (uint32_t)number;
    }
    if (str_to_int64(header_value(line, STR("x-amz-retry-after")), &number) && number >= 0) {
        attempt->wish_ms = number;
    }
    return line.len;
}

/* --- the request --- */

static struct curl_slist *add_header(struct curl_slist *list, struct arena *arena,
                                     const struct sigv4_header *header)
{
    struct str line =
        arena_format(arena, "%.*s: %.*s", STR_ARG(header->name), STR_ARG(header->value));
    return curl_slist_append(list, line.data);
}

/* Adds the headers of an operation, with what it is signed as. */
static size_t add_operation(struct arena *arena, const struct attempt *attempt,
                            struct sigv4_request *request, struct sigv4_header *headers)
{
    static const char *const prefixes[] = {[GROUP_DYNAMODB] = "DynamoDB_20120810",
                                           [GROUP_STREAMS] = "DynamoDBStreams_20120810",
                                           [GROUP_GRAMME] = "Gramme_20261115"};
    request->method = STR("POST");
    request->path = STR("/");
    request->body = attempt->body;
    headers[0] = (struct sigv4_header){STR("Content-Type"), STR("application/x-amz-json-1.0")};
    headers[1] = (struct sigv4_header){
        STR("X-Amz-Target"),
        arena_format(arena, "%s.%.*s", prefixes[attempt->group], STR_ARG(attempt->operation)),
    };
    return 2;
}

/* The same of a page. */
static size_t add_page(const struct attempt *attempt, struct sigv4_request *request)
{
    const char *mark = memchr(attempt->page.data, '?', attempt->page.len);
    size_t path_len = mark != NULL ? (size_t)(mark - attempt->page.data) : attempt->page.len;
    request->method = STR("GET");
    request->path = str_make(attempt->page.data, path_len);
    request->query = mark != NULL ? str_skip(attempt->page, path_len + 1) : STR("");
    return 0;
}

/* Makes all headers, including Authorization. */
static struct curl_slist *make_headers(const struct remote *remote, struct arena *arena,
                                       const struct attempt *attempt,
                                       const struct credentials *credentials)
{
    char time[SIGV4_TIME_SIZE];
    sigv4_format_time(clock_wall_ms(), time);
    struct sigv4_header headers[6];
    struct sigv4_request request = {.headers = headers};
    size_t count = str_is_null(attempt->page) ? add_operation(arena, attempt, &request, headers)
                                              : add_page(attempt, &request);
    headers[count++] = (struct sigv4_header){STR("Host"), remote->endpoint.host};
    headers[count++] = (struct sigv4_header){STR("X-Amz-Date"), str_from_c(time)};
    if (!str_is_null(credentials->session_token)) {
        headers[count++] =
            (struct sigv4_header){STR("X-Amz-Security-Token"), credentials->session_token};
    }
    request.header_count = count;
    struct sigv4_scope scope = {
        .access_key_id = credentials->access_key_id,
        .secret_access_key = credentials->secret_access_key,
        .region = remote->endpoint.region,
        .service = STR("dynamodb"),
        .time = str_from_c(time),
    };
    struct buf authorization = {0};
    sigv4_sign(&request, &scope, &authorization);
    headers[count++] = (struct sigv4_header){STR("Authorization"), buf_str(&authorization)};
    struct curl_slist *list = NULL;
    for (size_t i = 0; i < count; i++) {
        list = add_header(list, arena, &headers[i]);
    }
    buf_finish(&authorization);
    return curl_slist_append(list, "Expect:"); /* no 100-continue */
}

/* What is asked of which address. curl copies the address. */
static void set_request(const struct remote *remote, CURL *curl, const struct attempt *attempt)
{
    struct str url = remote->endpoint.url;
    if (str_is_null(attempt->page)) {
        curl_easy_setopt(curl, CURLOPT_URL, url.data);
        curl_easy_setopt(curl, CURLOPT_POST, 1L);
        curl_easy_setopt(curl, CURLOPT_POSTFIELDS, attempt->body.data);
        curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)attempt->body.len);
        return;
    }
    size_t len = url.len - (url.data[url.len - 1] == '/');
    struct buf address = {0};
    buf_format(&address, "%.*s%s", (int)len, url.data, attempt->page.data);
    buf_add_char(&address, '\0');
    curl_easy_setopt(curl, CURLOPT_URL, address.data);
    curl_easy_setopt(curl, CURLOPT_HTTPGET, 1L);
    buf_finish(&address);
}

static void set_options(const struct remote *remote, CURL *curl, struct transfer *transfer,
                        struct curl_slist *headers, char *problem)
{
    set_request(remote, curl, transfer->attempt);
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, transfer);
    curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, on_header);
    curl_easy_setopt(curl, CURLOPT_HEADERDATA, transfer);
    curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, problem);
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(curl, CURLOPT_USERAGENT, "gramme/" GRAMME_VERSION);
    curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, remote->connect_timeout_ms);
    curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, remote->timeout_ms);
    if (remote->endpoint.is_local) {
        curl_easy_setopt(curl, CURLOPT_PROXY, ""); /* regardless of the environment */
    }
    if (!str_is_null(remote->ca_file)) {
        curl_easy_setopt(curl, CURLOPT_CAINFO, remote->ca_file.data);
    }
}

/* Stores the outcome as a response or a failure. */
static void conclude(const struct remote *remote, CURL *curl, CURLcode code,
                     const struct transfer *transfer, const char *problem)
{
    struct attempt *attempt = transfer->attempt;
    const char *what = problem[0] != '\0' ? problem : curl_easy_strerror(code);
    const char *url = remote->endpoint.url.data;
    if (transfer->too_large) {
        attempt_fail(attempt, GRAMME_BAD_ANSWER, "%s: the answer does not end", url);
    } else if (code == CURLE_OPERATION_TIMEDOUT) {
        attempt_fail(attempt, GRAMME_TIMED_OUT, "%s: %s", url, what);
    } else if (code != CURLE_OK) {
        attempt_fail(attempt, GRAMME_CONNECTION_FAILED, "%s: %s", url, what);
    } else if (transfer->has_crc32 &&
               transfer->crc32 !=
                   crc32(0, (const Bytef *)attempt->answer.data, (uInt)attempt->answer.len)) {
        attempt_fail(attempt, GRAMME_BAD_ANSWER, "%s: the answer was damaged on the way", url);
    } else {
        long status = 0;
        curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
        attempt->status = (int)status;
    }
}

static void perform(struct remote *remote, struct attempt *attempt, struct curl_slist *headers)
{
    CURL *curl = take_handle(remote);
    if (curl == NULL) {
        attempt_fail(attempt, GRAMME_CONNECTION_FAILED, "curl cannot start");
        return;
    }
    struct transfer transfer = {.attempt = attempt};
    char problem[CURL_ERROR_SIZE] = "";
    set_options(remote, curl, &transfer, headers, problem);
    CURLcode code = curl_easy_perform(curl);
    conclude(remote, curl, code, &transfer, problem);
    give_handle(remote, curl);
}

static bool has_text(const struct buf *buf, const char *text)
{
    return str_contains(buf_str(buf), str_from_c(text));
}

static void remote_call(struct transport *transport, struct attempt *attempt)
{
    struct remote *remote = CONTAINER_OF(transport, struct remote, transport);
    struct arena arena;
    arena_init(&arena);
    struct credentials credentials;
    struct str problem;
    if (!credential_source_get(remote->credentials, &arena, &credentials, &problem)) {
        attempt_fail(attempt, GRAMME_NO_CREDENTIALS, "%.*s", STR_ARG(problem));
    } else {
        struct curl_slist *headers = make_headers(remote, &arena, attempt, &credentials);
        perform(remote, attempt, headers);
        curl_slist_free_all(headers);
        if (attempt->status >= 400 && has_text(&attempt->answer, "#ExpiredTokenException")) {
            attempt->renewed = credential_source_renew(remote->credentials);
        }
    }
    arena_finish(&arena);
}

/* --- opening --- */

static void remote_close(struct transport *transport)
{
    struct remote *remote = CONTAINER_OF(transport, struct remote, transport);
    for (size_t i = 0; i < remote->idle_count; i++) {
        curl_easy_cleanup(remote->idle[i]);
    }
    credential_source_destroy(remote->credentials);
    pthread_mutex_destroy(&remote->lock);
    arena_finish(&remote->arena);
    mem_free(remote);
}

static int first_positive(int a, int b)
{
    return a > 0 ? a : b;
}

static void start_curl(void)
{
    curl_global_init(CURL_GLOBAL_DEFAULT);
}

bool remote_open(const char *url, const struct gramme_options *options, struct transport **out,
                 struct gramme_error **error)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, start_curl);
    struct remote *remote = mem_zalloc(sizeof(*remote));
    remote->transport = (struct transport){remote_call, remote_close, endpoint_attempts(options)};
    pthread_mutex_init(&remote->lock, NULL);
    arena_init(&remote->arena);
    if (!endpoint_find(&remote->arena, url, options, &remote->endpoint, error)) {
        remote_close(&remote->transport);
        return false;
    }
    remote->connect_timeout_ms = first_positive(options->connect_timeout_ms, 3000);
    remote->timeout_ms = first_positive(options->timeout_ms, 30000);
    const char *ca_file =
        options->ca_file != NULL ? options->ca_file : settings_variable("AWS_CA_BUNDLE");
    if (ca_file != NULL) {
        remote->ca_file = arena_copy_c(&remote->arena, str_from_c(ca_file));
    }
    remote->credentials = credential_source_create(options, remote->endpoint.is_local);
    *out = &remote->transport;
    return true;
}
