/* Key conditions: takes a bound condition apart into comparisons joined by AND, and matches them
 * with the keys of a table or index. Called for Query, and by src/plan for PartiQL. */
#include "base/buf.h"
#include "err/messages.h"
#include "expr/bind/bind_internal.h"
#include "expr/bound/key_expression_internal.h"
#include "model/limits.h"

/* Returns how many tests a condition has. */
static size_t count_tests(const struct condition *c)
{
    return c->kind == CONDITION_AND ? count_tests(c->left) + count_tests(c->right) : 1;
}

/* --- taking the condition apart --- */

/* Names of operators that a key condition may not have; NULL for others. */
static const char *refused_operator(enum condition_kind kind)
{
    static const char *const names[] = {
        [CONDITION_NE] = "<>",
        [CONDITION_IN] = "IN",
        [CONDITION_OR] = "OR",
        [CONDITION_NOT] = "NOT",
        [CONDITION_EXISTS] = "attribute_exists",
        [CONDITION_NOT_EXISTS] = "attribute_not_exists",
        [CONDITION_TYPE] = "attribute_type",
        [CONDITION_CONTAINS] = "contains",
        [CONDITION_NOT_CONTAINS] = NULL,
    };
    return names[kind];
}

/* `flipped`: the value is on the left, so "<" means ">". */
static enum key_operator key_operator_for(enum condition_kind kind, bool flipped)
{
    switch (kind) {
    case CONDITION_LT:
        return flipped ? KEY_GT : KEY_LT;
    case CONDITION_LE:
        return flipped ? KEY_GE : KEY_LE;
    case CONDITION_GT:
        return flipped ? KEY_LT : KEY_GT;
    case CONDITION_GE:
        return flipped ? KEY_LE : KEY_GE;
    case CONDITION_BETWEEN:
        return KEY_BETWEEN;
    case CONDITION_BEGINS_WITH:
        return KEY_BEGINS_WITH;
    default:
        return KEY_EQ;
    }
}

/* BETWEEN and begins_with() need the attribute first. */
static bool check_first_operand(const struct condition *c, struct err *err)
{
    bool named = c->kind == CONDITION_BETWEEN || c->kind == CONDITION_BEGINS_WITH;
    if (!named || c->operands[0].kind != OPERAND_VALUE) {
        return true;
    }
    return err_set(err, ERR_VALIDATION,
                   "Invalid condition in KeyConditionExpression: %s operator must have the key "
                   "attribute as its first operand",
                   c->kind == CONDITION_BETWEEN ? "BETWEEN" : "begins_with");
}

/* Finds the one attribute among the operands. */
static bool find_attribute(const struct condition *c, size_t *out, struct err *err)
{
    bool found = false;
    for (size_t i = 0; i < c->operand_count; i++) {
        const struct operand *operand = &c->operands[i];
        if (operand->kind == OPERAND_SIZE) {
            return err_set(err, ERR_VALIDATION,
                           "Invalid KeyConditionExpression: KeyConditionExpressions cannot contain "
                           "nested operations");
        }
        if (operand->kind == OPERAND_PATH && found) {
            return err_set(err, ERR_VALIDATION,
                           "Invalid condition in KeyConditionExpression: Multiple attribute names "
                           "used in one condition");
        }
        if (operand->kind == OPERAND_PATH && operand->path.step_count > 1) {
            return err_set(err, ERR_VALIDATION,
                           "Invalid KeyConditionExpression: KeyConditionExpressions cannot have "
                           "conditions on nested attributes");
        }
        if (operand->kind == OPERAND_PATH) {
            found = true;
            *out = i;
        }
    }
    return found || err_set(err, ERR_VALIDATION,
                            "Invalid condition in KeyConditionExpression: No key attribute "
                            "specified");
}

static bool add_test(struct key_expression *expression, const struct key_test *test,
                     struct err *err)
{
    for (size_t i = 0; i < expression->test_count; i++) {
        if (str_eq(expression->tests[i].attribute, test->attribute)) {
            return err_set(err, ERR_VALIDATION,
                           "Invalid KeyConditionExpression: KeyConditionExpressions must only "
                           "contain one condition per key");
        }
    }
    expression->tests[expression->test_count++] = *test;
    return true;
}

