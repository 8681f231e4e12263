/* auth/directory.h: users, their access keys, roles and policies, as one immutable snapshot. It is
 * built from records (one JSON object for each user, role and policy), which come from the store or
 * from a file; docs/internals/directory.md has their form.
 *
 * A snapshot is counted: whoever uses one holds a reference. Any number of threads may read it. */
#ifndef GRAMME_AUTH_DIRECTORY_H
#define GRAMME_AUTH_DIRECTORY_H

#include "auth/policy.h"
#include "auth/seal.h"

enum { DIRECTORY_KEYS_MAX = 2, DIRECTORY_ATTACHED_MAX = 20, DIRECTORY_NAME_MAX = 64 };

/* The user with this name is the root of the account: no identity policy limits it. */
#define DIRECTORY_ROOT "root"

enum directory_kind { DIRECTORY_POLICY, DIRECTORY_ROLE, DIRECTORY_USER, DIRECTORY_KIND_COUNT };

/* "policy", "role", "user". */
const char *directory_kind_name(enum directory_kind kind);

struct directory_principal;

struct directory_key {
    struct str id;
    struct str secret; /* in memory that is not dumped */
    bool is_disabled;
    int64_t created; /* seconds since 1970 */
    const struct directory_principal *user;
};

struct directory_policy {
    struct str name;
    struct str document;
    const struct policy *policy;
};

/* A user or role. */
struct directory_principal {
    enum caller_kind kind; /* CALLER_ROLE_SESSION: it is a role */
    struct str name;
    struct str id;  /* AIDA..., AROA... */
    struct str arn; /* of the user or role */
    bool is_disabled;
    int64_t created; /* seconds since 1970 */
    struct context_tags tags;
    const struct str *policy_names;
    const struct policy **policies; /* one for each name */
    size_t policy_count;
    struct str boundary_name; /* STR_NULL: none */
    const struct policy *boundary;
    uint64_t mentions; /* of all these policies: see policy_mentions() */
    /* Of users. */
    struct directory_key keys[DIRECTORY_KEYS_MAX];
    size_t key_count;
    /* Of roles. */
    struct str trust_document;
    struct policy *trust; /* who may assume it */
    int64_t session_seconds_max;
    /* Sessions that began earlier are refused: seconds since 1970. 0: none are. Of both. */
    int64_t sessions_since;
};

struct directory;

/* An empty snapshot, to be filled; the caller has the one reference. */
MUST_USE struct directory *directory_create(struct str account);
/* Adds a record. `key` opens sealed secrets; NULL: there is no master key, so a record with one is
 * refused. False: ERR_VALIDATION, with the record's name. */
MUST_USE bool directory_add(struct directory *directory, enum directory_kind kind,
                            struct str record, const struct seal_key *key, struct err *err);
/* Adds all records of a file: {"users": [...], "roles": [...], "policies": [...]}. */
MUST_USE bool directory_add_file(struct directory *directory, struct str text,
                                 const struct seal_key *key, struct err *err);
/* Connects users and roles with their policies. The snapshot can be used, and is not changed any
 * more. False: a policy that is attached does not exist (ERR_VALIDATION). */
MUST_USE bool directory_complete(struct directory *directory, int64_t revision, struct err *err);

struct directory *directory_hold(struct directory *directory);
/* Frees it with the last reference. Accepts NULL. */
void directory_release(struct directory *directory);

MUST_USE int64_t directory_revision(const struct directory *directory);
MUST_USE struct str directory_account(const struct directory *directory);
/* Each returns NULL if there is none. */
const struct directory_key *directory_find_key(const struct directory *directory, struct str id);
const struct directory_principal *directory_find_user(const struct directory *directory,
                                                      struct str name);
const struct directory_principal *directory_find_role(const struct directory *directory,
                                                      struct str name);
/* Built-in policies too: administrator, full, readonly, readwrite. */
const struct directory_policy *directory_find_policy(const struct directory *directory,
                                                     struct str name);
/* Visits all of one kind, in no order: *at starts at 0; NULL at the end. Built-in policies are not
 * visited. */
const struct directory_principal *directory_next_principal(const struct directory *directory,
                                                           enum directory_kind kind, size_t *at);
const struct directory_policy *directory_next_policy(const struct directory *directory, size_t *at);

/* Whether a name of a user, role or policy is well formed: 1 to 64 of A-Z a-z 0-9 + = , . @ _ - */
MUST_USE bool directory_is_name(struct str name);
/* Whether it can be an access key id: 3 to 128 of A-Z a-z 0-9 _ - */
MUST_USE bool directory_is_key_id(struct str id);
/* Whether it can be a secret: 8 to 128 printable characters without space. */
MUST_USE bool directory_is_secret(struct str secret);

/* Adds the record of a user or role, or of a policy. Secrets are sealed with `key`. */
void directory_write_principal(const struct directory_principal *principal,
                               const struct seal_key *key, struct arena *arena, struct buf *out);
void directory_write_policy(struct str name, struct str document, struct buf *out);

#endif
