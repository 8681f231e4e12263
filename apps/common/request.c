/* What a handler reads of its request: path, query, headers, body, the signed-in user. Checks these
 * and answers with an error if a check fails. Called on worker threads. */
#include <stdio.h>
#include <stdlib.h>

#include "apps/common/request_internal.h"
#include "base/percent.h"
#include "base/utf8.h"

const char *text_copy(struct arena *arena, struct str text)
{
    char *copy = arena_bytes(arena, text.len + 1);
    memcpy(copy, text.data, text.len);
    copy[text.len] = '\0';
    return copy;
}

struct gramme_db *request_db(const struct app_request *request)
{
    return request->app->db;
}

void *request_state(const struct app_request *request)
{
    return request->app->state;
}

const char *request_param(const struct app_request *request, const char *name)
{
    for (size_t i = 0; i < request->param_count; i++) {
        if (str_eq(request->params[i].name, str_from_c(name))) {
            return request->params[i].value;
        }
    }
    assert(!"the route has no such parameter");
    return NULL;
}

/* Removes the part before the first `separator`, and the separator, from `text`; returns the part.
 */
static struct str take_until(struct str *text, char separator)
{
    const char *found = text->len > 0 ? memchr(text->data, separator, text->len) : NULL;
    size_t len = found == NULL ? text->len : (size_t)(found - text->data);
    struct str taken = str_make(text->data, len);
    *text = str_skip(*text, found == NULL ? len : len + 1);
    return taken;
}

bool query_is_valid(struct arena *arena, struct str query)
{
    while (query.len > 0) {
        struct str value = take_until(&query, '&');
        struct str key = take_until(&value, '=');
        if (url_decode(arena, key, ' ') == NULL || url_decode(arena, value, ' ') == NULL) {
            return false;
        }
    }
    return true;
}

const char *request_param_id(struct app_request *request, const char *name,
                             bool (*is_valid)(const char *text), const char *what)
{
    const char *id = request_param(request, name);
    if (is_valid(id)) {
        return id;
    }
    answer_problem(request, 404, "not_found", "There is no such %s", what);
    return NULL;
}

bool request_is_uuid(const char *text)
{
    static const char form[GRAMME_UUID_SIZE] = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
    bool fits = strlen(text) == strlen(form);
    for (size_t i = 0; fits && i < strlen(form); i++) {
        fits = form[i] == 'x' ? strchr("0123456789abcdef", text[i]) != NULL : text[i] == '-';
    }
    return fits;
}

const char *request_query(const struct app_request *request, const char *name)
{
    struct str rest = request->query;
    while (rest.len > 0) {
        struct str value = take_until(&rest, '&');
        struct str key = take_until(&value, '=');
        if (strcmp(url_decode(request->exchange->arena, key, ' '), name) == 0) {
            return url_decode(request->exchange->arena, value, ' ');
        }
    }
    return NULL;
}

const char *request_encode(const struct app_request *request, const char *text)
{
    return percent_encode(request->exchange->arena, str_from_c(text), "").data;
}

const char *request_header(const struct app_request *request, const char *name)
{
    struct str value = http_header(request->exchange, str_from_c(name));
    if (str_is_null(value)) {
        return NULL;
    }
    return text_copy(request->exchange->arena, value);
}

const struct identity *request_identity(const struct app_request *request)
{
    return request->auth_result == AUTH_OK ? &request->identity : NULL;
}

bool request_require(struct app_request *request, unsigned roles)
{
    if (identity_has(&request->identity, roles)) {
        return true;
    }
    answer_not_allowed(request);
    return false;
}

bool request_require_user(struct app_request *request, const char *user_id, unsigned roles)
{
    if (identity_is(&request->identity, user_id)) {
        return true;
    }
    return request_require(request, roles);
}

const char *request_token_make(const struct app_request *request, const char *purpose,
                               const char *text)
{
    struct arena *arena = request->exchange->arena;
    const char *name = arena_format(arena, "app-%s", purpose).data;
    return signed_make(auth_key(request->app->auth), arena, name, str_from_c(text));
}

const char *request_token_read(const struct app_request *request, const char *purpose,
                               const char *token)
{
    struct arena *arena = request->exchange->arena;
    const char *name = arena_format(arena, "app-%s", purpose).data;
    struct str text = signed_read(auth_key(request->app->auth), arena, name, str_from_c(token));
    return str_is_null(text) ? NULL : arena_copy_c(arena, text).data;
}

bool request_sync(const struct app_request *request)
{
    return live_sync(request->app->live);
}

bool request_fields(struct app_request *request, const struct gramme_value *map,
                    const char *const *fields)
{
    if (gramme_value_type(map) != GRAMME_MAP) { /* elements of a list have no names */
        answer_problem(request, 400, "bad_parameter", "What should be a JSON object is none");
        return false;
    }
    for (size_t i = 0; i < gramme_value_count(map); i++) {
        const char *name = gramme_value_name(gramme_value_at(map, i));
        const char *const *known = fields;
        while (*known != NULL && strcmp(*known, name) != 0) {
            known++;
        }
        if (*known == NULL) {
            answer_unknown(request, name, "field");
            return false;
        }
    }
    return true;
}

const struct gramme_value *request_body(struct app_request *request, const char *const *fields)
{
    struct str body = request->exchange->body;
    struct gramme_error *error = NULL;
    if (request->body == NULL) {
        request->body = gramme_value_from_json(body.data, body.len, GRAMME_PLAIN, &error);
    }
    if (request->body == NULL || gramme_value_type(request->body) != GRAMME_MAP) {
        answer_problem(request, 400, "bad_json", "The body must be a JSON object%s%s",
                       error == NULL ? "" : ": ", gramme_error_message(error));
        gramme_error_destroy(error);
        return NULL;
    }
    return request_fields(request, request->body, fields) ? request->body : NULL;
}

