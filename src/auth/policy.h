/* auth/policy.h: IAM policies: documents that say which principals may perform which actions on
 * which resources, and under which conditions. docs/security.md, "Policies", describes what is
 * supported.
 *
 * policy_parse() compiles a policy once; it does not change afterwards, so any number of threads
 * may evaluate it. Every function here can be called on any thread. */
#ifndef GRAMME_AUTH_POLICY_H
#define GRAMME_AUTH_POLICY_H

#include "auth/context.h"
#include "base/buf.h"
#include "err/err.h"

struct policy;

enum policy_kind {
    POLICY_IDENTITY, /* of a user, role, permissions boundary or session: Principal is forbidden */
    POLICY_RESOURCE, /* of a table or stream: Principal is required */
    POLICY_TRUST,    /* who may assume a role: Principal is required, Resource is forbidden */
};

/* Compiles a document. The caller owns *out and frees it with policy_destroy(); it borrows nothing.
 * Returns false if the document is not a valid policy: *err is ERR_VALIDATION, its message says
 * where and why. */
MUST_USE bool policy_parse(struct str document, enum policy_kind kind, struct policy **out,
                           struct err *err);
/* Returns the size of a document as limits count it: without white space. */
MUST_USE size_t policy_document_size(struct str document);
/* Frees a policy. Accepts NULL. */
void policy_destroy(struct policy *policy);

/* Returns the CONTEXT_BITs of all condition keys that the policy refers to, in conditions and
 * variables. The caller need not fill in any other key for it. */
MUST_USE uint64_t policy_mentions(const struct policy *policy);

/* Calls visit(context, action) for each entry of Action and NotAction until visit returns false.
 * Returns whether all entries were visited. */
bool policy_each_action(const struct policy *policy,
                        bool (*visit)(void *context, struct str action), void *context);

/* Returns whether a resource policy allows something to everybody: its Principal is `*`, and no
 * condition bounds the callers by fixed accounts, users, roles or networks. */
MUST_USE bool policy_is_unbounded(const struct policy *policy);

enum caller_kind {
    CALLER_ROOT, /* of the account */
    CALLER_USER,
    CALLER_ROLE_SESSION,
};

/* Returns the kind as the condition key aws:PrincipalType has it: "Account", "User",
 * "AssumedRole". */
MUST_USE struct str policy_caller_type(enum caller_kind kind);

/* The principal that sent a request. */
struct policy_caller {
    enum caller_kind kind;
    struct str
        arn; /* arn:aws:iam::A:user/N, arn:aws:sts::A:assumed-role/R/S, arn:aws:iam::A:root */
    struct str role_arn; /* CALLER_ROLE_SESSION: arn:aws:iam::A:role/R */
    struct str account;
};

/* One action on one resource by one caller, about which policies decide. */
struct policy_request {
    const struct policy_caller *caller;
    struct str action;   /* "dynamodb:GetItem" */
    struct str resource; /* an ARN, or "*" */
    /* `resource` ends in `*` and stands for all resources that start with the text before it. They
     * are allowed if all are, and denied if any is. */
    bool is_prefix;
    const struct auth_context *context;
    struct arena *arena; /* scratch memory, and for texts of policy_denial_text() */
};

enum policy_effect { POLICY_NO_MATCH, POLICY_ALLOW, POLICY_DENY };

/* How a resource policy's Principal matches the caller, from the least to the most direct. */
enum principal_match {
    PRINCIPAL_NO_MATCH,
    PRINCIPAL_ACCOUNT,
    PRINCIPAL_ANYONE, /* "*" */
    PRINCIPAL_ROLE,   /* the role of the session */
    PRINCIPAL_SELF,   /* the user or session itself, or "*" with a condition on aws:PrincipalArn */
};

/* The result of one policy for a request. */
struct policy_answer {
    enum policy_effect effect;
    enum principal_match principal; /* how a resource or trust policy matched the caller */
    size_t statement; /* index of the statement that decided, for POLICY_ALLOW and POLICY_DENY */
    struct str sid;   /* its Sid, or STR_NULL; borrows the policy */
};

/* Evaluates one policy. A matching Deny takes precedence over any Allow. The result borrows the
 * policy. */
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
    const struct str *identity_names; /* NULL: not known */
    size_t identity_count;
    const struct policy *resource;
    const struct policy *boundary;
    struct str boundary_name; /* STR_NULL: not known */
    const struct policy *session;
};

struct policy_decision {
    bool is_allowed;
    bool is_explicit;          /* denied by a matching Deny, not by the absence of an Allow */
    enum policy_source source; /* the kind of policy that decided, or that has no matching Allow */
    size_t identity; /* SOURCE_IDENTITY: index in the set's identity policies, if a statement
                        matched */
    struct policy_answer answer;
};

/* Decides by all policies of the set, by IAM's rules for requests within one account. */
MUST_USE struct policy_decision policy_decide(const struct policy_set *set,
                                              const struct policy_request *request);

/* Returns what a source is called in messages: "identity-based policy". */
MUST_USE const char *policy_source_name(enum policy_source source);
/* Returns the message of AccessDeniedException, in the request's arena: "User: ARN is not
 * authorized to perform: ACTION on resource: ARN because ...". The decision must be a denial by the
 * set; of an explicit one the text ends with the ARN of the policy, if it has a name. */
MUST_USE struct str policy_denial_text(const struct policy_set *set,
                                       const struct policy_decision *decision,
                                       const struct policy_request *request);

#endif
