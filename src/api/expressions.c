/* Checks the expressions of requests: names, values, projections, and that they are not mixed with
 * legacy parameters; converts the legacy parameters. Called by the operations on items, on the
 * thread of the call; keeps no state. */
#include "api/api_internal.h"
#include "expr/legacy.h"

bool api_prefix_error(struct api_call *call)
{
    struct err *err = &call->err;
    err->message =
        arena_format(err->arena, "1 validation error detected: %.*s", STR_ARG(err->message));
    return false;
}

bool api_envelope(struct api_call *call)
{
    if (call->layer == LAYER_ENVELOPED && call->err.code == ERR_VALIDATION) {
        api_prefix_error(call);
    }
    return false;
}

bool api_check_problem(struct api_call *call, const struct value_problem *problem)
{
    if (problem->fault == FAULT_NONE) {
        return true;
    }
    err_set_str(&call->err, ERR_VALIDATION,
                value_problem_text(problem, api_wording(call), call->arena));
    bool bare = problem->fault == FAULT_EMPTY || problem->fault == FAULT_TWO_TYPES;
    return bare ? false : api_envelope(call);
}

/* --- mixing --- */

/* Returns the names of the given legacy parameters as "A, B". */
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

static bool takes_values(const struct named_text *expression)
{
    return strcmp(expression->name, "ProjectionExpression") != 0;
}

/* Returns "A and B are null" for the expressions that could use values; empty if one of them is
 * given. */
static struct str list_missing(struct arena *arena, const struct expression_request *request)
{
    struct str list = STR("");
    size_t count = 0;
    for (size_t i = 0; i < request->expression_count; i++) {
        const struct named_text *expression = &request->expressions[i];
        if (!takes_values(expression)) {
            continue;
        }
        if (!str_is_null(expression->text)) {
            return STR("");
        }
        list = arena_format(arena, "%.*s%s%s", STR_ARG(list), count++ > 0 ? " and " : "",
                            expression->name);
    }
    return arena_format(arena, "%.*s %s null", STR_ARG(list), count > 1 ? "are" : "is");
}

static bool check_values_wanted(struct api_call *call, const struct expression_request *request)
{
    if (request->values == NULL || !request->values->given) {
        return true;
    }
    struct str missing = list_missing(call->arena, request);
    if (missing.len == 0) {
        return true;
    }
    /* PutItem and DeleteItem, which have one expression only, do not name it in the message. */
    bool brief = call->layer == LAYER_ENVELOPED && request->expression_count == 1;
    missing = brief ? STR("") : missing;
    return err_set(&call->err, ERR_VALIDATION,
                   "ExpressionAttributeValues can only be specified when using expressions%s%.*s",
                   brief ? "" : ": ", STR_ARG(missing));
}

static bool check_mixing(struct api_call *call, const struct expression_request *request)
{
    bool expressions = any_expression(request);
    if (expressions && any_legacy(request)) {
        struct str legacy = join_legacy(call->arena, request);
        struct str given = join_expressions(call->arena, request);
        return err_set(&call->err, ERR_VALIDATION,
                       "Can not use both expression and non-expression parameters in the same "
                       "request: Non-expression parameters: {%.*s} Expression parameters: {%.*s}",
                       STR_ARG(legacy), STR_ARG(given));
    }
    if (request->names != NULL && request->names->given && !expressions) {
        return err_set(&call->err, ERR_VALIDATION,
                       "ExpressionAttributeNames can only be specified when using expressions");
    }
    return check_values_wanted(call, request);
}

bool api_check_mixing(struct api_call *call, const struct expression_request *request)
{
    return check_mixing(call, request) || api_envelope(call);
}

/* --- names and values --- */

/* Checks the values. The older layer names the wrong value in its message. */
static bool check_value_problems(struct api_call *call, const struct wire_map *values)
{
    for (size_t i = 0; i < values->count; i++) {
        const struct wire_value *value = &((const struct wire_value *)values->values)[i];
        if (value->problem.fault == FAULT_NONE) {
            continue;
        }
        if (call->layer != LAYER_OLDER) {
            return api_check_problem(call, &value->problem);
        }
        struct str text = value_problem_text(&value->problem, WORDING_OLDER, call->arena);
        return err_set(&call->err, ERR_VALIDATION,
                       "ExpressionAttributeValues contains invalid value: %.*s for key %.*s",
                       STR_ARG(text), STR_ARG(values->names[i]));
    }
    return true;
}

/* ExpressionAttributeValues; `map` may be NULL. */
static struct expr_values values_of(const struct wire_map *map, struct arena *arena)
{
    if (map == NULL || !map->given) {
        return (struct expr_values){0};
    }
    struct value *list = ARENA_ARRAY(arena, struct value, map->count + 1);
    for (size_t i = 0; i < map->count; i++) {
        list[i] = ((const struct wire_value *)map->values)[i].value;
    }
    return (struct expr_values){
        .given = true,
        .count = map->count,
        .names = map->names,
        .values = list,
    };
}

bool api_scope(struct api_call *call, const struct expression_request *request,
               struct expr_scope *scope)
{
    struct expr_names names = {0};
    if (request->names != NULL && request->names->given) {
        names = (struct expr_names){
            .given = true,
            .count = request->names->count,
            .names = request->names->names,
            .targets = request->names->values,
        };
    }
    struct expr_values values = values_of(request->values, call->arena);
    if (!expr_scope_init(scope, call->arena, call->thread->cache, &names, &values, &call->err)) {
        return api_envelope(call);
    }
    scope->names_sizes = call->layer == LAYER_OLDER;
    return !values.given || check_value_problems(call, request->values);
}

