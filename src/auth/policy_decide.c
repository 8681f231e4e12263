/* Evaluates one policy for a request, and decides by all policies that apply. Called for every
 * checked request on the thread that serves it; keeps no state. */
#include "auth/policy_internal.h"

/* One statement ---------------------------------------------------------------------------- */

static bool action_matches(const struct statement *statement, struct str action,
                           const struct pattern_input *input)
{
    for (size_t i = 0; i < statement->action_count; i++) {
        if (pattern_matches_nocase(&statement->actions[i], action, input)) {
            return !statement->is_not_action;
        }
    }
    return statement->is_not_action;
}

/* Returns whether a pattern of the statement matches the resource of the request. If that stands
 * for many: a statement must apply to all of them to allow, and to any of them to deny. */
static bool pattern_applies(const struct statement *statement, const struct arn_pattern *pattern,
                            const struct policy_request *request, const struct pattern_input *input)
{
    if (LIKELY(!request->is_prefix)) {
        return arn_pattern_matches(pattern, request->resource, input);
    }
    struct str prefix = str_make(request->resource.data, request->resource.len - 1);
    return statement->is_deny != statement->is_not_resource
               ? arn_pattern_overlaps(pattern, prefix, input)
               : arn_pattern_covers(pattern, prefix, input);
}

/* Returns whether the statement applies to the resource. A trust policy names no resource: it
 * applies to its role. */
static bool resource_matches(const struct policy *policy, const struct statement *statement,
                             const struct policy_request *request,
                             const struct pattern_input *input)
{
    if (policy->kind == POLICY_TRUST) {
        return true;
    }
    for (size_t i = 0; i < statement->resource_count; i++) {
        if (pattern_applies(statement, &statement->resources[i], request, input)) {
            return !statement->is_not_resource;
        }
    }
    return statement->is_not_resource;
}

static bool conditions_hold(const struct statement *statement, const struct pattern_input *input)
{
    for (size_t i = 0; i < statement->condition_count; i++) {
        if (!policy_condition_holds(&statement->conditions[i], input)) {
            return false;
        }
    }
    return true;
}

static bool has_principal_arn_condition(const struct statement *statement)
{
    for (size_t i = 0; i < statement->condition_count; i++) {
        if (statement->conditions[i].key.id == CONTEXT_AWS_PRINCIPAL_ARN) {
            return true;
        }
    }
    return false;
}

static enum principal_match match_principal(const struct principal *principal,
                                            const struct policy_caller *caller)
{
    switch (principal->kind) {
    case PRINCIPAL_IS_ANYONE:
        return PRINCIPAL_ANYONE;
    case PRINCIPAL_IS_ACCOUNT:
        return str_eq(principal->text, caller->account) ? PRINCIPAL_ACCOUNT : PRINCIPAL_NO_MATCH;
    case PRINCIPAL_IS_ARN:
        if (str_eq(principal->text, caller->arn)) {
            return PRINCIPAL_SELF;
        }
        return caller->kind == CALLER_ROLE_SESSION && str_eq(principal->text, caller->role_arn)
                   ? PRINCIPAL_ROLE
                   : PRINCIPAL_NO_MATCH;
    case PRINCIPAL_IS_OTHER:
        break;
    }
    return PRINCIPAL_NO_MATCH;
}

/* Returns the most direct way in which the statement's principals match the caller. */
static enum principal_match principal_matches(const struct statement *statement,
                                              const struct policy_caller *caller)
{
    enum principal_match best = PRINCIPAL_NO_MATCH;
    for (size_t i = 0; i < statement->principal_count; i++) {
        enum principal_match match = match_principal(&statement->principals[i], caller);
        best = MAX(best, match);
    }
    if (statement->is_not_principal) {
        return best == PRINCIPAL_NO_MATCH ? PRINCIPAL_ANYONE : PRINCIPAL_NO_MATCH;
    }
    return best == PRINCIPAL_ANYONE && has_principal_arn_condition(statement) ? PRINCIPAL_SELF
                                                                              : best;
}

