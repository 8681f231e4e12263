/* Finds resource policies that grant access to everybody. Called when a policy is stored, on any
 * thread; keeps no state. */
#include "auth/policy_internal.h"

enum { IPV4_MAPPED_BITS = 96, IPV4_BITS_MIN = 8, IPV6_BITS_MIN = 32 };

static bool is_plain(const struct pattern *pattern)
{
    return pattern->part_count == 0;
}

static bool is_plain_arn(const struct arn_pattern *arn)
{
    for (int i = 0; i < arn->part_count; i++) {
        if (!is_plain(&arn->parts[i])) {
            return false;
        }
    }
    return arn->part_count == ARN_PARTS;
}

/* Very large networks bound nothing. */
static bool is_small_network(const struct condition_network *network)
{
    static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
    bool is_ipv4 = memcmp(network->address, mapped, sizeof(mapped)) == 0;
    return network->prefix_len >= (is_ipv4 ? IPV4_MAPPED_BITS + IPV4_BITS_MIN : IPV6_BITS_MIN);
}

static bool is_fixed(const struct condition *condition, const union condition_value *value)
{
    switch (condition->op.type) {
    case CONDITION_ARN:
        return is_plain_arn(&value->arn);
    case CONDITION_STRING:
        return is_plain(&value->string);
    case CONDITION_IP:
        return is_small_network(&value->network);
    default:
        return false;
    }
}

/* Whether the condition holds only for certain callers: each of its values is one of them. */
static bool bounds_callers(const struct condition *condition)
{
    const uint64_t keys = CONTEXT_BIT(CONTEXT_AWS_PRINCIPAL_ACCOUNT) |
                          CONTEXT_BIT(CONTEXT_AWS_PRINCIPAL_ARN) |
                          CONTEXT_BIT(CONTEXT_AWS_SOURCE_IP) | CONTEXT_BIT(CONTEXT_AWS_USERID) |
                          CONTEXT_BIT(CONTEXT_AWS_USERNAME);
    if (condition->key.id >= CONTEXT_KEY_COUNT || (keys & CONTEXT_BIT(condition->key.id)) == 0 ||
        condition->op.is_negated || condition->op.is_if_exists ||
        condition->op.quantifier == QUANTIFIER_ALL) {
        return false;
    }
    for (size_t i = 0; i < condition->value_count; i++) {
        if (!is_fixed(condition, &condition->values[i])) {
            return false;
        }
    }
    return true;
}

static bool names_anyone(const struct statement *statement)
{
    for (size_t i = 0; i < statement->principal_count; i++) {
        if (statement->principals[i].kind == PRINCIPAL_IS_ANYONE) {
            return true;
        }
    }
    return statement->is_not_principal;
}

static bool is_unbounded(const struct statement *statement)
{
    if (statement->is_deny || !names_anyone(statement)) {
        return false;
    }
    for (size_t i = 0; i < statement->condition_count; i++) {
        if (bounds_callers(&statement->conditions[i])) {
            return false;
        }
    }
    return true;
}

bool policy_is_unbounded(const struct policy *policy)
{
    for (size_t i = 0; i < policy->statement_count; i++) {
        if (is_unbounded(&policy->statements[i])) {
            return true;
        }
    }
    return false;
}
