/* Verifies SigV4 on the server: reads what a request claims, in the order in which the service
 * checks it, and recomputes the signature. Called by sign_in.c for every request when signatures
 * are checked, on the thread that serves it; keeps no state. */
#include "auth/sigv4_check.h"

#include <openssl/crypto.h>
#include <stdlib.h>
#include <time.h>

#include "base/percent.h"
#include "err/messages.h"

#define ALGORITHM "AWS4-HMAC-SHA256"
#define SPACES    " \t"

static bool is_space(char c)
{
    return c == ' ' || c == '\t'; /* SPACES */
}

static size_t find(struct str text, char c)
{
    const char *at = text.len > 0 ? memchr(text.data, c, text.len) : NULL;
    return at != NULL ? (size_t)(at - text.data) : text.len;
}

/* Returns the text before the next `end`, and advances *rest past `end`. */
static struct str take_until(struct str *rest, char end)
{
    size_t len = find(*rest, end);
    struct str taken = str_make(rest->data, len);
    *rest = str_skip(*rest, len < rest->len ? len + 1 : len);
    return taken;
}

/* Returns the value of the first header with this name, or STR_NULL. */
static struct str find_header(const struct sigv4_head *head, struct str name)
{
    for (size_t i = 0; i < head->header_count; i++) {
        if (str_eq_nocase(head->headers[i].name, name)) {
            return head->headers[i].value;
        }
    }
    return STR_NULL;
}

/* Query string ----------------------------------------------------------------------------- */

struct parameter {
    struct str name; /* percent-encoded in canonical form */
    struct str value;
};

struct parameters {
    struct parameter *list;
    size_t count;
};

static size_t count_of(struct str text, char c)
{
    size_t count = 0;
    for (size_t i = 0; i < text.len; i++) {
        count += text.data[i] == c;
    }
    return count;
}

/* Returns the parameters of a query string in order of arrival. */
static struct parameters read_query(struct arena *arena, struct str query)
{
    struct parameters parameters = {
        .list = ARENA_ARRAY(arena, struct parameter, count_of(query, '&') + 1)};
    while (query.len > 0) {
        struct str pair = take_until(&query, '&');
        if (pair.len == 0) {
            continue;
        }
        struct str name = take_until(&pair, '=');
        parameters.list[parameters.count++] = (struct parameter){
            .name = percent_encode(arena, percent_decode(arena, name, '+'), ""),
            .value = percent_encode(arena, percent_decode(arena, pair, '+'), ""),
        };
    }
    return parameters;
}

/* Returns the decoded value of the first parameter with this name, or STR_NULL. */
static struct str find_parameter(struct arena *arena, const struct parameters *parameters,
                                 struct str name)
{
    for (size_t i = 0; i < parameters->count; i++) {
        if (str_eq(parameters->list[i].name, name)) {
            return percent_decode(arena, parameters->list[i].value, '+');
        }
    }
    return STR_NULL;
}

static int compare_parameters(const void *a, const void *b)
{
    const struct parameter *left = a;
    const struct parameter *right = b;
    int order = str_cmp(left->name, right->name);
    return order != 0 ? order : str_cmp(left->value, right->value);
}

static struct str query_of(struct str target)
{
    (void)take_until(&target, '?');
    return target;
}

static struct str canonical_query(struct arena *arena, struct str target)
{
    struct str query = query_of(target);
    if (query.len == 0) {
        return STR("");
    }
    struct parameters parameters = read_query(arena, query);
    qsort(parameters.list, parameters.count, sizeof(parameters.list[0]), compare_parameters);
    char *out = arena_bytes(arena, query.len * 3 + parameters.count * 2);
    size_t len = 0;
    for (size_t i = 0; i < parameters.count; i++) {
        const struct parameter *parameter = &parameters.list[i];
        if (str_eq(parameter->name, STR("X-Amz-Signature"))) {
            continue;
        }
        if (len > 0) {
            out[len++] = '&';
        }
        memcpy(out + len, parameter->name.data, parameter->name.len);
        len += parameter->name.len;
        out[len++] = '=';
        memcpy(out + len, parameter->value.data, parameter->value.len);
        len += parameter->value.len;
    }
    return str_make(out, len);
}

static struct str canonical_path(struct arena *arena, struct str target)
{
    struct str path = take_until(&target, '?');
    return path.len == 0 ? STR("/") : percent_encode(arena, path, "/");
}

/* What is claimed -------------------------------------------------------------------------- */