bool api_check_used(struct api_call *call, const struct expr_scope *scope)
{
    return expr_scope_check_used(scope, &call->err) || api_envelope(call);
}

bool api_condition_expression(struct api_call *call, struct expr_scope *scope,
                              struct named_text expression, const struct condition **out)
{
    return str_is_null(expression.text) ||
           expr_condition(scope, expression.text, expression.name, out, &call->err) ||
           api_envelope(call);
}

bool api_projection(struct api_call *call, struct expr_scope *scope, struct str expression,
                    const struct projection **out)
{
    return str_is_null(expression) || expr_projection(scope, expression, out, &call->err) ||
           api_envelope(call);
}

/* --- paths --- */

static bool is_index_key(const struct table *table, struct str name)
{
    for (size_t i = 0; i < table->index_count; i++) {
        if (key_schema_has(&table->indexes[i].key, name)) {
            return true;
        }
    }
    return false;
}

void api_visit_key_path(void *context, const struct expr_path *path)
{
    const struct key_paths *paths = context;
    struct str name = path->steps[0].name;
    bool table_key = key_schema_has(&paths->table->key, name);
    if (path->step_count > 1 && (table_key || is_index_key(paths->table, name))) {
        err_set(paths->err, ERR_VALIDATION,
                "Key attributes must be scalars; list random access '[]' and map lookup '.' are "
                "not allowed: %s: %.*s",
                table_key ? "Key" : "IndexKey", STR_ARG(name));
    }
}

bool api_check_key_paths(const struct table *table, const struct projection *projection,
                         const struct condition *condition, struct err *err)
{
    struct key_paths paths = {.table = table, .err = err};
    if (projection != NULL) {
        projection_visit_paths(projection, api_visit_key_path, &paths);
    }
    if (condition != NULL) {
        condition_visit_paths(condition, api_visit_key_path, &paths);
    }
    return err->code == ERR_NONE;
}

/* --- legacy parameters --- */

bool api_check_conditional_operator(struct api_call *call,
                                    const struct wire_enum *conditional_operator)
{
    if (str_is_null(conditional_operator->text) || conditional_operator->value >= 0) {
        return true;
    }
    err_set(&call->err, ERR_VALIDATION,
            "Failed to satisfy constraint: Member must satisfy enum value set: [ALL, OR]");
    return api_envelope(call);
}

/* Converts the index of a ComparisonOperator in its shape to the enum of legacy.h. */
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

static bool convert_values(struct api_call *call, const struct wire_list *list,
                           const struct value **out)
{
    struct value *values = ARENA_ARRAY(call->arena, struct value, list->count + 1);
    for (size_t i = 0; i < list->count; i++) {
        const struct wire_value *value = &((const struct wire_value *)list->elements)[i];
        if (!api_check_problem(call, &value->problem)) {
            return false;
        }
        values[i] = value->value;
    }
    *out = values;
    return true;
}

static bool convert_condition(struct api_call *call, struct str name,
                              const struct condition_request *request, struct legacy_condition *out)
{
    *out = (struct legacy_condition){.attribute = name};
    if (!str_is_null(request->comparison.text)) {
        out->has_op = true;
        out->op = legacy_operator(request->comparison.value);
    }
    if (!api_check_problem(call, &request->value.problem)) {
        return false;
    }
    out->value = request->value.value;
    out->has_exists = request->exists.given;
    out->exists = request->exists.value;
    out->has_values = request->values.given;
    out->value_count = request->values.count;
    return convert_values(call, &request->values, &out->values);
}

static bool convert_conditions(struct api_call *call, const struct wire_map *map,
                               struct legacy_condition **out)
{
    *out = ARENA_ARRAY(call->arena, struct legacy_condition, map->count + 1);
    for (size_t i = 0; i < map->count; i++) {
        if (!convert_condition(call, map->names[i], api_condition(map, i), &(*out)[i])) {
            return false;
        }
    }
    return true;
}

static bool convert_filter(struct api_call *call, const struct wire_map *map,
                           const struct wire_enum *conditional_operator, bool expected,
                           const struct condition **out)
{
    static const enum legacy_join joins[] = {LEGACY_JOIN_OR, LEGACY_JOIN_AND};
    struct legacy_condition *conditions;
    if (!convert_conditions(call, map, &conditions)) {
        return false;
    }
    enum legacy_join join = str_is_null(conditional_operator->text)
                                ? LEGACY_JOIN_NONE
                                : joins[conditional_operator->value];
    return legacy_conditions(call->arena, conditions, map->count, join, expected, out,
                             &call->err) ||
           api_envelope(call);
}

bool api_expected(struct api_call *call, const struct wire_map *map,
                  const struct wire_enum *conditional_operator, const struct condition **out)
{
    return convert_filter(call, map, conditional_operator, true, out);
}

bool api_filter(struct api_call *call, const struct wire_map *map,
                const struct wire_enum *conditional_operator, const struct condition **out)
{
    return convert_filter(call, map, conditional_operator, false, out);
}

bool api_key_conditions(struct api_call *call, const struct wire_map *map,
                        const struct key_expression **out)
{
    struct legacy_condition *conditions;
    return convert_conditions(call, map, &conditions) &&
           legacy_key_conditions(call->arena, conditions, map->count, out, &call->err);
}

bool api_attributes_to_get(struct api_call *call, const struct wire_list *attributes,
                           const struct projection **out)
{
    *out = NULL;
    return !attributes->given ||
           legacy_projection(call->arena, attributes->elements, attributes->count, out, &call->err);
}
