/* Fetches credentials from the metadata services of containers and EC2 instances, over HTTP. Called
 * by credentials.c. */
#include "aws/metadata_internal.h"

#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "aws/profile.h"
#include "base/buf.h"
#include "json/reader.h"

#define CONTAINER_HOST   "http://169.254.170.2"
#define INSTANCE_HOST    "http://169.254.169.254"
#define CREDENTIALS_PATH "/latest/meta-data/iam/security-credentials/"
#define TOKEN_PATH       "/latest/api/token"
#define TOKEN_TTL_HEADER "X-aws-ec2-metadata-token-ttl-seconds: 21600"
#define TOKEN_HEADER     "X-aws-ec2-metadata-token: "

enum {
    RESPONSE_BYTES_MAX = 64 * 1024,
    TOKEN_FILE_LEN_MAX = 8192,
    TIMEOUT_MS = 1000,
    ATTEMPTS = 3, /* these services sometimes drop a request */
};

/* --- HTTP --- */

struct fetch {
    const char *method;
    struct str url;    /* ends with NUL */
    struct str header; /* a whole line that ends with NUL, or STR_NULL */
    struct buf body;
};

static size_t on_body(char *data, size_t size, size_t count, void *context)
{
    struct buf *body = context;
    if (body->len + size * count > RESPONSE_BYTES_MAX) {
        return 0;
    }
    buf_add(body, str_make(data, size * count));
    return size * count;
}

/* Makes one attempt. Returns the HTTP status, or 0. */
static long fetch_once(struct fetch *fetch, CURL *curl, struct curl_slist *headers)
{
    long status = 0;
    fetch->body.len = 0;
    curl_easy_setopt(curl, CURLOPT_URL, fetch->url.data);
    curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, fetch->method);
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, &fetch->body);
    curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, (long)TIMEOUT_MS);
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_PROXY, "");
    curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
    if (curl_easy_perform(curl) == CURLE_OK) {
        curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
    }
    return status;
}

/* Frees the body, which may hold a secret. */
static void fetch_finish(struct fetch *fetch)
{
    buf_erase(&fetch->body);
    buf_finish(&fetch->body);
}

/* Fetches into fetch->body; fetch_finish() frees it. */
static bool fetch_run(struct fetch *fetch, struct arena *arena, struct str *problem)
{
    long status = 0;
    CURL *curl = curl_easy_init();
    struct curl_slist *headers =
        str_is_null(fetch->header) ? NULL : curl_slist_append(NULL, fetch->header.data);
    (void)buf_reserve(&fetch->body, RESPONSE_BYTES_MAX); /* growing leaves copies in freed memory */
    for (int i = 0; curl != NULL && i < ATTEMPTS && (status == 0 || status >= 500); i++) {
        status = fetch_once(fetch, curl, headers);
    }
    curl_slist_free_all(headers);
    curl_easy_cleanup(curl);
    if (status != 200) {
        *problem =
            arena_format(arena, "%.*s: %s %d", STR_ARG(fetch->url),
                         status == 0 ? "no answer, HTTP status" : "HTTP status", (int)status);
    }
    return status == 200;
}

/* --- responses --- */

/* Reads "2026-01-01T00:00:00Z"; INT64_MAX if there is none. */
static int64_t expiry_ms(struct str text)
{
    struct tm parts = {0};
    if (str_is_null(text) || strptime(text.data, "%Y-%m-%dT%H:%M:%S", &parts) == NULL) {
        return INT64_MAX;
    }
    return (int64_t)timegm(&parts) * 1000;
}

/* Where the value of a member goes; NULL: it is not needed. */
static struct str *member_of(struct credentials *out, struct str *expiration, struct str name)
{
    return str_eq(name, STR("AccessKeyId"))       ? &out->access_key_id
           : str_eq(name, STR("SecretAccessKey")) ? &out->secret_access_key
           : str_eq(name, STR("Token"))           ? &out->session_token
           : str_eq(name, STR("Expiration"))      ? expiration
                                                  : NULL;
}

