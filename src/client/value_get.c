/* Reads values. NULL stands for an absent value. Called by users of the library, on any thread. */
#include <stdlib.h>

#include "base/arena.h"
#include "client/value_tree_internal.h"
#include "model/number.h"

static bool is_a(const struct gramme_value *value, enum gramme_type type)
{
    return value != NULL && value->type == type;
}

enum gramme_type gramme_value_type(const struct gramme_value *value)
{
    return value == NULL ? GRAMME_NONE : value->type;
}

const char *gramme_value_string(const struct gramme_value *value)
{
    return is_a(value, GRAMME_STRING) ? value->text.data : NULL;
}

size_t gramme_value_len(const struct gramme_value *value)
{
    return value == NULL ? 0 : value->text.len;
}

const char *gramme_value_number(const struct gramme_value *value)
{
    return is_a(value, GRAMME_NUMBER) ? value->text.data : NULL;
}

bool gramme_value_int(const struct gramme_value *value, int64_t *out)
{
    struct number number;
    return is_a(value, GRAMME_NUMBER) && number_parse(value->text, &number) == NUMBER_OK &&
           number_to_int64(number_str(&number), out);
}

bool gramme_value_bool(const struct gramme_value *value, bool *out)
{
    if (!is_a(value, GRAMME_BOOL)) {
        return false;
    }
    *out = value->truth;
    return true;
}

const void *gramme_value_binary(const struct gramme_value *value, size_t *len)
{
    if (!is_a(value, GRAMME_BINARY)) {
        return NULL;
    }
    if (len != NULL) {
        *len = value->text.len;
    }
    return value->text.data;
}

size_t gramme_value_count(const struct gramme_value *value)
{
    return value == NULL ? 0 : value->count;
}

const struct gramme_value *gramme_value_at(const struct gramme_value *value, size_t index)
{
    return value == NULL || index >= value->count ? NULL : value->children[index];
}

const char *gramme_value_name(const struct gramme_value *value)
{
    return value == NULL ? NULL : value->name.data;
}

/* --- entries of a map --- */

const struct gramme_value *gramme_get(const struct gramme_value *map, const char *name)
{
    return name == NULL ? NULL : value_find(map, str_from_c(name));
}

const char *gramme_get_string(const struct gramme_value *map, const char *name)
{
    return gramme_value_string(gramme_get(map, name));
}

int64_t gramme_get_int(const struct gramme_value *map, const char *name, int64_t fallback)
{
    int64_t number = fallback;
    return gramme_value_int(gramme_get(map, name), &number) ? number : fallback;
}

double gramme_get_double(const struct gramme_value *map, const char *name, double fallback)
{
    double number = fallback;
    return gramme_value_double(gramme_get(map, name), &number) ? number : fallback;
}

const char *gramme_get_number(const struct gramme_value *map, const char *name)
{
    return gramme_value_number(gramme_get(map, name));
}

bool gramme_get_bool(const struct gramme_value *map, const char *name, bool fallback)
{
    bool truth = fallback;
    return gramme_value_bool(gramme_get(map, name), &truth) ? truth : fallback;
}

const void *gramme_get_binary(const struct gramme_value *map, const char *name, size_t *len)
{
    return gramme_value_binary(gramme_get(map, name), len);
}

/* --- equality --- */

/* Compares numbers by value; texts that are not DynamoDB numbers are compared as they are. */
static bool numbers_equal(struct str a, struct str b)
{
    struct number left;
    struct number right;
    if (number_parse(a, &left) != NUMBER_OK || number_parse(b, &right) != NUMBER_OK) {
        return str_eq(a, b);
    }
    return str_eq(number_str(&left), number_str(&right));
}

static bool maps_equal(const struct gramme_value *a, const struct gramme_value *b)
{
    for (size_t i = 0; i < a->count; i++) {
        if (!gramme_value_equal(a->children[i], value_find(b, a->children[i]->name))) {
            return false;
        }
    }
    return true;
}

static bool lists_equal(const struct gramme_value *a, const struct gramme_value *b)
{
    for (size_t i = 0; i < a->count; i++) {
        if (!gramme_value_equal(a->children[i], b->children[i])) {
            return false;
        }
    }
    return true;
}

static bool has_element(const struct gramme_value *set, const struct gramme_value *element)
{
    for (size_t i = 0; i < set->count; i++) {
        if (gramme_value_equal(set->children[i], element)) {
            return true;
        }
    }
    return false;
}

static bool sets_equal(const struct gramme_value *a, const struct gramme_value *b)
{
    for (size_t i = 0; i < a->count; i++) {
        if (!has_element(b, a->children[i])) {
            return false;
        }
    }
    return true;
}

bool gramme_value_equal(const struct gramme_value *a, const struct gramme_value *b)
{
    if (a == NULL || b == NULL) {
        return a == b;
    }
    if (a->type != b->type || a->count != b->count) {
        return false;
    }
    switch (a->type) {
    case GRAMME_NUMBER:
        return numbers_equal(a->text, b->text);
    case GRAMME_STRING:
    case GRAMME_BINARY:
        return str_eq(a->text, b->text);
    case GRAMME_BOOL:
        return a->truth == b->truth;
    case GRAMME_MAP:
        return maps_equal(a, b);
    case GRAMME_LIST:
        return lists_equal(a, b);
    case GRAMME_STRING_SET:
    case GRAMME_NUMBER_SET:
    case GRAMME_BINARY_SET:
        return sets_equal(a, b);
    case GRAMME_NULL:
    case GRAMME_NONE:
        break;
    }
    return true;
}
