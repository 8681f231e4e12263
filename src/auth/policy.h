/* auth/policy.h: IAM policies: documents that say which principals may carry out which actions on
 * which resources, and under which conditions. docs/internals/policies.md has the language and the
 * decision.
 *
 * A policy is compiled once by policy_parse() and does not change afterwards, so any number of
 * threads may evaluate it. */
#ifndef GRAMME_AUTH_POLICY_H
#define GRAMME_AUTH_POLICY_H

#include "auth/context.h"
#include "base/buf.h"
#include "err/err.h"

struct policy;

enum policy_kind {
    POLICY_IDENTITY, /* of a user or role, a boundary, a session: Principal is forbidden */
    POLICY_RESOURCE, /* of a table or stream: Principal is required */
    POLICY_TRUST,    /* who may assume a role: Principal is required, Resource is forbidden */
};

/* Compiles a document. The policy is the caller's, for policy_destroy(); it borrows nothing. False:
 * the document is not a policy; *err is ERR_VALIDATION, its message says where and why. */
MUST_USE bool policy_parse(struct str document, enum policy_kind kind, struct policy **out,
                           struct err *err);
/* Accepts NULL. */
void policy_destroy(struct policy *policy);

/* The keys that conditions and variables of the policy ask for, as CONTEXT_BITs: the caller may
 * leave all others empty. */
MUST_USE uint64_t policy_mentions(const struct policy *policy);

/* Calls visit(context, action) for each entry of Action and NotAction, until it returns false.
 * Returns whether all were visited. */
bool policy_each_action(const struct policy *policy,
                        bool (*visit)(void *context, struct str action), void *context);

enum caller_kind {
    CALLER_ROOT, /* of the account */
    CALLER_USER,
    CALLER_ROLE_SESSION,
};

/* Who asks. */
struct policy_caller {
    enum caller_kind kind;
    struct str
        arn; /* arn:aws:iam::A:user/N, arn:aws:sts::A:assumed-role/R/S, arn:aws:iam::A:root */
    struct str role_arn; /* CALLER_ROLE_SESSION: arn:aws:iam::A:role/R */
    struct str account;
};

/* One question. */
struct policy_request {
    const struct policy_caller *caller;
    struct str action;   /* "dynamodb:GetItem" */
    struct str resource; /* an ARN, or "*" */
    const struct auth_context *context;
    struct arena *arena; /* for work that ends with the call */
};

enum policy_effect { POLICY_NO_MATCH, POLICY_ALLOW, POLICY_DENY };

/* How directly a resource policy's Principal names the caller; later ones are more direct. */
enum principal_match {
    PRINCIPAL_NO_MATCH,
    PRINCIPAL_ACCOUNT,
    PRINCIPAL_ANYONE, /* "*" */
    PRINCIPAL_ROLE,   /* the role of the session */
    PRINCIPAL_SELF,   /* the user or session itself, or "*" with a condition on aws:PrincipalArn */
};

/* What one policy says of a request. */
struct policy_answer {
    enum policy_effect effect;
    enum principal_match principal; /* of a resource or trust policy that allows */
    size_t statement;               /* which one decided, from 0; of POLICY_ALLOW and POLICY_DENY */
    struct str sid;                 /* its Sid, or STR_NULL; borrows the policy */
};

/* A matching Deny wins over any Allow. */
MUST_USE struct policy_answer policy_evaluate(const struct policy *policy,
                                              const struct policy_request *request);

/* Decisions -------------------------------------------------------------------------------- */

enum policy_source {
    SOURCE_IDENTITY,
    SOURCE_RESOURCE,
    SOURCE_BOUNDARY,
    SOURCE_SESSION,
};

/* The policies that apply to a request. Each may be NULL or empty. */
struct policy_set {
    const struct policy *const *identity;
    size_t identity_count;
    const struct policy *resource;
    const struct policy *boundary;
    const struct policy *session;
};

struct policy_decision {
    bool is_allowed;
    bool is_explicit;          /* denied by a matching Deny, not for want of an Allow */
    enum policy_source source; /* which kind of policy decided, or which one lacks an Allow */
    size_t identity; /* SOURCE_IDENTITY: which of the set's; meaningless without a statement */
    struct policy_answer answer;
};

/* Decides by all policies of the set, as IAM does within one account. */
MUST_USE struct policy_decision policy_decide(const struct policy_set *set,
                                              const struct policy_request *request);

/* The text of AccessDeniedException, in the request's arena: "User: ARN is not authorized to
 * perform: ACTION on resource: ARN because ...". The decision is a denial. */
MUST_USE struct str policy_denial_text(const struct policy_decision *decision,
                                       const struct policy_request *request);

#endif