static bool take_apart(struct key_expression *expression, const struct condition *c,
                       struct err *err)
{
    if (c->kind == CONDITION_AND) {
        return take_apart(expression, c->left, err) && take_apart(expression, c->right, err);
    }
    const char *refused = refused_operator(c->kind);
    if (refused != NULL) {
        return err_set(err, ERR_VALIDATION, "Invalid operator used in KeyConditionExpression: %s",
                       refused);
    }
    size_t at = 0;
    if (!check_first_operand(c, err) || !find_attribute(c, &at, err)) {
        return false;
    }
    struct key_test test = {
        .attribute = c->operands[at].path.steps[0].name,
        .op = key_operator_for(c->kind, at == 1),
        .low = c->operands[at == 0 ? 1 : 0].value,
    };
    if (test.op == KEY_BETWEEN) {
        test.high = c->operands[2].value;
    }
    return add_test(expression, &test, err);
}

bool expr_key_condition(struct expr_scope *scope, struct str text,
                        const struct key_expression **out, struct err *err)
{
    const struct condition *condition;
    if (!expr_condition(scope, text, "KeyConditionExpression", &condition, err)) {
        return false;
    }
    struct key_expression *expression = ARENA_NEW(scope->arena, struct key_expression);
    expression->tests = ARENA_ARRAY(scope->arena, struct key_test, count_tests(condition));
    struct err problem = ERR_INIT(scope->arena);
    if (!take_apart(expression, condition, &problem)) {
        expression->problem = problem.message; /* reported by key_expression_check() */
    }
    *out = expression;
    return true;
}

const struct key_expression *key_expression_make(struct arena *arena, struct key_test *tests,
                                                 size_t count)
{
    struct key_expression *expression = ARENA_NEW(arena, struct key_expression);
    expression->tests = tests;
    expression->test_count = count;
    return expression;
}

bool key_expression_check(const struct key_expression *expression, struct err *err)
{
    return str_is_null(expression->problem) ||
           err_set_str(err, ERR_VALIDATION, expression->problem);
}

/* --- matching it with the keys --- */

static const struct key_test *find_test(const struct key_expression *expression, struct str name)
{
    for (size_t i = 0; i < expression->test_count; i++) {
        if (str_eq(expression->tests[i].attribute, name)) {
            return &expression->tests[i];
        }
    }
    return NULL;
}

static bool fail_missing(struct str name, struct err *err)
{
    return err_set(err, ERR_VALIDATION, "Query condition missed key schema element: %.*s",
                   STR_ARG(name));
}

static bool check_empty(struct str name, struct value value, struct err *err)
{
    enum value_type type = value_type(value);
    if ((type != VALUE_S && type != VALUE_B) || value_bytes(value).len > 0) {
        return true;
    }
    return err_set(err, ERR_VALIDATION, MESSAGE_KEY_EMPTY, type == VALUE_S ? "string" : "binary",
                   STR_ARG(name));
}

static bool check_operands(const struct key_test *test, enum value_type type, struct err *err)
{
    bool fits = value_type(test->low) == type &&
                (test->op != KEY_BETWEEN || value_type(test->high) == type);
    if (!fits && !value_is_absent(test->low)) {
        return err_set(err, ERR_VALIDATION,
                       "One or more parameter values were invalid: Condition parameter type does "
                       "not match schema type");
    }
    return value_is_absent(test->low) ||
           (check_empty(test->attribute, test->low, err) &&
            (test->op != KEY_BETWEEN || check_empty(test->attribute, test->high, err)));
}

/* Fails for operators of KeyConditions that no key can have, such as NE. */
static bool check_indexable(const struct key_test *test, struct err *err)
{
    return test->op != KEY_NONE ||
           err_set(err, ERR_VALIDATION,
                   "Attempted conditional constraint is not an indexable operation");
}

/* Decides which of several hash attributes are reported. */
typedef bool (*hash_fault)(const struct key_test *test);

