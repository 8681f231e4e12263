/* Translates SET and REMOVE of an UPDATE statement into a bound update. Called by statement.c, on
 * the thread of the request. */
#include "err/messages.h"
#include "partiql/translate_internal.h"

static const struct operand *refuse_operand(struct ql_translator *t, const struct ql_node *node)
{
    if (node->kind == QL_CALL) {
        ql_refuse_at(t, node->token, MESSAGE_UNKNOWN_FUNCTION, STR_ARG(node->token.text));
    } else if (node->kind == QL_IS) {
        ql_refuse(t, "IS operator is not supported in update expressions");
    } else {
        ql_refuse(t, "Unsupported operator in Update Expression. Operator: %.*s",
                  STR_ARG(node->token.text));
    }
    return NULL;
}

/* operand = path | value */
static const struct operand *read_operand(struct ql_translator *t, const struct ql_node *node)
{
    struct expr_path path;
    struct value value;
    if (node->kind == QL_NAME || node->kind == QL_PATH) {
        return ql_path(t, node, &path) ? build_path(&t->builder, &path) : NULL;
    }
    if (ql_is_value(node)) {
        return ql_value(t, node, &value) ? build_value(&t->builder, value) : NULL;
    }
    return refuse_operand(t, node);
}

static const struct operand *read_pair(struct ql_translator *t, const struct ql_node *node,
                                       enum build_function function)
{
    const struct operand **operands =
        ARENA_ARRAY(t->arena, const struct operand *, node->child_count + 1);
    size_t count = 0;
    for (const struct ql_node *child = node->first; child != NULL; child = child->next) {
        operands[count] = read_operand(t, child);
        if (operands[count++] == NULL) {
            return NULL;
        }
    }
    return build_operand(&t->builder, function, operands, count);
}

/* right = operand ["+" | "-" operand] | list_append(operand, operand) */
static const struct operand *read_right(struct ql_translator *t, const struct ql_node *node)
{
    if (node->kind == QL_PLUS || node->kind == QL_MINUS) {
        return read_pair(t, node, node->kind == QL_PLUS ? BUILD_PLUS : BUILD_MINUS);
    }
    return ql_is_call(node, "list_append") ? read_pair(t, node, BUILD_LIST_APPEND)
                                           : read_operand(t, node);
}

static bool same_path(const struct expr_path *a, const struct expr_path *b)
{
    bool same = a->step_count == b->step_count;
    for (size_t i = 0; same && i < a->step_count; i++) {
        same = str_is_null(a->steps[i].name) == str_is_null(b->steps[i].name) &&
               str_eq(a->steps[i].name, b->steps[i].name) && a->steps[i].index == b->steps[i].index;
    }
    return same;
}

/* path = SET_ADD(path, set) or SET_DELETE(path, set), with the same path twice */
static bool read_set_change(struct ql_translator *t, const struct ql_node *call,
                            struct build_change *change)
{
    const char *name = change->action == BUILD_ADD ? "SET_ADD" : "SET_DELETE";
    struct expr_path first;
    struct value set;
    if (call->child_count != 2) {
        return ql_refuse_at(t, call->token, "%s must have exactly two arguments", name);
    }
    bool path = call->first->kind == QL_NAME || call->first->kind == QL_PATH;
    if (path && !ql_path(t, call->first, &first)) {
        return false;
    }
    if (!path || !same_path(&first, &change->path)) {
        return ql_refuse_at(t, call->token,
                            "The first argument to %s must equal the assignment value", name);
    }
    const struct ql_node *second = call->first->next;
    if (ql_is_value(second) && !ql_value(t, second, &set)) {
        return false;
    }
    if (!ql_is_value(second) || !value_is_set(value_type(set))) {
        return ql_refuse_at(t, call->first->token,
                            "The second argument to %s must be a value with type SET", name);
    }
    change->value = build_value(&t->builder, set);
    return true;
}

static bool read_change(struct ql_translator *t, const struct ql_node *node,
                        struct build_change *out)
{
    if (!ql_path(t, node->first, &out->path)) {
        return false;
    }
    out->action = BUILD_REMOVE;
    if (node->kind == QL_REMOVE) {
        return true;
    }
    const struct ql_node *value = node->first->next;
    bool add = ql_is_call(value, "set_add");
    if (add || ql_is_call(value, "set_delete")) {
        out->action = add ? BUILD_ADD : BUILD_DELETE;
        return read_set_change(t, value, out);
    }
    out->action = BUILD_SET;
    out->value = read_right(t, value);
    return out->value != NULL;
}

bool ql_changes(struct ql_translator *t, const struct ql_node *update, const struct update **out)
{
    struct build_change *changes = ARENA_ARRAY(t->arena, struct build_change, update->child_count);
    size_t count = 0;
    for (const struct ql_node *child = update->first; child != NULL; child = child->next) {
        if (!read_change(t, child, &changes[count++])) {
            return false;
        }
    }
    return build_update(&t->builder, changes, count, out);
}
