/* What requests say beside their expressions: names, values and the legacy parameters. */
#include "api/api_internal.h"
#include "expr/legacy.h"

bool api_envelope(struct err *err)
{
    if (err->code == ERR_VALIDATION &&
        !str_starts_with(err->message, STR("1 validation error detected: "))) {
        err->message =
            arena_format(err->arena, "1 validation error detected: %.*s", STR_ARG(err->message));
    }
    return false;
}

bool api_check_problem(const struct value_problem *problem, bool envelope, struct err *err)
{
    if (str_is_null(problem->message)) {
        return true;
    }
    err_set_str(err, ERR_VALIDATION, problem->message);
    return envelope && problem->enveloped ? api_envelope(err) : false;
}

/* "A, B" of those parameters that were given. */
static struct str join_legacy(struct arena *arena, const struct expression_request *request)
{
    struct str list = STR("");
    for (size_t i = 0; i < request->legacy_count; i++) {
        if (request->legacy[i].given) {
            list = arena_format(arena, "%.*s%s%s", STR_ARG(list), list.len > 0 ? ", " : "",
                                request->legacy[i].name);
        }
    }
    return list;
}

static struct str join_expressions(struct arena *arena, const struct expression_request *request)
{
    struct str list = STR("");
    for (size_t i = 0; i < request->expression_count; i++) {
        if (!str_is_null(request->expressions[i].text)) {
            list = arena_format(arena, "%.*s%s%s", STR_ARG(list), list.len > 0 ? ", " : "",
                                request->expressions[i].name);
        }
    }
    return list;
}

static bool any_expression(const struct expression_request *request)
{
    for (size_t i = 0; i < request->expression_count; i++) {
        if (!str_is_null(request->expressions[i].text)) {
            return true;
        }
    }
    return false;
}

static bool any_legacy(const struct expression_request *request)
{
    for (size_t i = 0; i < request->legacy_count; i++) {
        if (request->legacy[i].given) {
            return true;
        }
    }
    return false;
}

static bool check_mixing(struct api_call *call, const struct expression_request *request,
                         struct err *err)
{
    bool expressions = any_expression(request);
    if (expressions && any_legacy(request)) {
        struct str legacy = join_legacy(call->arena, request);
        struct str given = join_expressions(call->arena, request);
        return err_set(err, ERR_VALIDATION,
                       "Can not use both expression and non-expression parameters in the same "
                       "request: Non-expression parameters: {%.*s} Expression parameters: {%.*s}",
                       STR_ARG(legacy), STR_ARG(given));
    }
    if (request->names != NULL && request->names->given && !expressions) {
        return err_set(err, ERR_VALIDATION,
                       "ExpressionAttributeNames can only be specified when using expressions");
    }
    if (request->values != NULL && request->values->given && !expressions) {
        if (request->expression_count == 1) {
            return err_set(err, ERR_VALIDATION,
                           "ExpressionAttributeValues can only be specified when using "
                           "expressions: %s is null",
                           request->expressions[0].name);
        }
        return err_set(err, ERR_VALIDATION,
                       "ExpressionAttributeValues can only be specified when using expressions");
    }
    return true;
}

static bool check_value_problems(const struct wire_map *values, struct err *err)
{
    for (size_t i = 0; i < values->count; i++) {
        const struct wire_value *value = &((const struct wire_value *)values->values)[i];
        if (!str_is_null(value->problem.message)) {
            return err_set(err, ERR_VALIDATION,
                           "ExpressionAttributeValues contains invalid value: %.*s for key %.*s",
                           STR_ARG(value->problem.message), STR_ARG(values->names[i]));
        }
    }
    return true;
}

bool api_scope(struct api_call *call, const struct expression_request *request,
               struct expr_scope *scope, struct err *err)
{
    if (!check_mixing(call, request, err)) {
        return false;
    }
    struct expr_names names = {0};
    struct expr_values values = {0};
    if (request->names != NULL && request->names->given) {
        names = (struct expr_names){
            .given = true,
            .count = request->names->count,
            .names = request->names->names,
            .targets = request->names->values,
        };
    }
    if (request->values != NULL && request->values->given) {
        struct value *list = ARENA_ARRAY(call->arena, struct value, request->values->count + 1);
        for (size_t i = 0; i < request->values->count; i++) {
            list[i] = ((const struct wire_value *)request->values->values)[i].value;
        }
        values = (struct expr_values){
            .given = true,
            .count = request->values->count,
            .names = request->values->names,
            .values = list,
        };
    }
    return expr_scope_init(scope, call->arena, call->thread->cache, &names, &values, err) &&
           (!values.given || check_value_problems(request->values, err));
}

