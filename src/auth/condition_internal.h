/* auth/condition_internal.h: conditions of policy statements, for policy_parse.c and
 * policy_decide.c. A condition is one operator with one key: {"StringLike": {"aws:username": ...}}.
 */
#ifndef GRAMME_AUTH_CONDITION_INTERNAL_H
#define GRAMME_AUTH_CONDITION_INTERNAL_H

#include "auth/decimal.h"
#include "auth/pattern.h"

enum condition_type {
    CONDITION_ARN,
    CONDITION_BINARY,
    CONDITION_BOOL,
    CONDITION_DATE,
    CONDITION_IP,
    CONDITION_NULL,
    CONDITION_NUMBER,
    CONDITION_STRING,
};

enum condition_comparison {
    COMPARE_EQUALS,
    COMPARE_EQUALS_NOCASE,
    COMPARE_GREATER,
    COMPARE_GREATER_EQUALS,
    COMPARE_LESS,
    COMPARE_LESS_EQUALS,
    COMPARE_LIKE,
};

/* How many of the request's values of a key must match: ForAllValues, ForAnyValue, or neither. */
enum condition_quantifier { QUANTIFIER_NONE, QUANTIFIER_ALL, QUANTIFIER_ANY };

struct condition_operator {
    enum condition_type type;
    enum condition_comparison comparison;
    enum condition_quantifier quantifier;
    bool is_negated;
    bool is_if_exists; /* IfExists: the condition holds if the request does not have the key */
};

/* A range of addresses. All are IPv6; an IPv4 address is mapped (::ffff:a.b.c.d). */
struct condition_network {
    uint8_t address[16];
    int prefix_len; /* in bits, 0 to 128 */
};

/* One value of a condition in a policy; the operator's type says which member is used. */
union condition_value {
    struct pattern string;
    struct arn_pattern arn;
    struct str binary;
    struct condition_network network;
    struct decimal number;
    double seconds; /* CONDITION_DATE: since 1970 */
    bool boolean;   /* CONDITION_NULL too */
};

struct condition {
    struct condition_operator op;
    struct context_key key;
    union condition_value *values; /* one of them must match */
    size_t value_count;
};

/* Parses the name of an operator, such as "ForAnyValue:StringLikeIfExists". Returns false if there
 * is no such operator. */
MUST_USE bool policy_condition_operator_parse(struct str name, struct condition_operator *out);
/* Compiles one value of a condition. *out borrows `arena` and `text`. `has_variables`: `${...}` is
 * a variable in this policy's version. Returns false with ERR_VALIDATION if the text is not a value
 * of the operator's type. */
MUST_USE bool policy_condition_value_parse(struct arena *arena, const struct condition_operator *op,
                                           struct str text, bool has_variables,
                                           union condition_value *out, struct err *err);
/* Returns whether the request satisfies the condition. May allocate from input->arena. */
MUST_USE bool policy_condition_holds(const struct condition *condition,
                                     const struct pattern_input *input);
/* Adds the CONTEXT_BIT of the condition's key, and of each variable in its values, to *set. */
void policy_condition_add_keys(const struct condition *condition, uint64_t *set);

#endif