/* Returns whether the action, the resource and the conditions of the statement match. */
static bool statement_matches(const struct policy *policy, const struct statement *statement,
                              const struct policy_request *request,
                              const struct pattern_input *input)
{
    return action_matches(statement, request->action, input) &&
           resource_matches(policy, statement, request, input) && conditions_hold(statement, input);
}

/* One policy ------------------------------------------------------------------------------- */

struct policy_answer policy_evaluate(const struct policy *policy,
                                     const struct policy_request *request)
{
    struct pattern_input input = {.context = request->context, .arena = request->arena};
    struct policy_answer answer = {.effect = POLICY_NO_MATCH};
    for (size_t i = 0; i < policy->statement_count; i++) {
        const struct statement *statement = &policy->statements[i];
        enum principal_match principal = policy->kind == POLICY_IDENTITY
                                             ? PRINCIPAL_SELF
                                             : principal_matches(statement, request->caller);
        if (principal == PRINCIPAL_NO_MATCH ||
            !statement_matches(policy, statement, request, &input)) {
            continue;
        }
        if (statement->is_deny || answer.effect == POLICY_NO_MATCH ||
            principal > answer.principal) {
            answer = (struct policy_answer){
                .effect = statement->is_deny ? POLICY_DENY : POLICY_ALLOW,
                .principal = principal,
                .statement = i,
                .sid = statement->sid,
            };
        }
        if (statement->is_deny) {
            break;
        }
    }
    return answer;
}

/* All policies ----------------------------------------------------------------------------- */

/* The results of the single policies of a set. */
struct answers {
    struct policy_answer identity;
    size_t identity_number;
    struct policy_answer resource;
    struct policy_answer boundary;
    struct policy_answer session;
};

static struct policy_answer evaluate(const struct policy *policy,
                                     const struct policy_request *request)
{
    return policy != NULL ? policy_evaluate(policy, request) : (struct policy_answer){0};
}

static void evaluate_identity(const struct policy_set *set, const struct policy_request *request,
                              struct answers *answers)
{
    for (size_t i = 0; i < set->identity_count; i++) {
        struct policy_answer answer = policy_evaluate(set->identity[i], request);
        if (answer.effect > answers->identity.effect) {
            answers->identity = answer;
            answers->identity_number = i;
        }
    }
}

static struct policy_decision denied(enum policy_source source)
{
    return (struct policy_decision){.source = source};
}

static struct policy_decision decided(enum policy_source source, const struct answers *answers,
                                      struct policy_answer answer)
{
    return (struct policy_decision){
        .is_allowed = answer.effect == POLICY_ALLOW,
        .is_explicit = answer.effect == POLICY_DENY,
        .source = source,
        .identity = answers->identity_number,
        .answer = answer,
    };
}

/* Sets *out if one of the policies has a matching Deny. */
static bool find_deny(const struct answers *answers, struct policy_decision *out)
{
    const struct {
        enum policy_source source;
        struct policy_answer answer;
    } all[] = {
        {SOURCE_IDENTITY, answers->identity},
        {SOURCE_RESOURCE, answers->resource},
        {SOURCE_BOUNDARY, answers->boundary},
        {SOURCE_SESSION, answers->session},
    };
    for (size_t i = 0; i < COUNT_OF(all); i++) {
        if (all[i].answer.effect == POLICY_DENY) {
            *out = decided(all[i].source, answers, all[i].answer);
            return true;
        }
    }
    return false;
}

/* An Allow for the whole account does not allow by itself: an identity policy must allow too. */
static bool resource_allows(const struct answers *answers)
{
    return answers->resource.effect == POLICY_ALLOW &&
           answers->resource.principal != PRINCIPAL_ACCOUNT;
}

/* Decides if no policy has a matching Deny. */
static struct policy_decision decide_without_deny(const struct policy_set *set,
                                                  const struct answers *answers)
{
    bool by_resource = resource_allows(answers);
    if (by_resource && answers->resource.principal == PRINCIPAL_SELF) {
        return decided(SOURCE_RESOURCE, answers, answers->resource);
    }
    if (!by_resource && answers->identity.effect != POLICY_ALLOW) {
        return denied(SOURCE_IDENTITY);
    }
    if (set->boundary != NULL && answers->boundary.effect != POLICY_ALLOW) {
        return denied(SOURCE_BOUNDARY);
    }
    if (set->session != NULL && answers->session.effect != POLICY_ALLOW) {
        return denied(SOURCE_SESSION);
    }
    return answers->identity.effect == POLICY_ALLOW
               ? decided(SOURCE_IDENTITY, answers, answers->identity)
               : decided(SOURCE_RESOURCE, answers, answers->resource);
}

