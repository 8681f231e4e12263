/* Bound expressions as text without values. Called by the meter: for the fingerprint with every
 * call, for the text when a pattern is new. Any thread; changes nothing. */
#include "expr/describe.h"

#include <stdio.h>

#include "base/hash.h"
#include "expr/bound/condition_internal.h"
#include "expr/bound/key_expression_internal.h"
#include "expr/bound/projection_internal.h"
#include "expr/bound/update_internal.h"

void describe_text(struct describer *to, struct str text)
{
    if (to->out != NULL) {
        buf_add(to->out, text);
    } else {
        to->hash = hash_64_seeded(text, to->hash);
    }
}

#define PUT(to, literal) describe_text((to), STR(literal))

static bool is_plain_name(struct str name)
{
    for (size_t i = 0; i < name.len; i++) {
        unsigned char c = (unsigned char)name.data[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c >= 0x80;
        if (!letter && !(c >= '0' && c <= '9' && i > 0) && c != '_' && c != '-' && c != ':') {
            return false;
        }
    }
    return name.len > 0;
}

void describe_name(struct describer *to, struct str name)
{
    if (to->out == NULL || is_plain_name(name)) {
        describe_text(to, name);
        return;
    }
    buf_add_char(to->out, '"');
    buf_add(to->out, name);
    buf_add_char(to->out, '"');
}

void describe_path(struct describer *to, const struct expr_path *path)
{
    for (size_t i = 0; i < path->step_count; i++) {
        const struct expr_step *step = &path->steps[i];
        if (str_is_null(step->name)) {
            char digits[16];
            int len = snprintf(digits, sizeof(digits), "[%u]", step->index);
            describe_text(to, str_make(digits, (size_t)len));
            continue;
        }
        if (i > 0) {
            PUT(to, ".");
        }
        describe_name(to, step->name);
    }
}

static void describe_operand(struct describer *to, const struct operand *operand);

static void describe_pair(struct describer *to, const struct operand *operands, struct str between)
{
    describe_operand(to, &operands[0]);
    describe_text(to, between);
    describe_operand(to, &operands[1]);
}

static void describe_operand(struct describer *to, const struct operand *operand)
{
    switch (operand->kind) {
    case OPERAND_PATH:
        describe_path(to, &operand->path);
        break;
    case OPERAND_VALUE:
        PUT(to, "?");
        break;
    case OPERAND_SIZE:
        PUT(to, "size(");
        describe_operand(to, operand->operands);
        PUT(to, ")");
        break;
    case OPERAND_TRUTH:
        PUT(to, "(");
        describe_condition(to, operand->condition);
        PUT(to, ")");
        break;
    case OPERAND_PLUS:
        describe_pair(to, operand->operands, STR(" + "));
        break;
    case OPERAND_MINUS:
        describe_pair(to, operand->operands, STR(" - "));
        break;
    case OPERAND_IF_NOT_EXISTS:
        PUT(to, "if_not_exists(");
        describe_pair(to, operand->operands, STR(", "));
        PUT(to, ")");
        break;
    case OPERAND_LIST_APPEND:
        PUT(to, "list_append(");
        describe_pair(to, operand->operands, STR(", "));
        PUT(to, ")");
        break;
    }
}

static void describe_call(struct describer *to, struct str function,
                          const struct condition *condition)
{
    describe_text(to, function);
    PUT(to, "(");
    for (size_t i = 0; i < condition->operand_count; i++) {
        if (i > 0) {
            PUT(to, ", ");
        }
        describe_operand(to, &condition->operands[i]);
    }
    PUT(to, ")");
}

/* Lists of different lengths are one pattern, unless they hold paths. */
static void describe_in(struct describer *to, const struct condition *condition)
{
    bool values = true;
    for (size_t i = 1; i < condition->operand_count; i++) {
        values = values && condition->operands[i].kind == OPERAND_VALUE;
    }
    describe_operand(to, &condition->operands[0]);
    if (values) {
        PUT(to, " IN (?, ...)");
        return;
    }
    PUT(to, " IN (");
    for (size_t i = 1; i < condition->operand_count; i++) {
        if (i > 1) {
            PUT(to, ", ");
        }
        describe_operand(to, &condition->operands[i]);
    }
    PUT(to, ")");
}

/* An operand of AND, OR or NOT: in parentheses if it binds less tightly. */
static void describe_part(struct describer *to, const struct condition *part,
                          enum condition_kind outer)
{
    bool parens = (part->kind == CONDITION_OR && outer != CONDITION_OR) ||
                  (part->kind == CONDITION_AND && outer == CONDITION_NOT);
    if (parens) {
        PUT(to, "(");
    }
    describe_condition(to, part);
    if (parens) {
        PUT(to, ")");
    }
}

static void describe_joined(struct describer *to, const struct condition *condition,
                            struct str word)
{
    describe_part(to, condition->left, condition->kind);
    describe_text(to, word);
    describe_part(to, condition->right, condition->kind);
}

/* Describes a condition that is a function. */
static void describe_function(struct describer *to, const struct condition *condition)
{
    switch (condition->kind) {
    case CONDITION_EXISTS:
        describe_call(to, STR("attribute_exists"), condition);
        break;
    case CONDITION_NOT_EXISTS:
        describe_call(to, STR("attribute_not_exists"), condition);
        break;
    case CONDITION_TYPE:
        PUT(to, "attribute_type(");
        describe_operand(to, &condition->operands[0]);
        PUT(to, ", ");
        describe_text(to, str_from_c(value_type_name(condition->type)));
        PUT(to, ")");
        break;
    case CONDITION_BEGINS_WITH:
        describe_call(to, STR("begins_with"), condition);
        break;
    case CONDITION_CONTAINS:
        describe_call(to, STR("contains"), condition);
        break;
    case CONDITION_NOT_CONTAINS:
        describe_call(to, STR("NOT contains"), condition);
        break;
    default:
        assert(false); /* the caller handles all other kinds */
        break;
    }
}

void describe_condition(struct describer *to, const struct condition *condition)
{
    switch (condition->kind) {
    case CONDITION_EQ:
        describe_pair(to, condition->operands, STR(" = "));
        break;
    case CONDITION_NE:
    case CONDITION_DIFFERS:
        describe_pair(to, condition->operands, STR(" <> "));
        break;
    case CONDITION_LT:
        describe_pair(to, condition->operands, STR(" < "));
        break;
    case CONDITION_LE:
        describe_pair(to, condition->operands, STR(" <= "));
        break;
    case CONDITION_GT:
        describe_pair(to, condition->operands, STR(" > "));
        break;
    case CONDITION_GE:
        describe_pair(to, condition->operands, STR(" >= "));
        break;
    case CONDITION_BETWEEN:
        describe_pair(to, condition->operands, STR(" BETWEEN "));
        PUT(to, " AND ");
        describe_operand(to, &condition->operands[2]);
        break;
    case CONDITION_IN:
        describe_in(to, condition);
        break;
    case CONDITION_AND:
        describe_joined(to, condition, STR(" AND "));
        break;
    case CONDITION_OR:
        describe_joined(to, condition, STR(" OR "));
        break;
    case CONDITION_NOT:
        PUT(to, "NOT ");
        describe_part(to, condition->left, CONDITION_NOT);
        break;
    case CONDITION_EXISTS:
    case CONDITION_NOT_EXISTS:
    case CONDITION_TYPE:
    case CONDITION_BEGINS_WITH:
    case CONDITION_CONTAINS:
    case CONDITION_NOT_CONTAINS:
        describe_function(to, condition);
        break;
    }
}

static void describe_test(struct describer *to, const struct key_test *test)
{
    static const char *const words[] = {
        [KEY_NONE] = " ? ",
        [KEY_EQ] = " = ?",
        [KEY_LT] = " < ?",
        [KEY_LE] = " <= ?",
        [KEY_GT] = " > ?",
        [KEY_GE] = " >= ?",
        [KEY_BETWEEN] = " BETWEEN ? AND ?",
        [KEY_BEGINS_WITH] = ", ?)",
    };
    if (test->op == KEY_BEGINS_WITH) {
        PUT(to, "begins_with(");
    }
    describe_name(to, test->attribute);
    describe_text(to, str_from_c(words[test->op]));
}

void describe_key(struct describer *to, const struct key_expression *expression,
                  const struct key_schema *keys)
{
    bool first = true;
    for (size_t i = 0; i < keys->hash_count + keys->range_count; i++) {
        struct str name =
            i < keys->hash_count ? keys->hash[i].name : keys->range[i - keys->hash_count].name;
        for (size_t k = 0; k < expression->test_count; k++) {
            if (str_eq(expression->tests[k].attribute, name)) {
                describe_text(to, first ? STR("") : STR(" AND "));
                describe_test(to, &expression->tests[k]);
                first = false;
            }
        }
    }
}

void describe_projection(struct describer *to, const struct projection *projection)
{
    for (size_t i = 0; i < projection->path_count; i++) {
        describe_text(to, i > 0 ? STR(", ") : STR(""));
        describe_path(to, &projection->paths[i]);
    }
}

void describe_update(struct describer *to, const struct update *update)
{
    static const char *const words[] = {[ACTION_SET] = "SET ",
                                        [ACTION_REMOVE] = "REMOVE ",
                                        [ACTION_ADD] = "ADD ",
                                        [ACTION_DELETE] = "DELETE "};
    bool any = false;
    for (enum action_kind kind = ACTION_SET; kind <= ACTION_DELETE; kind++) {
        bool first = true;
        for (size_t i = 0; i < update->action_count; i++) {
            const struct update_action *action = &update->actions[i];
            if (action->kind != kind) {
                continue;
            }
            if (first) {
                describe_text(to, any ? STR(" ") : STR(""));
                describe_text(to, str_from_c(words[kind]));
            } else {
                PUT(to, ", ");
            }
            describe_path(to, &action->path);
            if (kind == ACTION_SET) {
                PUT(to, " = ");
                describe_operand(to, &action->value);
            } else if (kind != ACTION_REMOVE) {
                PUT(to, " ?");
            }
            first = false;
            any = true;
        }
    }
}