/* The parts of an Authorization header or query string; STR_NULL: missing. */
struct parts {
    struct str algorithm;
    struct str credential;
    struct str signature;
    struct str signed_headers;
    struct str time; /* as sent: X-Amz-Date or Date */
    struct str token;
};

/* authorization = algorithm { (" " | ",") name "=" value }; of several values of one name the last
 * counts. */
static bool read_authorization(struct str header, struct parts *out, struct err *err)
{
    struct str rest = header;
    out->algorithm = take_until(&rest, ' ');
    while (rest.len > 0) {
        size_t len = 0;
        while (len < rest.len && rest.data[len] != ',' && !is_space(rest.data[len])) {
            len++;
        }
        struct str part = str_make(rest.data, len);
        rest = str_skip(rest, len < rest.len ? len + 1 : len);
        if (part.len == 0) {
            continue;
        }
        struct str value = part;
        struct str name = take_until(&value, '=');
        if (name.len == part.len) {
            return err_set(
                err, ERR_INCOMPLETE_SIGNATURE,
                "'%.*s' not a valid key=value pair (missing equal-sign) in Authorization "
                "header: '%.*s'.",
                STR_ARG(part), STR_ARG(header));
        }
        if (str_eq(name, STR("Credential"))) {
            out->credential = value;
        } else if (str_eq(name, STR("Signature"))) {
            out->signature = value;
        } else if (str_eq(name, STR("SignedHeaders"))) {
            out->signed_headers = value;
        }
    }
    return true;
}

static bool is_missing(struct str text)
{
    return text.len == 0;
}

static bool check_header_parts(struct arena *arena, struct str header, const struct parts *parts,
                               struct err *err)
{
    static const char require[] = "Authorization header requires '%s' parameter. ";
    if (!is_missing(parts->credential) && !is_missing(parts->signature) &&
        !is_missing(parts->signed_headers) && !is_missing(parts->time)) {
        return true;
    }
    struct str credential =
        is_missing(parts->credential) ? arena_format(arena, require, "Credential") : STR("");
    struct str signature =
        is_missing(parts->signature) ? arena_format(arena, require, "Signature") : STR("");
    struct str names =
        is_missing(parts->signed_headers) ? arena_format(arena, require, "SignedHeaders") : STR("");
    struct str date =
        is_missing(parts->time)
            ? STR("Authorization header requires existence of either a 'X-Amz-Date' or "
                  "a 'Date' header. ")
            : STR("");
    return err_set(err, ERR_INCOMPLETE_SIGNATURE, "%.*s%.*s%.*s%.*sAuthorization=%.*s",
                   STR_ARG(credential), STR_ARG(signature), STR_ARG(names), STR_ARG(date),
                   STR_ARG(header));
}

static bool check_query_parts(struct arena *arena, const struct parts *parts, struct err *err)
{
    const struct {
        const char *name;
        struct str value;
    } wanted[] = {
        {"X-Amz-Algorithm", parts->algorithm}, {"X-Amz-Credential", parts->credential},
        {"X-Amz-Signature", parts->signature}, {"X-Amz-SignedHeaders", parts->signed_headers},
        {"X-Amz-Date", parts->time},
    };
    struct str text = STR("");
    for (size_t i = 0; i < COUNT_OF(wanted); i++) {
        if (is_missing(wanted[i].value)) {
            text = arena_format(arena, "%.*sAWS query-string parameters must include '%s'. ",
                                STR_ARG(text), wanted[i].name);
        }
    }
    return text.len == 0 || err_set(err, ERR_INCOMPLETE_SIGNATURE,
                                    "%.*sRe-examine the query-string parameters.", STR_ARG(text));
}

/* Time ------------------------------------------------------------------------------------- */

static int digits_at(struct str text, size_t at, size_t count)
{
    int value = 0;
    for (size_t i = at; i < at + count; i++) {
        value = value * 10 + (text.data[i] - '0');
    }
    return value;
}

/* Days since 1970-01-01 of a date of the Gregorian calendar. A year of the computation begins in
 * March, so that a leap day is the last day of its year. */
static int64_t days_since_1970(int year, int month, int day)
{
    int64_t years = month > 2 ? year : year - 1;
    int64_t day_of_year = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1;
    return years * 365 + years / 4 - years / 100 + years / 400 + day_of_year - 719468;
}