/* Decides for the root of the account: only a resource policy can deny, and it cannot deny deleting
 * itself. */
static struct policy_decision decide_root(const struct policy_set *set,
                                          const struct policy_request *request)
{
    struct answers answers = {.resource = evaluate(set->resource, request)};
    if (answers.resource.effect == POLICY_DENY &&
        !str_eq(request->action, STR("dynamodb:DeleteResourcePolicy"))) {
        return decided(SOURCE_RESOURCE, &answers, answers.resource);
    }
    return (struct policy_decision){.is_allowed = true};
}

struct policy_decision policy_decide(const struct policy_set *set,
                                     const struct policy_request *request)
{
    if (request->caller->kind == CALLER_ROOT) {
        return decide_root(set, request);
    }
    struct answers answers = {
        .resource = evaluate(set->resource, request),
        .boundary = evaluate(set->boundary, request),
        .session = evaluate(set->session, request),
    };
    evaluate_identity(set, request, &answers);
    struct policy_decision decision;
    return find_deny(&answers, &decision) ? decision : decide_without_deny(set, &answers);
}

struct str policy_caller_type(enum caller_kind kind)
{
    static const char *const types[] = {
        [CALLER_ROOT] = "Account",
        [CALLER_USER] = "User",
        [CALLER_ROLE_SESSION] = "AssumedRole",
    };
    return str_from_c(types[kind]);
}

const char *policy_source_name(enum policy_source source)
{
    static const char *const names[] = {
        [SOURCE_IDENTITY] = "identity-based policy",
        [SOURCE_RESOURCE] = "resource-based policy",
        [SOURCE_BOUNDARY] = "permissions boundary",
        [SOURCE_SESSION] = "session policy",
    };
    return names[source];
}

/* Returns the name of the policy that denied; STR_NULL: it has none. */
static struct str denying_name(const struct policy_set *set, const struct policy_decision *decision)
{
    switch (decision->source) {
    case SOURCE_IDENTITY:
        return set->identity_names == NULL ? STR_NULL : set->identity_names[decision->identity];
    case SOURCE_BOUNDARY:
        return set->boundary_name;
    default:
        return STR_NULL;
    }
}

static struct str explicit_reason(const struct policy_set *set,
                                  const struct policy_decision *decision,
                                  const struct policy_request *request)
{
    static const char *const denying[] = {
        [SOURCE_IDENTITY] = "an identity-based policy",
        [SOURCE_RESOURCE] = "a resource-based policy",
        [SOURCE_BOUNDARY] = "a permissions boundary",
        [SOURCE_SESSION] = "a session policy",
    };
    struct str name = denying_name(set, decision);
    if (str_is_null(name)) {
        return arena_format(request->arena, "with an explicit deny in %s",
                            denying[decision->source]);
    }
    return arena_format(
        request->arena, "with an explicit deny in %s: arn:aws:iam::%.*s:policy/%.*s",
        denying[decision->source], STR_ARG(request->caller->account), STR_ARG(name));
}

struct str policy_denial_text(const struct policy_set *set, const struct policy_decision *decision,
                              const struct policy_request *request)
{
    assert(!decision->is_allowed);
    struct str reason =
        decision->is_explicit
            ? explicit_reason(set, decision, request)
            : arena_format(request->arena, "because no %s allows the %.*s action",
                           policy_source_name(decision->source), STR_ARG(request->action));
    return arena_format(request->arena,
                        "User: %.*s is not authorized to perform: %.*s on resource: %.*s %.*s",
                        STR_ARG(request->caller->arn), STR_ARG(request->action),
                        STR_ARG(request->resource), STR_ARG(reason));
}
