/* Binds operands: replaces the names and values of a parsed expression by those of the request, and
 * checks numbers and types of operands. Used for all kinds of expressions, and by build.c. Any
 * thread. */
#include "expr/bind/bind_internal.h"

#include <stdarg.h>

#include "expr/bind/scope_internal.h"
#include "expr/bound/path_tree_internal.h"
#include "expr/parse/cache_internal.h"

bool binder_fail(const struct binder *binder, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    struct str text = arena_vformat(binder->scope->arena, format, args);
    va_end(args);
    if (binder->parameter == NULL) {
        return err_set_str(binder->err, ERR_VALIDATION, text);
    }
    return err_set(binder->err, ERR_VALIDATION, "Invalid %s: %.*s", binder->parameter,
                   STR_ARG(text));
}

/* Parses in an arena of its own, whose ownership passes to the cache. */
static bool parse_for_cache(struct binder *b, enum tree_kind kind)
{
    struct arena arena;
    arena_init(&arena);
    if (!tree_parse(&arena, kind, b->text, b->parameter, &b->tree, b->err) ||
        !tree_check(b->tree, b->text, b->parameter, b->err)) {
        arena_finish(&arena);
        return false;
    }
    cache_put(b->scope->cache, kind, b->text, &arena, b->tree);
    return true;
}

#define TOO_LONG "Expression size has exceeded the maximum allowed size;"

bool binder_init(struct binder *binder, struct expr_scope *scope, enum tree_kind kind,
                 struct str text, const char *parameter, struct err *err)
{
    *binder = (struct binder){.scope = scope, .text = text, .parameter = parameter, .err = err};
    if (text.len == 0) {
        return binder_fail(binder, "The expression can not be empty;");
    }
    if (text.len > EXPRESSION_BYTES_MAX) {
        return scope->names_sizes ? binder_fail(binder, TOO_LONG " expression size: %zu", text.len)
                                  : binder_fail(binder, TOO_LONG);
    }
    if (scope->cache == NULL) {
        return tree_parse(scope->arena, kind, text, parameter, &binder->tree, err) &&
               tree_check(binder->tree, text, parameter, err);
    }
    binder->tree = cache_get(scope->cache, kind, text);
    return binder->tree != NULL || parse_for_cache(binder, kind);
}

bool bind_check_operators(const struct binder *binder, size_t operator_count)
{
    if (operator_count > OPERATORS_MAX) {
        return binder_fail(binder, "The expression contains too many operators; operator count: %d",
                           OPERATORS_MAX + 1); /* the service stops counting here */
    }
    return true;
}

bool binder_finish(const struct binder *binder)
{
    return bind_check_operators(binder, binder->tree->operator_count);
}

static bool bind_step(const struct binder *b, const struct step *step, struct expr_step *out)
{
    struct str text = span_str(step->span, b->text);
    *out = (struct expr_step){.name = text};
    if (step->kind == STEP_INDEX) {
        int64_t index = 0;
        bool fits = str_to_int64(text, &index); /* tree_check() has checked it */
        assert(fits);
        *out = (struct expr_step){.name = STR_NULL, .index = (uint32_t)index};
    } else if (step->kind == STEP_REF) {
        out->name = scope_use_name(b->scope, text);
        if (str_is_null(out->name)) {
            return binder_fail(b,
                               "An expression attribute name used in the document path is not "
                               "defined; attribute name: %.*s",
                               STR_ARG(text));
        }
    }
    return true;
}

bool bind_check_steps(const struct binder *binder, size_t step_count)
{
    return step_count <= PATH_STEPS_MAX ||
           binder_fail(binder, "The document path has too many nesting levels; nesting levels: %zu",
                       step_count);
}

bool bind_path(const struct binder *binder, const struct node *node, struct expr_path *out)
{
    if (!bind_check_steps(binder, node->step_count)) {
        return false;
    }
    struct expr_step *steps = ARENA_ARRAY(binder->scope->arena, struct expr_step, node->step_count);
    size_t count = 0;
    for (const struct step *step = node->steps; step != NULL; step = step->next) {
        if (!bind_step(binder, step, &steps[count++])) {
            return false;
        }
    }
    *out = (struct expr_path){.steps = steps, .step_count = count};
    return true;
}

bool bind_value(const struct binder *binder, const struct node *node, struct value *out)
{
    struct str name = span_str(node->span, binder->text);
    *out = scope_use_value(binder->scope, name);
    if (value_is_absent(*out)) {
        return binder_fail(binder,
                           "An expression attribute value used in expression is not defined; "
                           "attribute value: %.*s",
                           STR_ARG(name));
    }
    return true;
}

static bool is_path(const struct operand *operand)
{
    return operand->kind == OPERAND_PATH;
}

