/* Finds the address and region of a service. Called when a client is opened. */
#include "aws/endpoint.h"

#include <ctype.h>
#include <curl/curl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "aws/profile.h"
#include "aws/retry.h"

bool aws_problem_set(struct aws_problem *problem, const char *code, const char *format, ...)
{
    if (problem != NULL) {
        va_list args;
        va_start(args, format);
        problem->code = code;
        vsnprintf(problem->text, sizeof(problem->text), format, args);
        va_end(args);
    }
    return false;
}

static struct str find_region(struct arena *arena, const struct aws_options *options)
{
    if (options->region != NULL) {
        return arena_copy_c(arena, str_from_c(options->region));
    }
    const char *region = profile_variable("AWS_REGION");
    region = region != NULL ? region : profile_variable("AWS_DEFAULT_REGION");
    return region != NULL ? arena_copy_c(arena, str_from_c(region))
                          : profile_setting(arena, options->profile, "region");
}

/* Returns "eu-west-1" of dynamodb.eu-west-1.amazonaws.com and s3.dualstack.eu-west-1.amazonaws.com;
 * STR_NULL: the name has none. */
static struct str region_of_host(struct arena *arena, const char *service, struct str host)
{
    struct str streams = STR("streams.");
    struct str start = arena_format(arena, "%s.", service);
    if (str_starts_with(host, streams)) {
        host = str_skip(host, streams.len);
    }
    if (!str_starts_with(host, start)) {
        return STR_NULL;
    }
    struct str rest = str_skip(host, start.len);
    const char *end = memmem(rest.data, rest.len, ".amazonaws.com", 14);
    if (end == NULL) {
        return STR_NULL;
    }
    struct str names = str_make(rest.data, (size_t)(end - rest.data));
    const char *dot = memrchr(names.data, '.', names.len);
    return arena_copy_c(arena,
                        dot == NULL ? names : str_skip(names, (size_t)(dot - names.data) + 1));
}

/* Returns the service's address in a region. */
static struct str service_url(struct arena *arena, const char *service, struct str region)
{
    const char *end = str_starts_with(region, STR("cn-")) ? "amazonaws.com.cn" : "amazonaws.com";
    return arena_format(arena, "https://%s.%.*s.%s", service, STR_ARG(region), end);
}

/* Returns the name of the variable with the service's address: AWS_ENDPOINT_URL_DYNAMODB. */
static struct str service_variable(struct arena *arena, const char *service)
{
    struct str name = arena_format(arena, "AWS_ENDPOINT_URL_%s", service);
    for (char *at = (char *)name.data; *at != '\0'; at++) {
        *at = (char)toupper((unsigned char)*at);
    }
    return name;
}

/* Finds the address for `aws:`. */
static bool find_url(struct arena *arena, const struct aws_options *options, struct str region,
                     struct str *out, struct aws_problem *problem)
{
    const char *url = profile_variable(service_variable(arena, options->service).data);
    url = url != NULL ? url : profile_variable("AWS_ENDPOINT_URL");
    if (url != NULL) {
        *out = arena_copy_c(arena, str_from_c(url));
        return true;
    }
    struct str set = profile_setting(arena, options->profile, "endpoint_url");
    if (!str_is_null(set)) {
        *out = set;
        return true;
    }
    if (str_is_null(region)) {
        return aws_problem_set(
            problem, AWS_NO_REGION,
            "no region: set it in the options, as AWS_REGION, or in the profile");
    }
    *out = service_url(arena, options->service, region);
    return true;
}

static bool is_local_host(struct str host)
{
    struct str end = STR(".localhost");
    return str_eq_nocase(host, STR("localhost")) || str_starts_with(host, STR("127.")) ||
           str_eq(host, STR("[::1]")) ||
           (host.len > end.len && str_eq_nocase(str_skip(host, host.len - end.len), end));
}

/* Returns a part of an address, in the arena; STR_NULL: it has none. */
static struct str url_part(struct arena *arena, CURLU *url, CURLUPart part)
{
    char *text = NULL;
    if (curl_url_get(url, part, &text, 0) != CURLUE_OK) {
        return STR_NULL;
    }
    struct str copy = arena_copy_c(arena, str_from_c(text));
    curl_free(text);
    return copy;
}

/* Splits the address into its parts; refuses parts that it must not have. */
static bool read_url(struct arena *arena, CURLU *url, struct endpoint *out)
{
    struct str scheme = url_part(arena, url, CURLUPART_SCHEME);
    struct str host = url_part(arena, url, CURLUPART_HOST);
    struct str port = url_part(arena, url, CURLUPART_PORT);
    struct str path = url_part(arena, url, CURLUPART_PATH);
    bool is_http = str_eq(scheme, STR("http"));
    if ((!is_http && !str_eq(scheme, STR("https"))) || !str_eq(path, STR("/")) ||
        !str_is_null(url_part(arena, url, CURLUPART_USER)) ||
        !str_is_null(url_part(arena, url, CURLUPART_QUERY)) ||
        !str_is_null(url_part(arena, url, CURLUPART_FRAGMENT))) {
        return false;
    }
    bool is_usual = str_eq(port, is_http ? STR("80") : STR("443"));
    out->is_local = is_local_host(host);
    out->is_secure = !is_http;
    out->host = str_is_null(port) || is_usual
                    ? host
                    : arena_format(arena, "%.*s:%.*s", STR_ARG(host), STR_ARG(port));
    return true;
}

bool endpoint_find(struct arena *arena, const struct aws_options *options, struct endpoint *out,
                   struct aws_problem *problem)
{
    const char *url = options->url != NULL ? options->url : "aws:";
    *out = (struct endpoint){.region = find_region(arena, options)};
    if (strcmp(url, "aws:") != 0) {
        out->url = arena_copy_c(arena, str_from_c(url));
    } else if (!find_url(arena, options, out->region, &out->url, problem)) {
        return false;
    }
    CURLU *parts = curl_url();
    bool good = curl_url_set(parts, CURLUPART_URL, out->url.data, 0) == CURLUE_OK &&
                read_url(arena, parts, out);
    curl_url_cleanup(parts);
    if (!good) {
        return aws_problem_set(problem, AWS_BAD_ADDRESS,
                               "'%s' is not an address such as http://localhost:8000",
                               out->url.data);
    }
    struct str named = region_of_host(arena, options->service, out->host);
    if (!str_is_null(named) && options->region == NULL) {
        out->region = named;
    }
    if (str_is_null(out->region)) {
        out->region = STR("us-east-1"); /* for servers that ignore the region */
    }
    return true;
}

int endpoint_attempts(const struct aws_options *options)
{
    struct arena arena;
    arena_init(&arena);
    const char *text = profile_variable("AWS_MAX_ATTEMPTS");
    struct str setting =
        text != NULL ? str_from_c(text) : profile_setting(&arena, options->profile, "max_attempts");
    int64_t attempts = options->attempts_max;
    if (attempts <= 0 && (!str_to_int64(setting, &attempts) || attempts < 1)) {
        attempts = RETRY_ATTEMPTS;
    }
    arena_finish(&arena);
    return (int)MIN(attempts, (int64_t)100);
}
