/* The placeholders of a request: checks their form, looks them up, and finds those that were not
 * used. Called by src/api for each request with expressions. Any thread; a scope belongs to one
 * request. */
#include "expr/bind/scope_internal.h"

#include <stdlib.h>

#include "base/buf.h"
#include "expr/parse/lexer_internal.h"

enum { PLACEHOLDER_BYTES_MAX = 255, NAME_BYTES_MAX = 65535 };
enum { SUBSTITUTION_BYTES_MAX = 2 * 1024 * 1024 };

static int compare(const void *a, const void *b, void *names)
{
    const struct str *all = names;
    return str_cmp(all[*(const uint32_t *)a], all[*(const uint32_t *)b]);
}

static uint32_t *sorted(struct arena *arena, const struct str *names, size_t count)
{
    uint32_t *order = ARENA_ARRAY(arena, uint32_t, count);
    for (size_t i = 0; i < count; i++) {
        order[i] = (uint32_t)i;
    }
    if (count > 1) {
        qsort_r(order, count, sizeof(*order), compare, (void *)(uintptr_t)names);
    }
    return order;
}

static bool check_key(const char *map, struct str key, char first, struct err *err)
{
    if (key.len == 0) {
        return err_set(err, ERR_VALIDATION,
                       "%s contains invalid key: The expression attribute map contains an empty "
                       "key;",
                       map);
    }
    if (key.len > PLACEHOLDER_BYTES_MAX) {
        return err_set(err, ERR_VALIDATION,
                       "%s contains invalid key: The expression attribute map contains a key that "
                       "is too long; size of key: %zu",
                       map, key.len);
    }
    if (!lexer_is_placeholder(key, first)) {
        return err_set(err, ERR_VALIDATION, "%s contains invalid key: Syntax error; key: \"%.*s\"",
                       map, STR_ARG(key));
    }
    return true;
}

static bool check_target(struct str key, struct str target, struct err *err)
{
    if (target.len == 0) {
        return err_set(err, ERR_VALIDATION,
                       "ExpressionAttributeNames contains invalid value: Empty attribute name for "
                       "key %.*s",
                       STR_ARG(key));
    }
    if (target.len > NAME_BYTES_MAX) {
        return err_set(err, ERR_VALIDATION,
                       "ExpressionAttributeNames contains invalid value: Attribute name is too "
                       "large, must be less than 65536 bytes for key %.*s",
                       STR_ARG(key));
    }
    return true;
}

static bool check_names(const struct expr_names *names, struct err *err)
{
    size_t size = 0;
    if (names->given && names->count == 0) {
        return err_set(err, ERR_VALIDATION, "ExpressionAttributeNames must not be empty");
    }
    for (size_t i = 0; i < names->count; i++) {
        if (!check_key("ExpressionAttributeNames", names->names[i], '#', err) ||
            !check_target(names->names[i], names->targets[i], err)) {
            return false;
        }
        size += names->names[i].len + names->targets[i].len;
    }
    if (size > SUBSTITUTION_BYTES_MAX) {
        return err_set(err, ERR_VALIDATION, "ExpressionAttributeNames exceeds max size");
    }
    return true;
}

static bool check_values(const struct expr_values *values, struct err *err)
{
    size_t size = 0;
    if (values->given && values->count == 0) {
        return err_set(err, ERR_VALIDATION, "ExpressionAttributeValues must not be empty");
    }
    for (size_t i = 0; i < values->count; i++) {
        if (!check_key("ExpressionAttributeValues", values->names[i], ':', err)) {
            return false;
        }
        size += values->names[i].len + value_size(values->values[i]);
    }
    if (size > SUBSTITUTION_BYTES_MAX) {
        return err_set(err, ERR_VALIDATION, "ExpressionAttributeValues exceeds max size");
    }
    return true;
}

bool expr_scope_init(struct expr_scope *scope, struct arena *arena, struct expr_cache *cache,
                     const struct expr_names *names, const struct expr_values *values,
                     struct err *err)
{
    *scope =
        (struct expr_scope){.arena = arena, .cache = cache, .names = *names, .values = *values};
    if (!check_names(names, err) || !check_values(values, err)) {
        return false;
    }
    scope->name_used = ARENA_ARRAY(arena, bool, names->count);
    scope->value_used = ARENA_ARRAY(arena, bool, values->count);
    scope->name_order = sorted(arena, names->names, names->count);
    scope->value_order = sorted(arena, values->names, values->count);
    return true;
}

/* Returns the index of the name, or -1. */
static int64_t find(const struct str *names, const uint32_t *order, size_t count, struct str name)
{
    size_t low = 0;
    size_t high = count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        int difference = str_cmp(name, names[order[middle]]);
        if (difference == 0) {
            return order[middle];
        }
        if (difference < 0) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return -1;
}

struct str scope_use_name(struct expr_scope *scope, struct str name)
{
    int64_t i = find(scope->names.names, scope->name_order, scope->names.count, name);
    if (i < 0) {
        return STR_NULL;
    }
    scope->name_used[i] = true;
    return scope->names.targets[i];
}

struct value scope_use_value(struct expr_scope *scope, struct str name)
{
    int64_t i = find(scope->values.names, scope->value_order, scope->values.count, name);
    if (i < 0) {
        return VALUE_ABSENT;
    }
    scope->value_used[i] = true;
    return scope->values.values[i];
}

/* Fails if a name was not used; the message lists all such names in order. */
static bool check_used(const char *map, const struct str *names, const uint32_t *order,
                       const bool *used, size_t count, struct err *err)
{
    struct buf list = {0};
    for (size_t i = 0; i < count; i++) {
        if (!used[order[i]]) {
            buf_add(&list, list.len == 0 ? STR("") : STR(", "));
            buf_add(&list, names[order[i]]);
        }
    }
    if (list.len > 0) {
        err_set(err, ERR_VALIDATION, "Value provided in %s unused in expressions: keys: {%.*s}",
                map, STR_ARG(buf_str(&list)));
    }
    bool all = list.len == 0;
    buf_finish(&list);
    return all;
}

bool expr_scope_check_used(const struct expr_scope *scope, struct err *err)
{
    return check_used("ExpressionAttributeNames", scope->names.names, scope->name_order,
                      scope->name_used, scope->names.count, err) &&
           check_used("ExpressionAttributeValues", scope->values.names, scope->value_order,
                      scope->value_used, scope->values.count, err);
}