/* "20150830T123600Z". Every request has such a time: timegm() would take a microsecond. */
static bool parse_basic_time(struct str text, int64_t *out_ms)
{
    static const char form[] = "ddddddddTddddddZ";
    if (text.len != SIGV4_TIME_SIZE - 1) {
        return false;
    }
    for (size_t i = 0; i < text.len; i++) {
        bool is_digit = text.data[i] >= '0' && text.data[i] <= '9';
        if (form[i] == 'd' ? !is_digit : text.data[i] != form[i]) {
            return false;
        }
    }
    int month = digits_at(text, 4, 2);
    int day = digits_at(text, 6, 2);
    int hour = digits_at(text, 9, 2);
    int minute = digits_at(text, 11, 2);
    int second = digits_at(text, 13, 2);
    if (month < 1 || month > 12 || day < 1 || day > 31 || hour > 23 || minute > 59 || second > 61) {
        return false;
    }
    int64_t days = days_since_1970(digits_at(text, 0, 4), month, day);
    *out_ms = (((days * 24 + hour) * 60 + minute) * 60 + second) * 1000;
    return true;
}

/* "Sun, 06 Nov 1994 08:49:37 GMT" */
static bool parse_http_date(struct str text, int64_t *out_ms)
{
    char copy[40] = {0};
    if (text.len >= sizeof(copy)) {
        return false;
    }
    memcpy(copy, text.data, text.len);
    struct tm parts = {0};
    const char *end = strptime(copy, "%a, %d %b %Y %H:%M:%S GMT", &parts);
    if (end == NULL || *end != '\0') {
        return false;
    }
    *out_ms = (int64_t)timegm(&parts) * 1000;
    return true;
}

/* Parses the time of a request. *out is the time in SigV4's form. */
static bool read_time(struct arena *arena, struct str sent, struct str *out, int64_t *out_ms,
                      struct err *err)
{
    *out = sent;
    if (parse_basic_time(sent, out_ms)) {
        return true;
    }
    if (parse_http_date(sent, out_ms)) {
        char *text = arena_bytes(arena, SIGV4_TIME_SIZE);
        sigv4_format_time(*out_ms, text);
        *out = str_make(text, SIGV4_TIME_SIZE - 1);
        return true;
    }
    return err_set(err, ERR_INCOMPLETE_SIGNATURE,
                   "Date must be in ISO-8601 'basic format'. Got '%.*s'. See "
                   "http://en.wikipedia.org/wiki/ISO_8601",
                   STR_ARG(sent));
}

static bool check_clock(const struct sigv4_expected *expected, struct str time, int64_t time_ms,
                        struct err *err)
{
    bool is_past = time_ms < expected->now_ms - expected->skew_ms;
    if (!is_past && time_ms <= expected->now_ms + expected->skew_ms) {
        return true;
    }
    char now[SIGV4_TIME_SIZE];
    char limit[SIGV4_TIME_SIZE];
    int64_t limit_ms = expected->now_ms + (is_past ? -expected->skew_ms : expected->skew_ms);
    sigv4_format_time(expected->now_ms, now);
    sigv4_format_time(limit_ms, limit);
    int minutes = (int)(expected->skew_ms / 60000);
    return is_past
               ? err_set(err, ERR_INVALID_SIGNATURE,
                         "Signature expired: %.*s is now earlier than %s (%s - %d min.)",
                         STR_ARG(time), limit, now, minutes)
               : err_set(err, ERR_INVALID_SIGNATURE,
                         "Signature not yet current: %.*s is still later than %s (%s + %d min.)",
                         STR_ARG(time), limit, now, minutes);
}

/* Scope ------------------------------------------------------------------------------------ */

static bool has_name(struct str names, struct str wanted)
{
    while (names.len > 0) {
        if (str_eq_nocase(take_until(&names, ';'), wanted)) {
            return true;
        }
    }
    return false;
}

/* Checks the credential scope. The error has one sentence for each wrong part. */
static bool check_scope(struct arena *arena, const struct sigv4_expected *expected,
                        const struct sigv4_claim *claim, struct str service, struct str terminator,
                        struct err *err)
{
    struct str text = STR("");
    if (!str_is_null(expected->region) && !str_eq(claim->region, expected->region)) {
        text = STR("Credential should be scoped to a valid region. ");
    }
    if (!str_eq(service, expected->service)) {
        text = arena_format(arena, "%.*sCredential should be scoped to correct service: '%.*s'. ",
                            STR_ARG(text), STR_ARG(expected->service));
    }
    if (!str_eq(terminator, STR("aws4_request"))) {
        text = arena_format(arena,
                            "%.*sCredential should be scoped with a valid terminator: "
                            "'aws4_request', not '%.*s'. ",
                            STR_ARG(text), STR_ARG(terminator));
    }
    if (!str_eq(claim->day, str_make(claim->time.data, SIGV4_DAY_LEN))) {
        text = arena_format(arena,
                            "%.*sDate in Credential scope does not match YYYYMMDD from ISO-8601 "
                            "version of date from HTTP: '%.*s' != '%.*s', from '%.*s'.",
                            STR_ARG(text), STR_ARG(claim->day), SIGV4_DAY_LEN, claim->time.data,
                            STR_ARG(claim->time));
    }
    return text.len == 0 || err_set_str(err, ERR_INVALID_SIGNATURE, text);
}