static bool is_missing(const struct key_test *test)
{
    return test == NULL;
}

static bool is_no_equality(const struct key_test *test)
{
    return test->op != KEY_EQ;
}

/* Fails if some hash attributes have the fault, and lists them. Only for indexes with several: a
 * single attribute has other messages. */
static bool check_several(const struct key_test *const *tests, const struct key_schema *keys,
                          hash_fault has_fault, struct err *err)
{
    struct buf names = {0};
    for (size_t i = 0; i < keys->hash_count; i++) {
        if (has_fault(tests[i])) {
            buf_add(&names, names.len == 0 ? STR("") : STR(", "));
            buf_add(&names, keys->hash[i].name);
        }
    }
    bool fits = names.len == 0;
    if (!fits) {
        err_set(err, ERR_VALIDATION,
                "HASH key attributes %.*s must have equality conditions specified in the query",
                STR_ARG(buf_str(&names)));
    }
    buf_finish(&names);
    return fits;
}

static bool check_hash_tests(const struct key_test *const *tests, const struct key_schema *keys,
                             struct err *err)
{
    bool several = keys->hash_count > 1;
    if (several ? !check_several(tests, keys, is_missing, err)
                : tests[0] == NULL && !fail_missing(keys->hash[0].name, err)) {
        return false;
    }
    for (size_t i = 0; i < keys->hash_count; i++) {
        if (!check_indexable(tests[i], err) || !check_operands(tests[i], keys->hash[i].type, err)) {
            return false;
        }
    }
    if (several) {
        return check_several(tests, keys, is_no_equality, err);
    }
    return tests[0]->op == KEY_EQ ||
           err_set(err, ERR_VALIDATION, "Query key condition not supported");
}

static bool resolve_hash(const struct key_expression *expression, const struct key_schema *keys,
                         struct key_condition *out, struct err *err)
{
    const struct key_test *tests[KEY_ATTRIBUTES_MAX] = {0};
    for (size_t i = 0; i < keys->hash_count; i++) {
        tests[i] = find_test(expression, keys->hash[i].name);
    }
    if (!check_hash_tests(tests, keys, err)) {
        return false;
    }
    for (size_t i = 0; i < keys->hash_count; i++) {
        out->hash[i] = tests[i]->low;
    }
    return true;
}

/* Every test that is not for the hash attributes must be for a range attribute. */
static bool check_all_known(const struct key_expression *expression, const struct key_schema *keys,
                            size_t range_tests, struct err *err)
{
    if (expression->test_count == keys->hash_count + range_tests) {
        return true;
    }
    for (size_t i = 0; i < keys->range_count; i++) {
        if (find_test(expression, keys->range[i].name) == NULL) {
            return fail_missing(keys->range[i].name, err);
        }
    }
    assert(false); /* there would be more tests than keys */
    return false;
}

/* All range attributes before the last one that is named need equality. */
static bool check_prefix(const struct key_test *const *tests, const struct key_schema *keys,
                         size_t last, struct err *err)
{
    struct buf names = {0};
    for (size_t i = 0; i < last; i++) {
        if (tests[i] == NULL || tests[i]->op != KEY_EQ) {
            buf_add(&names, names.len == 0 ? STR("") : STR(", "));
            buf_add(&names, keys->range[i].name);
        }
    }
    bool fits = names.len == 0;
    if (!fits) {
        err_set(err, ERR_VALIDATION,
                "RANGE key attributes %.*s must have equality conditions specified in the query "
                "because a condition is present on key attribute %.*s",
                STR_ARG(buf_str(&names)), STR_ARG(keys->range[last].name));
    }
    buf_finish(&names);
    return fits;
}

static bool check_range_test(const struct key_test *test, enum value_type type, struct err *err)
{
    if (!check_indexable(test, err) || !check_operands(test, type, err)) {
        return false;
    }
    bool too_long = value_bytes(test->low).len > RANGE_KEY_BYTES_MAX ||
                    (test->op == KEY_BETWEEN && value_bytes(test->high).len > RANGE_KEY_BYTES_MAX);
    return !too_long || err_set(err, ERR_VALIDATION, MESSAGE_RANGE_KEY_SIZE);
}

