/* auth/policy_internal.h: a compiled policy, for policy_parse.c and policy_decide.c. */
#ifndef GRAMME_AUTH_POLICY_INTERNAL_H
#define GRAMME_AUTH_POLICY_INTERNAL_H

#include "auth/condition_internal.h"
#include "auth/policy.h"

enum principal_kind {
    PRINCIPAL_IS_ANYONE,
    PRINCIPAL_IS_ACCOUNT, /* `text` is the account number */
    PRINCIPAL_IS_ARN,     /* `text` is the ARN of a user, role or session */
    PRINCIPAL_IS_OTHER,   /* a service or an identity provider: never matches a caller */
};

struct principal {
    enum principal_kind kind;
    struct str text;
};

struct statement {
    struct str sid; /* STR_NULL: none */
    bool is_deny;
    bool is_not_action;    /* NotAction: the statement applies to all actions except these */
    bool is_not_resource;  /* NotResource */
    bool is_not_principal; /* NotPrincipal */
    struct pattern *actions;
    struct str *action_texts;
    size_t action_count;
    struct arn_pattern *resources;
    size_t resource_count;
    struct principal *principals;
    size_t principal_count;
    struct condition *conditions; /* all must hold */
    size_t condition_count;
};

struct policy {
    struct arena arena; /* all memory below, and a copy of the document */
    enum policy_kind kind;
    struct statement *statements;
    size_t statement_count;
    uint64_t mentions; /* see policy_mentions() */
};

#endif
