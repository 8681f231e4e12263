/* Compares declared patterns with those that the database has counted. Worker threads. */
#include "apps/common/measured.h"

#include <ctype.h>
#include <string.h>

#include "apps/common/fetch.h"
#include "base/mem.h"

struct gramme_value *measured_get(struct arena *arena, const char *url, const char *table)
{
    if (url == NULL) {
        return NULL;
    }
    char *name = fetch_escape(table);
    struct str address =
        arena_format(arena, "%s/_gramme/api/patterns?table=%s&limit=1000", url, name);
    mem_free(name);
    struct buf answer = {0};
    struct gramme_value *list = NULL;
    if (fetch_send(&(struct fetch){.url = address.data}, &answer) == 200) {
        struct gramme_value *body =
            gramme_value_from_json(answer.data, answer.len, GRAMME_PLAIN, NULL);
        const struct gramme_value *patterns = gramme_get(body, "patterns");
        list = gramme_value_type(patterns) == GRAMME_LIST ? gramme_value_copy(patterns) : NULL;
        gramme_value_destroy(body);
    }
    buf_finish(&answer);
    return list;
}

static bool texts_are_equal(const char *a, const char *b)
{
    return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

/* Whether two texts of conditions are the same but for the names of values: the database writes
 * each as "?", a pattern as ":name". */
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