/* if_not_exists(path, operand) */
static bool bind_if_not_exists(const struct binder *b, const struct node *node, struct operand *out)
{
    struct operand *operands;
    *out = (struct operand){.kind = OPERAND_IF_NOT_EXISTS};
    if (!bind_operands(b, node, &operands) || !bind_check_count(b, node)) {
        return false;
    }
    if (!is_path(&operands[0])) {
        return binder_fail(b, "Operator or function requires a document path; operator or "
                              "function: if_not_exists");
    }
    out->operands = operands;
    return bind_check_distinct(b, node, operands);
}

static enum operand_kind combined_kind(const struct node *node)
{
    switch (node->kind) {
    case NODE_PLUS:
        return OPERAND_PLUS;
    case NODE_MINUS:
        return OPERAND_MINUS;
    default:
        return node->function == FUNCTION_size ? OPERAND_SIZE : OPERAND_LIST_APPEND;
    }
}

static unsigned combined_types(enum operand_kind kind)
{
    switch (kind) {
    case OPERAND_SIZE:
        return ~(1u << VALUE_N | 1u << VALUE_BOOL | 1u << VALUE_NULL);
    case OPERAND_LIST_APPEND:
        return 1u << VALUE_L;
    default:
        return 1u << VALUE_N;
    }
}

bool bind_combined(const struct binder *binder, const struct node *node,
                   const struct operand *operands, struct operand *out)
{
    enum operand_kind kind = combined_kind(node);
    *out = (struct operand){.kind = kind, .operands = operands};
    return (node->kind != NODE_CALL || bind_check_count(binder, node)) &&
           bind_check_types(binder, node, operands, combined_types(kind));
}

/* size(operand), list_append(operand, operand), operand + operand, operand - operand */
static bool bind_combination(const struct binder *b, const struct node *node, struct operand *out)
{
    struct operand *operands;
    return bind_operands(b, node, &operands) && bind_combined(b, node, operands, out);
}

bool bind_operand(const struct binder *binder, const struct node *node, struct operand *out)
{
    switch (node->kind) {
    case NODE_PATH:
        *out = (struct operand){.kind = OPERAND_PATH};
        return bind_path(binder, node, &out->path);
    case NODE_VALUE:
        *out = (struct operand){.kind = OPERAND_VALUE};
        return bind_value(binder, node, &out->value);
    case NODE_CALL:
        if (node->function == FUNCTION_if_not_exists) {
            return bind_if_not_exists(binder, node, out);
        }
        return bind_combination(binder, node, out);
    default:
        return bind_combination(binder, node, out);
    }
}

bool bind_operands(const struct binder *binder, const struct node *node, struct operand **out)
{
    struct operand *operands =
        ARENA_ARRAY(binder->scope->arena, struct operand, node->operand_count);
    size_t count = 0;
    for (const struct node *operand = node->first; operand != NULL; operand = operand->next) {
        if (!bind_operand(binder, operand, &operands[count++])) {
            return false;
        }
    }
    *out = operands;
    return true;
}

bool bind_check_count(const struct binder *binder, const struct node *node)
{
    if (node->operand_count == function_rules[node->function].operand_count) {
        return true;
    }
    return binder_fail(binder,
                       "Incorrect number of operands for operator or function; operator or "
                       "function: %s, number of operands: %zu",
                       node_name(node), node->operand_count);
}

bool bind_check_distinct(const struct binder *binder, const struct node *node,
                         const struct operand *operands)
{
    for (size_t i = 1; i < node->operand_count && is_path(&operands[0]); i++) {
        if (is_path(&operands[i]) && path_eq(&operands[0].path, &operands[i].path)) {
            struct str path = path_describe(&operands[0].path, binder->scope->arena);
            return binder_fail(binder,
                               "The first operand must be distinct from the remaining operands for "
                               "this operator or function; operator: %s, first operand: %.*s",
                               node_name(node), STR_ARG(path));
        }
    }
    return true;
}

enum value_type operand_type(const struct operand *operand)
{
    if (operand->kind == OPERAND_VALUE) {
        return value_type(operand->value);
    }
    return operand->kind == OPERAND_SIZE    ? VALUE_N
           : operand->kind == OPERAND_TRUTH ? VALUE_BOOL
                                            : VALUE_NONE;
}

bool bind_fail_type(const struct binder *binder, const struct node *node, const char *type)
{
    return binder_fail(binder,
                       "Incorrect operand type for operator or function; operator or function: "
                       "%s, operand type: %s",
                       node_name(node), type);
}

bool bind_check_types(const struct binder *binder, const struct node *node,
                      const struct operand *operands, unsigned allowed)
{
    for (size_t i = 0; i < node->operand_count; i++) {
        enum value_type type = operand_type(&operands[i]);
        if (type != VALUE_NONE && (allowed & 1u << type) == 0) {
            return bind_fail_type(binder, node, value_type_name(type));
        }
    }
    return true;
}