/* The place of a comparison in the wire's list, as legacy.h names it. */
static enum legacy_operator legacy_operator(int wire)
{
    static const enum legacy_operator operators[] = {
        LEGACY_IN,          LEGACY_NULL, LEGACY_BETWEEN,  LEGACY_LT, LEGACY_NOT_CONTAINS,
        LEGACY_EQ,          LEGACY_GT,   LEGACY_NOT_NULL, LEGACY_NE, LEGACY_LE,
        LEGACY_BEGINS_WITH, LEGACY_GE,   LEGACY_CONTAINS,
    };
    assert(wire >= 0 && (size_t)wire < COUNT_OF(operators));
    return operators[wire];
}

static bool convert_condition(struct api_call *call, struct str name,
                              const struct condition_request *request, struct legacy_condition *out,
                              struct err *err)
{
    *out = (struct legacy_condition){.attribute = name};
    if (!str_is_null(request->comparison.text)) {
        out->has_op = true;
        out->op = legacy_operator(request->comparison.value);
    }
    if (!api_check_problem(&request->value.problem, false, err)) {
        return false;
    }
    out->value = request->value.value;
    out->has_exists = request->exists.given;
    out->exists = request->exists.value;
    out->has_values = request->values.given;
    out->value_count = request->values.count;
    struct value *values = ARENA_ARRAY(call->arena, struct value, request->values.count + 1);
    for (size_t i = 0; i < request->values.count; i++) {
        const struct wire_value *value = &((const struct wire_value *)request->values.elements)[i];
        if (!api_check_problem(&value->problem, false, err)) {
            return false;
        }
        values[i] = value->value;
    }
    out->values = values;
    return true;
}

static bool convert_conditions(struct api_call *call, const struct wire_map *map,
                               struct legacy_condition **out, struct err *err)
{
    *out = ARENA_ARRAY(call->arena, struct legacy_condition, map->count + 1);
    for (size_t i = 0; i < map->count; i++) {
        const struct condition_request *request = api_condition(map, i);
        if (request == NULL) {
            return err_set(
                err, ERR_VALIDATION,
                "One or more parameter values were invalid: Condition for attribute %.*s "
                "is null",
                STR_ARG(map->names[i]));
        }
        if (!convert_condition(call, map->names[i], request, &(*out)[i], err)) {
            return false;
        }
    }
    return true;
}

static bool legacy_filter(struct api_call *call, const struct wire_map *map,
                          const struct wire_enum *conditional_operator, bool expected,
                          const struct condition **out, struct err *err)
{
    static const enum legacy_join joins[] = {LEGACY_JOIN_OR, LEGACY_JOIN_AND};
    struct legacy_condition *conditions;
    if (!convert_conditions(call, map, &conditions, err)) {
        return false;
    }
    enum legacy_join join = str_is_null(conditional_operator->text)
                                ? LEGACY_JOIN_NONE
                                : joins[conditional_operator->value];
    return legacy_conditions(call->arena, conditions, map->count, join, expected, out, err);
}

bool api_expected(struct api_call *call, const struct wire_map *map,
                  const struct wire_enum *conditional_operator, const struct condition **out,
                  struct err *err)
{
    return legacy_filter(call, map, conditional_operator, true, out, err);
}

bool api_filter(struct api_call *call, const struct wire_map *map,
                const struct wire_enum *conditional_operator, const struct condition **out,
                struct err *err)
{
    return legacy_filter(call, map, conditional_operator, false, out, err);
}

bool api_key_conditions(struct api_call *call, const struct wire_map *map,
                        const struct key_expression **out, struct err *err)
{
    struct legacy_condition *conditions;
    return convert_conditions(call, map, &conditions, err) &&
           legacy_key_conditions(call->arena, conditions, map->count, out, err);
}

bool api_projection(struct api_call *call, struct expr_scope *scope,
                    struct str projection_expression, const struct wire_list *attributes,
                    const struct projection **out, struct err *err)
{
    *out = NULL;
    if (!str_is_null(projection_expression)) {
        return expr_projection(scope, projection_expression, out, err);
    }
    if (attributes->given) {
        return legacy_projection(call->arena, attributes->elements, attributes->count, out, err);
    }
    return true;
}