/* credential = key id "/" day "/" region "/" service "/" terminator */
static bool read_credential(struct arena *arena, const struct sigv4_expected *expected,
                            struct str credential, struct sigv4_claim *claim, struct err *err)
{
    if (count_of(credential, '/') != 4) {
        return err_set(err, ERR_INCOMPLETE_SIGNATURE,
                       "Credential must have exactly 5 slash-delimited elements, e.g. "
                       "keyid/date/region/service/term, got '%.*s'",
                       STR_ARG(credential));
    }
    struct str rest = credential;
    claim->access_key_id = take_until(&rest, '/');
    claim->scope = rest;
    claim->day = take_until(&rest, '/');
    claim->region = take_until(&rest, '/');
    struct str service = take_until(&rest, '/');
    return check_scope(arena, expected, claim, service, rest, err);
}

/* Reading the claim ------------------------------------------------------------------------ */

static bool read_parts(struct arena *arena, const struct sigv4_head *head, struct parts *out,
                       bool *out_is_in_query, struct err *err)
{
    struct parameters query = read_query(arena, query_of(head->target));
    struct str authorization = find_header(head, STR("authorization"));
    struct str algorithm = find_parameter(arena, &query, STR("X-Amz-Algorithm"));
    *out_is_in_query = !str_is_null(algorithm);
    if (*out_is_in_query && !str_is_null(authorization)) {
        return err_set(err, ERR_INVALID_SIGNATURE, MESSAGE_TWO_SIGNATURES);
    }
    if (*out_is_in_query) {
        *out = (struct parts){
            .algorithm = algorithm,
            .credential = find_parameter(arena, &query, STR("X-Amz-Credential")),
            .signature = find_parameter(arena, &query, STR("X-Amz-Signature")),
            .signed_headers = find_parameter(arena, &query, STR("X-Amz-SignedHeaders")),
            .time = find_parameter(arena, &query, STR("X-Amz-Date")),
            .token = find_parameter(arena, &query, STR("X-Amz-Security-Token")),
        };
        return check_query_parts(arena, out, err);
    }
    struct str header = str_trim(authorization, SPACES);
    if (!str_starts_with(header, STR("AWS4-"))) {
        return err_set(err, ERR_MISSING_AUTHENTICATION_TOKEN, MESSAGE_TOKEN_MISSING);
    }
    struct str time = find_header(head, STR("x-amz-date"));
    *out = (struct parts){
        .time = str_trim(str_is_null(time) ? find_header(head, STR("date")) : time, SPACES),
        .token = find_header(head, STR("x-amz-security-token")),
    };
    return read_authorization(header, out, err) && check_header_parts(arena, header, out, err);
}

bool sigv4_claim_read(struct arena *arena, const struct sigv4_head *head,
                      const struct sigv4_expected *expected, struct sigv4_claim *out,
                      struct err *err)
{
    struct parts parts = {0};
    *out = (struct sigv4_claim){0};
    int64_t time_ms = 0;
    if (!read_parts(arena, head, &parts, &out->is_in_query, err) ||
        !read_time(arena, parts.time, &out->time, &time_ms, err) ||
        !check_clock(expected, out->time, time_ms, err)) {
        return false;
    }
    out->signed_headers = parts.signed_headers;
    out->signature = parts.signature;
    out->session_token = parts.token;
    if (!has_name(parts.signed_headers, STR("host"))) {
        return err_set(err, ERR_INVALID_SIGNATURE,
                       "'Host' or ':authority' must be a 'SignedHeader' in the AWS Authorization.");
    }
    if (!str_eq(parts.algorithm, STR(ALGORITHM))) {
        return err_set(err, ERR_INCOMPLETE_SIGNATURE,
                       "Unsupported AWS 'algorithm': '%.*s' (only " ALGORITHM " for now). ",
                       STR_ARG(parts.algorithm));
    }
    return read_credential(arena, expected, parts.credential, out, err);
}