/* Parses a whole number in its shortest form: without space, plus sign and leading zeros. */
static bool parse_int(const char *text, int64_t *out)
{
    char *end;
    long long number = strtoll(text, &end, 10);
    char again[sizeof("-9223372036854775808")];
    snprintf(again, sizeof(again), "%lld", number);
    if (strcmp(again, text) != 0) {
        return false;
    }
    *out = number;
    return true;
}

bool request_query_int(struct app_request *request, const char *name, int64_t min, int64_t max,
                       int64_t fallback, int64_t *out)
{
    const char *text = request_query(request, name);
    *out = fallback;
    if (text == NULL) {
        return true;
    }
    if (!parse_int(text, out) || *out < min || *out > max) {
        answer_bad_field(request, name, "%s must be a whole number from %lld to %lld", name,
                         (long long)min, (long long)max);
        return false;
    }
    return true;
}

bool request_page(struct app_request *request, struct page *out)
{
    enum { LIMIT_MAX = 100, LIMIT_DEFAULT = 25 };
    int64_t limit;
    if (!request_query_int(request, "limit", 1, LIMIT_MAX, LIMIT_DEFAULT, &limit)) {
        return false;
    }
    *out = (struct page){.limit = (int)limit, .cursor = request_query(request, "cursor")};
    struct gramme_request *trial = gramme_request_create("Query", NULL);
    bool fits = page_apply(out, trial);
    gramme_request_destroy(trial);
    if (!fits) {
        answer_bad_cursor(request);
    }
    return fits;
}

/* Whether the text has 1 to `len_max` characters and no NUL among them. */
static bool text_fits(const char *text, size_t len, size_t len_max)
{
    return text != NULL && len > 0 && strlen(text) == len &&
           utf8_utf16_len(str_make(text, len)) <= len_max;
}

/* Ranges of invisible code points, sorted: White_Space and Default_Ignorable_Code_Point of Unicode,
 * and the blank of braille. */
static const struct {
    uint32_t first;
    uint32_t last;
} invisible[] = {
    {0x0009, 0x000D}, {0x0020, 0x0020},   {0x0085, 0x0085},   {0x00A0, 0x00A0},   {0x00AD, 0x00AD},
    {0x034F, 0x034F}, {0x061C, 0x061C},   {0x115F, 0x1160},   {0x1680, 0x1680},   {0x17B4, 0x17B5},
    {0x180B, 0x180F}, {0x2000, 0x200F},   {0x2028, 0x202F},   {0x205F, 0x206F},   {0x2800, 0x2800},
    {0x3000, 0x3000}, {0x3164, 0x3164},   {0xFE00, 0xFE0F},   {0xFEFF, 0xFEFF},   {0xFFA0, 0xFFA0},
    {0xFFF0, 0xFFF8}, {0x1BCA0, 0x1BCA3}, {0x1D173, 0x1D17A}, {0xE0000, 0xE0FFF},
};

static bool is_invisible(uint32_t code_point)
{
    for (size_t i = 0; i < COUNT_OF(invisible); i++) {
        if (code_point <= invisible[i].last) {
            return code_point >= invisible[i].first;
        }
    }
    return false;
}

static bool text_is_blank(struct str text)
{
    while (text.len > 0) {
        uint32_t code_point;
        text = str_skip(text, utf8_decode(text, &code_point));
        if (!is_invisible(code_point)) {
            return false;
        }
    }
    return true;
}

const char *request_query_text(struct app_request *request, const char *name, size_t len_max)
{
    const char *text = request_query(request, name);
    if (text == NULL || !text_fits(text, strlen(text), len_max)) {
        answer_bad_field(request, name, "%s must be a text of 1 to %zu characters", name, len_max);
        return NULL;
    }
    return text;
}

const char *request_text(struct app_request *request, const struct gramme_value *body,
                         const char *name, size_t len_max)
{
    const struct gramme_value *value = gramme_get(body, name);
    const char *text = gramme_value_string(value);
    if (!text_fits(text, gramme_value_len(value), len_max)) {
        answer_bad_field(request, name, "%s must be a text of 1 to %zu characters", name, len_max);
        return NULL;
    }
    if (text_is_blank(str_from_c(text))) {
        struct gramme_value *details = gramme_map_create();
        gramme_set_string(details, "field", name);
        struct str message = arena_format(request->exchange->arena, "%s must not be blank", name);
        answer_problem_details(request, 400, "blank", details, message.data);
        gramme_value_destroy(details);
        return NULL;
    }
    return text;
}

bool request_version(struct app_request *request, int64_t *out)
{
    const char *text = request_header(request, "if-match");
    if (text == NULL) {
        answer_problem(request, 428, "version_required",
                       "Send the version that you saw (ETag) as If-Match");
        return false;
    }
    size_t len = strlen(text);
    if (len < 3 || text[0] != '"' || text[len - 1] != '"') {
        answer_problem(request, 400, "bad_version", "If-Match must be a version in quotes");
        return false;
    }
    if (!parse_int(text_copy(request->exchange->arena, str_make(text + 1, len - 2)), out)) {
        answer_problem(request, 400, "bad_version", "If-Match must be a version in quotes");
        return false;
    }
    return true;
}
