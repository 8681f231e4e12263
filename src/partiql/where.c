/* Translates conditions, to a bound condition and to a tree for the planner. A comparison, a
 * function or NOT is a BOOL and may be compared itself: attribute_exists(a) = true. Called by
 * statement.c. */
#include "err/messages.h"
#include "partiql/translate_internal.h"

static const struct operand *read_operand(struct ql_translator *t, const struct ql_node *node);

bool ql_is_call(const struct ql_node *node, const char *name)
{
    return node->kind == QL_CALL && str_eq_nocase(node->token.text, str_from_c(name));
}

static bool is_path(const struct ql_node *node)
{
    return node->kind == QL_NAME || node->kind == QL_PATH;
}

static const struct where *make_where(struct ql_translator *t, const struct where *where)
{
    if (where->condition == NULL) {
        return NULL;
    }
    struct where *made = ARENA_NEW(t->arena, struct where);
    *made = *where;
    return made;
}

/* --- operands --- */

static const struct operand *read_path(struct ql_translator *t, const struct ql_node *node)
{
    struct expr_path path;
    return ql_path(t, node, &path) ? build_path(&t->builder, &path) : NULL;
}

static const struct operand *read_value(struct ql_translator *t, const struct ql_node *node)
{
    struct value value;
    if (node->kind == QL_MISSING) {
        ql_refuse(t, "MISSING must be compared using IS operator");
        return NULL;
    }
    return ql_value(t, node, &value) ? build_value(&t->builder, value) : NULL;
}

/* Translates all children of a node; NULL on failure. */
static const struct operand **read_operands(struct ql_translator *t, const struct ql_node *node)
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
    return operands;
}

static const struct operand *read_truth(struct ql_translator *t, const struct ql_node *node)
{
    const struct where *where = ql_where(t, node);
    return where == NULL ? NULL : build_truth(&t->builder, where->condition);
}

static const struct operand *read_operand(struct ql_translator *t, const struct ql_node *node)
{
    if (is_path(node)) {
        return read_path(t, node);
    }
    if (ql_is_value(node)) {
        return read_value(t, node);
    }
    if (ql_is_call(node, "size")) {
        const struct operand **operands = read_operands(t, node);
        return operands == NULL
                   ? NULL
                   : build_operand(&t->builder, BUILD_SIZE, operands, node->child_count);
    }
    return read_truth(t, node);
}

/* --- comparisons of keys --- */

static enum key_operator flip(enum key_operator op)
{
    switch (op) {
    case KEY_LT:
        return KEY_GT;
    case KEY_LE:
        return KEY_GE;
    case KEY_GT:
        return KEY_LT;
    case KEY_GE:
        return KEY_LE;
    default:
        return op;
    }
}

/* Collects the literals from `node` on. ql_value() has translated them before, so it does not fail.
 */
static bool collect_values(struct ql_translator *t, const struct ql_node *node, struct where *out)
{
    struct value *values = NULL;
    size_t count = 0;
    for (const struct ql_node *n = node; n != NULL; n = n->next) {
        if (!ql_is_value(n)) {
            return false;
        }
        count++;
    }
    values = ARENA_ARRAY(t->arena, struct value, count);
    for (size_t i = 0; i < count; i++, node = node->next) {
        if (!ql_value(t, node, &values[i])) {
            return false;
        }
    }
    out->values = values;
    out->value_count = count;
    return true;
}

/* Records `attribute op value`, with the attribute on either side, for the planner. */
static void note_key_test(struct ql_translator *t, const struct ql_node *node, enum key_operator op,
                          struct where *out)
{
    const struct ql_node *left = node->first;
    const struct ql_node *right = node->kind == QL_IN ? left->next->first : left->next;
    if (op == KEY_NONE) {
        return;
    }
    if (left->kind == QL_NAME && collect_values(t, right, out)) {
        out->attribute = ql_token_content(left->token, t->arena);
        out->op = op;
    } else if (node->child_count == 2 && node->kind != QL_IN && op != KEY_BEGINS_WITH &&
               right->kind == QL_NAME && ql_is_value(left)) {
        struct value *value = ARENA_NEW(t->arena, struct value);
        if (ql_value(t, left, value)) {
            out->attribute = ql_token_content(right->token, t->arena);
            out->op = flip(op);
            out->values = value;
            out->value_count = 1;
        }
    }
}