/* Reads the members of the response's object. False: it is not an object. */
static bool read_members(struct arena *arena, struct str body, struct credentials *out)
{
    struct json_reader reader;
    struct json_string name;
    struct json_string value;
    struct str expiration = STR_NULL;
    json_reader_init(&reader, arena, body);
    if (!json_enter_object(&reader)) {
        return false;
    }
    while (json_next_member(&reader, &name)) {
        struct str *member = member_of(out, &expiration, name.text);
        if (member == NULL || json_peek(&reader) != JSON_STRING) {
            json_skip(&reader);
        } else if (json_read_string(&reader, &value)) {
            *member = arena_copy_c(arena, value.text);
        }
    }
    out->expires_ms = expiry_ms(expiration);
    return json_at_end(&reader);
}

static bool read_credentials(struct arena *arena, const struct fetch *fetch,
                             struct credentials *out, struct str *problem)
{
    *out = (struct credentials){0};
    bool good = read_members(arena, buf_str(&fetch->body), out) &&
                !str_is_null(out->access_key_id) && !str_is_null(out->secret_access_key);
    if (!good) {
        *problem = arena_format(arena, "%.*s: no credentials in the answer", STR_ARG(fetch->url));
    }
    return good;
}

static bool fetch_credentials(struct fetch *fetch, struct arena *arena, struct credentials *out,
                              struct str *problem)
{
    bool good = fetch_run(fetch, arena, problem) && read_credentials(arena, fetch, out, problem);
    fetch_finish(fetch);
    return good;
}

/* --- containers --- */

bool metadata_has_container(void)
{
    return profile_variable("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI") != NULL ||
           profile_variable("AWS_CONTAINER_CREDENTIALS_FULL_URI") != NULL;
}

bool metadata_may_ask(const char *url)
{
    static const char *const hosts[] = {"localhost", "[::1]", "169.254.170.2", "169.254.170.23",
                                        "[fd00:ec2::23]"};
    CURLU *parts = curl_url();
    char *scheme = NULL;
    char *host = NULL;
    bool may = false;
    if (curl_url_set(parts, CURLUPART_URL, url, 0) == CURLUE_OK &&
        curl_url_get(parts, CURLUPART_SCHEME, &scheme, 0) == CURLUE_OK &&
        curl_url_get(parts, CURLUPART_HOST, &host, 0) == CURLUE_OK) {
        bool is_number = host[strspn(host, "0123456789.")] == '\0';
        may = is_number && strncmp(host, "127.", 4) == 0; /* not 127.example.com */
        for (size_t i = 0; i < COUNT_OF(hosts); i++) {
            may = may || strcmp(host, hosts[i]) == 0;
        }
        may = strcmp(scheme, "https") == 0 || (may && strcmp(scheme, "http") == 0);
    }
    curl_free(scheme);
    curl_free(host);
    curl_url_cleanup(parts);
    return may;
}

/* Returns the contents of a file without trailing white space, NUL-terminated; STR_NULL: it cannot
 * be read. */
static struct str read_token_file(struct arena *arena, const char *path)
{
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        return STR_NULL;
    }
    char *text = arena_bytes(arena, TOKEN_FILE_LEN_MAX + 1);
    size_t len = fread(text, 1, TOKEN_FILE_LEN_MAX, file);
    fclose(file);
    while (len > 0 && strchr(" \t\r\n", text[len - 1]) != NULL) {
        len--;
    }
    text[len] = '\0';
    return str_make(text, len);
}

/* Finds the authorization token of the container; STR_NULL: none is needed. False: there should be
 * one, but there is not. */
