/* Turns Expected, QueryFilter, ScanFilter and KeyConditions into bound conditions. Called by
 * src/api. */
#include "expr/legacy.h"

#include "err/messages.h"
#include "expr/bound/key_expression_internal.h"

#define TYPES_ALL (~0u)
/* Types that CONTAINS may search for. */
#define TYPES_PARTS (TYPES_ORDERED | 1u << VALUE_NULL | 1u << VALUE_BOOL)

#define ANY_COUNT SIZE_MAX /* one or more */

static const struct operator_rule {
    const char *name;
    size_t value_count;
    unsigned types;
    enum condition_kind kind;
    enum key_operator key;
} rules[] = {
    [LEGACY_EQ] = {"EQ", 1, TYPES_ALL, CONDITION_EQ, KEY_EQ},
    [LEGACY_NE] = {"NE", 1, TYPES_ALL, CONDITION_NE, KEY_NONE},
    [LEGACY_IN] = {"IN", ANY_COUNT, TYPES_ORDERED, CONDITION_IN, KEY_NONE},
    [LEGACY_LE] = {"LE", 1, TYPES_ORDERED, CONDITION_LE, KEY_LE},
    [LEGACY_LT] = {"LT", 1, TYPES_ORDERED, CONDITION_LT, KEY_LT},
    [LEGACY_GE] = {"GE", 1, TYPES_ORDERED, CONDITION_GE, KEY_GE},
    [LEGACY_GT] = {"GT", 1, TYPES_ORDERED, CONDITION_GT, KEY_GT},
    [LEGACY_BETWEEN] = {"BETWEEN", 2, TYPES_ORDERED, CONDITION_BETWEEN, KEY_BETWEEN},
    [LEGACY_NOT_NULL] = {"NOT_NULL", 0, TYPES_ALL, CONDITION_EXISTS, KEY_NONE},
    [LEGACY_NULL] = {"NULL", 0, TYPES_ALL, CONDITION_NOT_EXISTS, KEY_NONE},
    [LEGACY_CONTAINS] = {"CONTAINS", 1, TYPES_PARTS, CONDITION_CONTAINS, KEY_NONE},
    [LEGACY_NOT_CONTAINS] = {"NOT_CONTAINS", 1, TYPES_PARTS, CONDITION_NOT_CONTAINS, KEY_NONE},
    [LEGACY_BEGINS_WITH] = {"BEGINS_WITH", 1, 1u << VALUE_S | 1u << VALUE_B, CONDITION_BEGINS_WITH,
                            KEY_BEGINS_WITH},
};

/* An operator with its values, from either form. */
struct test {
    struct str attribute;
    enum legacy_operator op;
    const struct value *values;
    size_t value_count;
};

/* --- one entry --- */

static bool check_values(const struct test *test, struct err *err)
{
    const struct operator_rule *rule = &rules[test->op];
    for (size_t i = 0; i < test->value_count; i++) {
        enum value_type type = value_type(test->values[i]);
        if ((rule->types & 1u << type) == 0) {
            return err_set(err, ERR_VALIDATION,
                           "One or more parameter values were invalid: ComparisonOperator %s is "
                           "not valid for %s AttributeValue type",
                           rule->name, value_type_name(type));
        }
        if (type != value_type(test->values[0])) {
            return err_set(err, ERR_VALIDATION,
                           "One or more parameter values were invalid: AttributeValues inside "
                           "AttributeValueList must be of same type");
        }
    }
    return true;
}

static bool check_test(const struct test *test, struct err *err)
{
    const struct operator_rule *rule = &rules[test->op];
    bool counted = rule->value_count == ANY_COUNT ? test->value_count > 0
                                                  : test->value_count == rule->value_count;
    if (!counted) {
        return err_set(err, ERR_VALIDATION,
                       "One or more parameter values were invalid: Invalid number of argument(s) "
                       "for the %s ComparisonOperator",
                       rule->name);
    }
    if (!check_values(test, err)) {
        return false;
    }
    if (test->op == LEGACY_BETWEEN && value_cmp(test->values[0], test->values[1]) > 0) {
        return err_set(err, ERR_VALIDATION,
                       "The BETWEEN condition was provided a range where the lower bound is "
                       "greater than the upper bound");
    }
    return true;
}

static bool fail_entry(const struct legacy_condition *c, const char *what, struct err *err)
{
    return err_set(err, ERR_VALIDATION,
                   "One or more parameter values were invalid: %s for Attribute: %.*s", what,
                   STR_ARG(c->attribute));
}

