/* Compares declared patterns with those that the database has counted. Worker threads. */
#include "apps/common/measured.h"

#include <ctype.h>
#include <string.h>

enum { PATTERNS_MAX = 1000 }; /* the most that the server lists */

struct gramme_value *measured_get(struct gramme_db *insight, const char *table,
                                  struct gramme_error **error)
{
    if (insight == NULL) {
        return NULL;
    }
    struct gramme_value *parameters = gramme_map_create();
    gramme_set_string(parameters, "table", table);
    gramme_set_int(parameters, "limit", PATTERNS_MAX);
    struct gramme_answer *answer = gramme_insight(insight, "patterns", parameters, error);
    gramme_value_destroy(parameters);
    const struct gramme_value *patterns = gramme_get(gramme_answer_root(answer), "patterns");
    struct gramme_value *list =
        gramme_value_type(patterns) == GRAMME_LIST ? gramme_value_copy(patterns) : NULL;
    gramme_answer_destroy(answer);
    return list;
}

static bool texts_are_equal(const char *a, const char *b)
{
    return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

/* Returns whether two texts of conditions differ only in the names of values: the database writes
 * "?" for each, a pattern ":name". */
static bool keys_are_equal(const char *a, const char *b)
{
    if (a == NULL || b == NULL) {
        return a == b;
    }
    while (*a != '\0' && *b != '\0') {
        bool is_value = (*a == ':' || *a == '?') && (*b == ':' || *b == '?');
        if (!is_value && *a != *b) {
            return false;
        }
        a++;
        b++;
        while (is_value && (isalnum((unsigned char)*a) || *a == '_')) {
            a++;
        }
        while (is_value && (isalnum((unsigned char)*b) || *b == '_')) {
            b++;
        }
    }
    return *a == *b;
}

/* "TransactWriteItems Put" is counted for "TransactWriteItems". */
static bool operation_is(const char *measured, const char *declared)
{
    size_t len = strlen(declared);
    return measured != NULL && strncmp(measured, declared, len) == 0 &&
           (measured[len] == '\0' || measured[len] == ' ');
}

static bool matches(const struct gramme_value *measured, const struct gramme_value *pattern)
{
    const char *operation = gramme_get_string(pattern, "operation");
    const char *key = gramme_get_string(pattern, "key");
    return operation_is(gramme_get_string(measured, "operation"), operation) &&
           texts_are_equal(gramme_get_string(measured, "index"),
                           gramme_get_string(pattern, "index")) &&
           (key == NULL || keys_are_equal(gramme_get_string(measured, "key"), key));
}

bool measured_sum(const struct gramme_value *measured, const struct gramme_value *pattern,
                  struct gramme_value *out)
{
    double requests = 0;
    double units = 0;
    for (size_t i = 0; i < gramme_value_count(measured); i++) {
        const struct gramme_value *each = gramme_value_at(measured, i);
        if (matches(each, pattern)) {
            requests += gramme_get_double(each, "calls", 0);
            units += gramme_get_double(each, "readUnits", 0);
            units += gramme_get_double(each, "writeUnits", 0);
        }
    }
    if (requests == 0) {
        return false;
    }
    gramme_set_double(out, "requests", requests);
    gramme_set_double(out, "units", units);
    gramme_set_double(out, "unitsEach", units / requests);
    return true;
}

bool measured_is_same(const struct gramme_value *a, const struct gramme_value *b)
{
    return texts_are_equal(gramme_get_string(a, "operation"), gramme_get_string(b, "operation")) &&
           texts_are_equal(gramme_get_string(a, "index"), gramme_get_string(b, "index")) &&
           keys_are_equal(gramme_get_string(a, "key"), gramme_get_string(b, "key"));
}