/* Turns a comparison other than equality into an interval. */
static void set_bounds(const struct key_test *test, struct key_condition *out)
{
    static const struct {
        enum key_bound_kind low;
        enum key_bound_kind high;
    } kinds[] = {
        [KEY_NONE] = {BOUND_NONE, BOUND_NONE},
        [KEY_EQ] = {BOUND_CLOSED, BOUND_CLOSED},
        [KEY_LT] = {BOUND_NONE, BOUND_OPEN},
        [KEY_LE] = {BOUND_NONE, BOUND_CLOSED},
        [KEY_GT] = {BOUND_OPEN, BOUND_NONE},
        [KEY_GE] = {BOUND_CLOSED, BOUND_NONE},
        [KEY_BETWEEN] = {BOUND_CLOSED, BOUND_CLOSED},
        [KEY_BEGINS_WITH] = {BOUND_CLOSED, BOUND_PREFIX},
    };
    out->low = (struct key_bound){kinds[test->op].low, test->low};
    out->high =
        (struct key_bound){kinds[test->op].high, test->op == KEY_BETWEEN ? test->high : test->low};
}

static bool resolve_range(const struct key_expression *expression, const struct key_schema *keys,
                          struct key_condition *out, struct err *err)
{
    const struct key_test *tests[KEY_ATTRIBUTES_MAX] = {0};
    size_t count = 0;
    size_t last = 0;
    for (size_t i = 0; i < keys->range_count; i++) {
        tests[i] = find_test(expression, keys->range[i].name);
        if (tests[i] != NULL) {
            count++;
            last = i;
        }
    }
    if (!check_all_known(expression, keys, count, err)) {
        return false;
    }
    for (size_t i = 0; i < keys->range_count; i++) {
        if (tests[i] != NULL && !check_range_test(tests[i], keys->range[i].type, err)) {
            return false;
        }
    }
    if (count == 0) {
        return true;
    }
    if (!check_prefix(tests, keys, last, err)) {
        return false;
    }
    for (size_t i = 0; i <= last; i++) {
        if (tests[i]->op == KEY_EQ) {
            out->range_equal[out->range_equal_count++] = tests[i]->low;
        } else {
            set_bounds(tests[i], out);
        }
    }
    return true;
}

bool key_expression_resolve(const struct key_expression *expression, const struct key_schema *keys,
                            struct key_condition *out, struct err *err)
{
    size_t key_count = keys->hash_count + keys->range_count;
    if (!key_expression_check(expression, err)) {
        return false;
    }
    if (expression->test_count > key_count) {
        return err_set(err, ERR_VALIDATION,
                       "The number of query conditions (%zu) exceeds the number of key attributes "
                       "defined in the schema (%zu)",
                       expression->test_count, key_count);
    }
    struct key_condition condition = {0};
    if (!resolve_hash(expression, keys, &condition, err) ||
        !resolve_range(expression, keys, &condition, err)) {
        return false;
    }
    *out = condition;
    return true;
}

static bool fits(struct value value, size_t bytes_max)
{
    return value_is_absent(value) || value_bytes(value).len <= bytes_max;
}

bool key_condition_check_sizes(const struct key_condition *condition, size_t hash_count,
                               struct err *err)
{
    for (size_t i = 0; i < hash_count; i++) {
        if (!fits(condition->hash[i], HASH_KEY_BYTES_MAX)) {
            return err_set(err, ERR_VALIDATION, MESSAGE_HASH_KEY_SIZE);
        }
    }
    bool fit = fits(condition->low.value, RANGE_KEY_BYTES_MAX) &&
               fits(condition->high.value, RANGE_KEY_BYTES_MAX);
    for (size_t i = 0; i < condition->range_equal_count; i++) {
        fit = fit && fits(condition->range_equal[i], RANGE_KEY_BYTES_MAX);
    }
    return fit || err_set(err, ERR_VALIDATION, MESSAGE_RANGE_KEY_SIZE);
}