/* The older form of Expected: a value to be equal to, or Exists false. */
static bool read_exists(const struct legacy_condition *c, struct test *out, struct err *err)
{
    bool wanted = !c->has_exists || c->exists;
    bool given = !value_is_absent(c->value);
    if (c->has_values) {
        return fail_entry(c, "AttributeValueList can only be used with a ComparisonOperator", err);
    }
    if (wanted && !given) {
        return fail_entry(c,
                          c->has_exists ? "Value must be provided when Exists is true"
                                        : "Value must be provided when Exists is null",
                          err);
    }
    if (!wanted && given) {
        return fail_entry(c, "Value cannot be used when Exists is false", err);
    }
    *out = (struct test){.attribute = c->attribute,
                         .op = wanted ? LEGACY_EQ : LEGACY_NULL,
                         .values = &c->value,
                         .value_count = wanted ? 1 : 0};
    return true;
}

static bool read_entry(const struct legacy_condition *c, bool expected, struct test *out,
                       struct err *err)
{
    bool one_value = !value_is_absent(c->value);
    if (c->attribute.len == 0) {
        return err_set(err, ERR_VALIDATION, MESSAGE_EMPTY_NAME);
    }
    if (one_value && c->has_values) {
        return fail_entry(c, "Value and AttributeValueList cannot be used together", err);
    }
    if (!c->has_op) {
        return read_exists(c, out, err);
    }
    if (c->has_exists) {
        return fail_entry(c, "Exists and ComparisonOperator cannot be used together", err);
    }
    if (expected && !one_value && !c->has_values && rules[c->op].value_count > 0) {
        return err_set(err, ERR_VALIDATION,
                       "One or more parameter values were invalid: Value or AttributeValueList "
                       "must be used with ComparisonOperator: %s for Attribute: %.*s",
                       rules[c->op].name, STR_ARG(c->attribute));
    }
    *out = (struct test){.attribute = c->attribute,
                         .op = c->op,
                         .values = one_value ? &c->value : c->values,
                         .value_count = one_value ? 1 : c->value_count};
    return check_test(out, err);
}

/* --- conditions --- */

static struct condition make_condition(struct arena *arena, const struct test *test)
{
    struct operand *operands = ARENA_ARRAY(arena, struct operand, 1 + test->value_count);
    struct expr_step *step = ARENA_NEW(arena, struct expr_step);
    step->name = test->attribute;
    operands[0] = (struct operand){.kind = OPERAND_PATH, .path = {.steps = step, .step_count = 1}};
    for (size_t i = 0; i < test->value_count; i++) {
        operands[1 + i] = (struct operand){.kind = OPERAND_VALUE, .value = test->values[i]};
    }
    return (struct condition){
        .kind = rules[test->op].kind, .operands = operands, .operand_count = 1 + test->value_count};
}

/* Joins the conditions in order as a balanced tree, so that it is not deep. */
static const struct condition *join_conditions(struct arena *arena, enum condition_kind kind,
                                               const struct condition *conditions, size_t count)
{
    if (count == 1) {
        return conditions;
    }
    struct condition *joined = ARENA_NEW(arena, struct condition);
    joined->kind = kind;
    joined->left = join_conditions(arena, kind, conditions, count / 2);
    joined->right = join_conditions(arena, kind, conditions + count / 2, count - count / 2);
    return joined;
}

static bool check_join(enum legacy_join join, size_t count, struct err *err)
{
    if (join == LEGACY_JOIN_NONE || count > 1) {
        return true;
    }
    return err_set(err, ERR_VALIDATION,
                   count == 0 ? "ConditionalOperator cannot be used without Filter or Expected"
                              : "ConditionalOperator can only be used when Filter or Expected has "
                                "two or more elements");
}

bool legacy_conditions(struct arena *arena, const struct legacy_condition *conditions, size_t count,
                       enum legacy_join join, bool expected, const struct condition **out,
                       struct err *err)
{
    struct condition *made = ARENA_ARRAY(arena, struct condition, count);
    for (size_t i = 0; i < count; i++) {
        struct test test;
        if (!read_entry(&conditions[i], expected, &test, err)) {
            return false;
        }
        made[i] = make_condition(arena, &test);
    }
    if (!check_join(join, count, err)) {
        return false;
    }
    enum condition_kind kind = join == LEGACY_JOIN_OR ? CONDITION_OR : CONDITION_AND;
    *out = count == 0 ? NULL : join_conditions(arena, kind, made, count);
    return true;
}

/* --- key conditions --- */

bool legacy_key_conditions(struct arena *arena, const struct legacy_condition *conditions,
                           size_t count, const struct key_expression **out, struct err *err)
{
    struct key_test *tests = ARENA_ARRAY(arena, struct key_test, count);
    for (size_t i = 0; i < count; i++) {
        struct test test;
        if (!read_entry(&conditions[i], false, &test, err)) {
            return false;
        }
        tests[i] = (struct key_test){
            .attribute = test.attribute,
            .op = rules[test.op].key,
            .low = test.value_count > 0 ? test.values[0] : VALUE_ABSENT,
            .high = test.op == LEGACY_BETWEEN ? test.values[1] : VALUE_ABSENT,
        };
    }
    if (count == 0) {
        return err_set(err, ERR_VALIDATION, "Conditions can be of length 1 or 2 only");
    }
    *out = key_expression_make(arena, tests, count);
    return true;
}