static bool container_token(struct arena *arena, struct str *out, struct str *problem)
{
    const char *path = profile_variable("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
    *out = str_from_c(profile_variable("AWS_CONTAINER_AUTHORIZATION_TOKEN"));
    if (path != NULL) {
        *out = read_token_file(arena, path);
        if (str_is_null(*out)) {
            *problem = arena_format(arena, "%s: cannot be read", path);
            return false;
        }
    }
    if (!str_is_null(*out) && strpbrk(out->data, "\r\n") != NULL) {
        *problem = STR("the container's authorization token has more than one line");
        return false;
    }
    return true;
}

bool metadata_from_container(struct arena *arena, struct credentials *out, struct str *problem)
{
    const char *relative = profile_variable("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
    const char *full = profile_variable("AWS_CONTAINER_CREDENTIALS_FULL_URI");
    const char *host = profile_variable("GRAMME_CONTAINER_ENDPOINT"); /* for tests */
    struct fetch fetch = {.method = "GET"};
    if (relative != NULL) {
        fetch.url = arena_format(arena, "%s%s", host != NULL ? host : CONTAINER_HOST, relative);
    } else if (metadata_may_ask(full)) {
        fetch.url = arena_copy_c(arena, str_from_c(full));
    } else {
        *problem = arena_format(arena, "%s: not an address that may give credentials", full);
        return false;
    }
    struct str token;
    if (!container_token(arena, &token, problem)) {
        return false;
    }
    if (!str_is_null(token)) {
        fetch.header = arena_format(arena, "Authorization: %.*s", STR_ARG(token));
    }
    return fetch_credentials(&fetch, arena, out, problem);
}

/* --- instances: version 2 of the service, which requires a token first --- */

bool metadata_has_instance(void)
{
    const char *disabled = profile_variable("AWS_EC2_METADATA_DISABLED");
    return disabled == NULL || strcasecmp(disabled, "true") != 0;
}

static const char *instance_host(void)
{
    const char *host = profile_variable("AWS_EC2_METADATA_SERVICE_ENDPOINT");
    return host != NULL ? host : INSTANCE_HOST;
}

/* Returns the URL of a path of the service, whether or not its address ends with a slash. */
static struct str instance_url(struct arena *arena, struct str path)
{
    struct str host = str_from_c(instance_host());
    while (host.len > 0 && host.data[host.len - 1] == '/') {
        host.len--;
    }
    return arena_format(arena, "%.*s%.*s", STR_ARG(host), STR_ARG(path));
}

/* Returns the first line of a response, as text that may be used in a URL or a header. */
static bool first_line(struct arena *arena, const struct buf *body, struct str *out)
{
    size_t len = 0;
    while (len < body->len && body->data[len] > ' ' && body->data[len] < 0x7F) {
        len++;
    }
    *out = arena_copy(arena, str_make(body->data, len));
    return len > 0;
}

/* Fetches one line of text. */
static bool fetch_line(struct fetch *fetch, struct arena *arena, struct str *out,
                       struct str *problem)
{
    bool good = fetch_run(fetch, arena, problem);
    if (good && !first_line(arena, &fetch->body, out)) {
        *problem = arena_format(arena, "%.*s: an empty answer", STR_ARG(fetch->url));
        good = false;
    }
    fetch_finish(fetch);
    return good;
}

bool metadata_from_instance(struct arena *arena, struct credentials *out, struct str *problem)
{
    struct str token;
    struct str role;
    struct fetch ask_token = {.method = "PUT",
                              .url = instance_url(arena, STR(TOKEN_PATH)),
                              .header = STR(TOKEN_TTL_HEADER)};
    if (!fetch_line(&ask_token, arena, &token, problem)) {
        return false;
    }
    struct str header = arena_format(arena, TOKEN_HEADER "%.*s", STR_ARG(token));
    struct fetch ask_role = {
        .method = "GET", .url = instance_url(arena, STR(CREDENTIALS_PATH)), .header = header};
    if (!fetch_line(&ask_role, arena, &role, problem)) {
        return false;
    }
    struct str path = arena_format(arena, CREDENTIALS_PATH "%.*s", STR_ARG(role));
    struct fetch ask = {.method = "GET", .url = instance_url(arena, path), .header = header};
    return fetch_credentials(&ask, arena, out, problem);
}