/* Verifying the signature ------------------------------------------------------------------ */

static bool is_named(const struct sigv4_header *header, struct str name)
{
    return str_eq_nocase(header->name, name);
}

/* Joins the values of a header that occurs more than once, from the one at `first` on. */
static struct str join_values(struct arena *arena, const struct sigv4_head *head, size_t first)
{
    struct str name = head->headers[first].name;
    size_t len_max = 0;
    for (size_t i = first; i < head->header_count; i++) {
        len_max += is_named(&head->headers[i], name) ? head->headers[i].value.len + 1 : 0;
    }
    char *joined = arena_bytes(arena, len_max);
    size_t len = 0;
    for (size_t i = first; i < head->header_count; i++) {
        if (!is_named(&head->headers[i], name)) {
            continue;
        }
        if (i > first) {
            joined[len++] = ',';
        }
        struct str value = str_trim(head->headers[i].value, SPACES);
        if (value.len > 0) {
            memcpy(joined + len, value.data, value.len);
            len += value.len;
        }
    }
    return str_make(joined, len);
}

/* Returns all values of a header, joined by commas in order of arrival; empty if it is absent. */
static struct str values_of(struct arena *arena, const struct sigv4_head *head, struct str name)
{
    size_t found = head->header_count;
    for (size_t i = 0; i < head->header_count; i++) {
        if (!is_named(&head->headers[i], name)) {
            continue;
        }
        if (found < head->header_count) {
            return join_values(arena, head, found);
        }
        found = i;
    }
    return found == head->header_count ? STR("") : str_trim(head->headers[found].value, SPACES);
}

/* The list of signed header names must be in lower case, as it was when it was signed. */
static bool has_upper_case(struct str text)
{
    for (size_t i = 0; i < text.len; i++) {
        if (text.data[i] >= 'A' && text.data[i] <= 'Z') {
            return true;
        }
    }
    return false;
}

static int compare_headers(const void *a, const void *b)
{
    return str_cmp(((const struct sigv4_header *)a)->name, ((const struct sigv4_header *)b)->name);
}

/* Returns the signed headers with their values, sorted by name, in `arena`. NULL if a name is there
 * twice: no client signs so, and names that repeat a long header would make the canonical request
 * thousands of times as large as the head. */
static struct sigv4_header *signed_headers(struct arena *arena, const struct sigv4_head *head,
                                           struct str names, size_t *out_count)
{
    size_t count_max = count_of(names, ';') + 1;
    struct sigv4_header *headers = ARENA_ARRAY(arena, struct sigv4_header, count_max);
    size_t count = 0;
    bool is_sorted = true; /* clients send the names in this order */
    while (names.len > 0) {
        headers[count].name = take_until(&names, ';');
        is_sorted =
            is_sorted && (count == 0 || compare_headers(&headers[count - 1], &headers[count]) < 0);
        count++;
    }
    if (!is_sorted) {
        qsort(headers, count, sizeof(headers[0]), compare_headers);
    }
    for (size_t i = 0; i < count; i++) {
        if (i > 0 && str_eq(headers[i].name, headers[i - 1].name)) {
            return NULL;
        }
        headers[i].value = values_of(arena, head, headers[i].name);
    }
    *out_count = count;
    return headers;
}

bool sigv4_claim_verify(struct arena *arena, const struct sigv4_head *head,
                        const struct sigv4_claim *claim, const unsigned char key[SIGV4_HASH_LEN],
                        struct str body_hash)
{
    assert(body_hash.len == SIGV4_HEX_LEN);
    struct sigv4_request request = {
        .method = head->method,
        .path = canonical_path(arena, head->target),
        .query = canonical_query(arena, head->target),
    };
    struct sigv4_header *headers =
        has_upper_case(claim->signed_headers)
            ? NULL
            : signed_headers(arena, head, claim->signed_headers, &request.header_count);
    if (headers == NULL) {
        return false;
    }
    struct buf canonical = {0};
    sigv4_add_canonical_request(&canonical, &request, headers, body_hash);
    char signature[SIGV4_HEX_LEN];
    sigv4_make_signature(key, claim->time, claim->scope, buf_str(&canonical), signature);
    buf_finish(&canonical);
    return claim->signature.len == SIGV4_HEX_LEN &&
           CRYPTO_memcmp(signature, claim->signature.data, SIGV4_HEX_LEN) == 0;
}