/* --- tests --- */

/* NOT IN and NOT BETWEEN. */
static const struct where *negate(struct ql_translator *t, const struct where *where, bool negated)
{
    if (where == NULL || !negated) {
        return where;
    }
    return make_where(t, &(struct where){.kind = WHERE_NOT,
                                         .left = where,
                                         .condition = build_not(&t->builder, where->condition)});
}

static const struct where *translate_comparison(struct ql_translator *t, const struct ql_node *node)
{
    static const struct {
        enum build_test test;
        enum key_operator key;
    } rules[] = {
        [QL_EQ] = {BUILD_EQ, KEY_EQ},
        [QL_NE] = {BUILD_DIFFERS, KEY_NONE},
        [QL_LT] = {BUILD_LT, KEY_LT},
        [QL_LE] = {BUILD_LE, KEY_LE},
        [QL_GT] = {BUILD_GT, KEY_GT},
        [QL_GE] = {BUILD_GE, KEY_GE},
        [QL_BETWEEN] = {BUILD_BETWEEN, KEY_BETWEEN},
    };
    const struct operand **operands = read_operands(t, node);
    if (operands == NULL) {
        return NULL;
    }
    struct where where = {.kind = WHERE_TEST};
    where.condition = build_test(&t->builder, rules[node->kind].test, operands, node->child_count);
    note_key_test(t, node, rules[node->kind].key, &where);
    return negate(t, make_where(t, &where), node->negated);
}

static const struct where *translate_in(struct ql_translator *t, const struct ql_node *node)
{
    const struct ql_node *list = node->first->next;
    if ((list->kind != QL_LIST && list->kind != QL_BAG) || list->child_count == 0) {
        ql_refuse(t, "IN operator must have a left hand argument of type Variable Reference and "
                     "right hand argument of type Seq with at least one member");
        return NULL;
    }
    const struct operand *left = read_operand(t, node->first);
    const struct operand **members = left == NULL ? NULL : read_operands(t, list);
    if (members == NULL) {
        return NULL;
    }
    memmove(members + 1, members, list->child_count * sizeof(members[0]));
    members[0] = left;
    struct where where = {.kind = WHERE_TEST, .in = true};
    where.condition = build_test(&t->builder, BUILD_IN, members, list->child_count + 1);
    note_key_test(t, node, KEY_EQ, &where);
    return negate(t, make_where(t, &where), node->negated);
}

static bool read_type(const struct ql_translator *t, struct ql_token token, enum value_type *out)
{
    switch (token.word) {
    case QL_WORD_null:
        *out = VALUE_NULL;
        return true;
    case QL_WORD_bool:
    case QL_WORD_boolean:
        *out = VALUE_BOOL;
        return true;
    case QL_WORD_blob:
        *out = VALUE_B;
        return true;
    case QL_WORD_string:
        *out = VALUE_S;
        return true;
    case QL_WORD_numeric:
        *out = VALUE_N;
        return true;
    case QL_WORD_struct:
    case QL_WORD_tuple:
        *out = VALUE_M;
        return true;
    case QL_WORD_list:
        *out = VALUE_L;
        return true;
    case QL_WORD_missing:
        *out = VALUE_NONE;
        return true;
    default:
        return ql_refuse(t,
                         "Unsupported data type for IS operator: %s. Supported data types are "
                         "[MISSING, NULL, BOOLEAN, BLOB, STRING, NUMERIC, STRUCT, TUPLE, LIST]",
                         ql_word_text(token.word));
    }
}

static const struct where *translate_is(struct ql_translator *t, const struct ql_node *node)
{
    enum value_type type = VALUE_NONE;
    const struct ql_node *left = node->first;
    if (!is_path(left) && !ql_is_value(left)) {
        ql_refuse(t, "The left hand side argument to IS must be a Variable Reference, Literal, or "
                     "Path");
        return NULL;
    }
    if (!read_type(t, left->next->token, &type)) {
        return NULL;
    }
    const struct operand *operand = read_operand(t, left);
    if (operand == NULL) {
        return NULL;
    }
    struct where where = {.kind = WHERE_TEST};
    where.condition = build_is_type(&t->builder, operand, type);
    return negate(t, make_where(t, &where), node->negated);
}

