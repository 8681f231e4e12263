/* gramme_insight(): requests to the insight API of a Gramme server. Builds the path and query in
 * the canonical form of AWS Signature Version 4: encoded, parameters sorted by name. */
#include <stdlib.h>

#include "base/percent.h"
#include "client/client_internal.h"

enum { PARAMETERS_MAX = 16 };

static void add_encoded(struct buf *out, const char *text, size_t len)
{
    struct arena arena;
    arena_init(&arena);
    buf_add(out, percent_encode(&arena, str_make(text, len), ""));
    arena_finish(&arena);
}

/* Pages have plain names, "patterns" or "patterns/0a1b". */
static bool is_page(const char *name)
{
    if (name == NULL || name[0] == '\0') {
        return false;
    }
    for (const char *at = name; *at != '\0'; at++) {
        if (!percent_is_unreserved(*at) && *at != '/') {
            return false;
        }
    }
    return strstr(name, "..") == NULL;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(gramme_value_name(*(const struct gramme_value *const *)a),
                  gramme_value_name(*(const struct gramme_value *const *)b));
}

/* Adds "?name=value&...". False: a value is neither text nor number, or there are too many. */
static bool add_query(struct buf *out, const struct gramme_value *parameters)
{
    const struct gramme_value *sorted[PARAMETERS_MAX];
    size_t count = gramme_value_count(parameters);
    if (count > COUNT_OF(sorted)) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        sorted[i] = gramme_value_at(parameters, i);
    }
    qsort(sorted, count, sizeof(sorted[0]), compare_names);
    for (size_t i = 0; i < count; i++) {
        const char *text = gramme_value_type(sorted[i]) == GRAMME_NUMBER
                               ? gramme_value_number(sorted[i])
                               : gramme_value_string(sorted[i]);
        if (text == NULL) {
            return false;
        }
        buf_add_char(out, i == 0 ? '?' : '&');
        add_encoded(out, gramme_value_name(sorted[i]), strlen(gramme_value_name(sorted[i])));
        buf_add_char(out, '=');
        add_encoded(out, text, gramme_value_len(sorted[i]));
    }
    return true;
}

struct gramme_answer *gramme_insight(struct gramme_db *db, const char *page,
                                     const struct gramme_value *parameters,
                                     struct gramme_error **error)
{
    error_clear(error);
    struct buf target = {0};
    struct gramme_answer *answer = NULL;
    bool is_good = is_page(page);
    if (is_good) {
        buf_format(&target, "/_gramme/api/%s", page);
        is_good = gramme_value_problem(parameters) == NULL && add_query(&target, parameters);
    }
    if (!is_good) {
        error_set(error, GRAMME_BAD_REQUEST,
                  "not the name of a page, or parameters that are not strings and numbers");
    } else {
        buf_add_char(&target, '\0');
        answer = call_page(db, str_make(target.data, target.len - 1), error);
    }
    buf_finish(&target);
    return answer;
}