static const struct where *translate_call(struct ql_translator *t, const struct ql_node *node)
{
    static const struct {
        const char *name;
        enum build_test test;
        enum key_operator key;
    } functions[] = {
        {"attribute_exists", BUILD_EXISTS, KEY_NONE},
        {"attribute_not_exists", BUILD_NOT_EXISTS, KEY_NONE},
        {"attribute_type", BUILD_TYPE, KEY_NONE},
        {"begins_with", BUILD_BEGINS_WITH, KEY_BEGINS_WITH},
        {"contains", BUILD_CONTAINS, KEY_NONE},
    };
    for (size_t i = 0; i < COUNT_OF(functions); i++) {
        if (!ql_is_call(node, functions[i].name)) {
            continue;
        }
        const struct operand **operands = read_operands(t, node);
        if (operands == NULL) {
            return NULL;
        }
        struct where where = {.kind = WHERE_TEST};
        where.condition = build_test(&t->builder, functions[i].test, operands, node->child_count);
        if (where.condition != NULL) { /* then there are two operands */
            note_key_test(t, node, functions[i].key, &where);
        }
        return make_where(t, &where);
    }
    char *lower = arena_bytes(t->arena, node->token.text.len);
    for (size_t i = 0; i < node->token.text.len; i++) {
        char c = node->token.text.data[i];
        lower[i] = (char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
    }
    ql_refuse_at(t, node->token, MESSAGE_UNKNOWN_FUNCTION, (int)node->token.text.len, lower);
    return NULL;
}

/* --- AND, OR, NOT --- */

/* Translates an operand of AND, OR or NOT: not an attribute or literal alone. */
static const struct where *translate_part(struct ql_translator *t, const struct ql_node *node,
                                          const char *refusal)
{
    if (is_path(node) || ql_is_value(node)) {
        ql_refuse(t, "%s", refusal);
        return NULL;
    }
    return ql_where(t, node);
}

static const struct where *translate_join(struct ql_translator *t, const struct ql_node *node)
{
    static const char refusal[] = "The arguments to AND/OR must be Expressions";
    const struct where *left = translate_part(t, node->first, refusal);
    const struct where *right = left == NULL ? NULL : translate_part(t, node->first->next, refusal);
    if (right == NULL) {
        return NULL;
    }
    bool all = node->kind == QL_AND;
    return make_where(
        t, &(struct where){
               .kind = all ? WHERE_AND : WHERE_OR,
               .left = left,
               .right = right,
               .condition = all ? build_and(&t->builder, left->condition, right->condition)
                                : build_or(&t->builder, left->condition, right->condition),
           });
}

const struct where *ql_where(struct ql_translator *t, const struct ql_node *node)
{
    switch (node->kind) {
    case QL_AND:
    case QL_OR:
        return translate_join(t, node);
    case QL_NOT:
        return negate(
            t, translate_part(t, node->first, "The argument to NOT must be a Type or Expression"),
            true);
    case QL_EQ:
    case QL_NE:
    case QL_LT:
    case QL_LE:
    case QL_GT:
    case QL_GE:
    case QL_BETWEEN:
        return translate_comparison(t, node);
    case QL_IN:
        return translate_in(t, node);
    case QL_IS:
        return translate_is(t, node);
    case QL_CALL:
        return translate_call(t, node);
    case QL_LIKE:
    case QL_PLUS:
    case QL_MINUS:
    case QL_TIMES:
    case QL_DIVIDE:
    case QL_MODULO:
    case QL_CONCAT:
    case QL_PLUS_SIGN:
    case QL_MINUS_SIGN:
        ql_refuse(t, "Unsupported operator in Condition Expression. Operator: %.*s",
                  STR_ARG(node->token.text));
        return NULL;
    case QL_SELECT:
    case QL_INSERT:
    case QL_UPDATE:
    case QL_DELETE:
        ql_refuse(t, MESSAGE_UNSUPPORTED_OPERATION, ql_kind_name(node->kind));
        return NULL;
    default:
        ql_refuse(t, "WHERE clause must contain an expression that resolves to a boolean");
        return NULL;
    }
}
