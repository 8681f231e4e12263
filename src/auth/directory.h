/* auth/directory.h: users, their access keys, roles and policies, as one immutable snapshot. It is
 * built from records (one JSON object for each user, role and policy), which come from the store or
 * from a file; docs/security.md, "Users in a file", shows their form, and directory_read.c has all
 * members.
 *
 * A snapshot is reference-counted. Any number of threads may read it while each holds a reference.
 * Pointers and texts that the functions below return live as long as the snapshot. */
#ifndef GRAMME_AUTH_DIRECTORY_H
#define GRAMME_AUTH_DIRECTORY_H

#include "auth/policy.h"
#include "auth/seal.h"

enum {
    DIRECTORY_KEYS_MAX = 2,
    DIRECTORY_ATTACHED_MAX = 20,
    DIRECTORY_NAME_MAX = 64,
    DIRECTORY_TAGS_MAX = 50,
};

/* The name of the user that is the root of the account. Identity policies do not restrict it. */
#define DIRECTORY_ROOT "root"

enum directory_kind { DIRECTORY_POLICY, DIRECTORY_ROLE, DIRECTORY_USER, DIRECTORY_KIND_COUNT };

/* Returns "policy", "role" or "user". */
const char *directory_kind_name(enum directory_kind kind);

struct directory_principal;

/* An access key of a user. */
struct directory_key {
    struct str id;
    struct str secret; /* in memory of a secret_arena */
    bool is_disabled;
    int64_t created; /* seconds since 1970 */
    const struct directory_principal *user;
};

/* A managed policy: its JSON text and its compiled form. */
struct directory_policy {
    struct str name;
    struct str document;
    const struct policy *policy;
};

/* A user or role. */
struct directory_principal {
    enum caller_kind kind; /* CALLER_ROLE_SESSION for a role */
    struct str name;
    struct str id;  /* AIDA..., AROA... */
    struct str arn; /* of the user or role */
    bool is_disabled;
    int64_t created; /* seconds since 1970 */
    struct context_tags tags;
    const struct str *policy_names;
    const struct policy **policies; /* one for each of policy_names */
    size_t policy_count;
    struct str boundary_name; /* STR_NULL: none */
    const struct policy *boundary;
    uint64_t mentions; /* the union of policy_mentions() of all these policies */
    /* Only of users. */
    struct directory_key keys[DIRECTORY_KEYS_MAX];
    size_t key_count;
    /* Only of roles. */
    struct str trust_document;
    struct policy *trust; /* the trust policy: who may assume the role */
    int64_t session_seconds_max;
    /* Of users and roles: sessions that were issued before this time (seconds since 1970) are
     * refused. 0: none. */
    int64_t sessions_since;
};

struct directory;

/* Creates an empty snapshot with the built-in policies. The caller owns the only reference, adds
 * the records, and calls directory_complete() before anything is looked up. */
MUST_USE struct directory *directory_create(struct str account);
/* Parses a record and adds it; copies what it keeps. `key` decrypts sealed secrets; if it is NULL
 * (no master key), a record with a sealed secret is an error. Returns false with ERR_VALIDATION
 * that names the record. */
MUST_USE bool directory_add(struct directory *directory, enum directory_kind kind,
                            struct str record, const struct seal_key *key, struct err *err);
/* Adds all records of a file: {"users": [...], "roles": [...], "policies": [...]}. `key` and
 * errors: as directory_add(). */
MUST_USE bool directory_add_file(struct directory *directory, struct str text,
                                 const struct seal_key *key, struct err *err);
/* Resolves the policy names of users and roles, and sets the revision. From then on the snapshot
 * can be used and does not change. Returns false with ERR_VALIDATION if an attached policy does not
 * exist. */
MUST_USE bool directory_complete(struct directory *directory, int64_t revision, struct err *err);

/* Adds a reference and returns `directory`. Any thread. */
struct directory *directory_hold(struct directory *directory);
/* Drops a reference; the last one frees the snapshot. Accepts NULL. Any thread. */
void directory_release(struct directory *directory);

/* Returns the revision given to directory_complete(). */
MUST_USE int64_t directory_revision(const struct directory *directory);
/* Returns the account number. */
MUST_USE struct str directory_account(const struct directory *directory);
/* Returns the access key with this id, or NULL. */
const struct directory_key *directory_find_key(const struct directory *directory, struct str id);
/* Returns the user with this name, or NULL. */
const struct directory_principal *directory_find_user(const struct directory *directory,
                                                      struct str name);
/* Returns the role with this name, or NULL. */
const struct directory_principal *directory_find_role(const struct directory *directory,
                                                      struct str name);
/* Returns the policy with this name, or NULL. Finds the built-in policies too: administrator, full,
 * readonly, readwrite. */
const struct directory_policy *directory_find_policy(const struct directory *directory,
                                                     struct str name);
/* Iterates over all users or all roles (`kind`) in no particular order. *at is 0 for the first
 * call; returns NULL at the end. */
const struct directory_principal *directory_next_principal(const struct directory *directory,
                                                           enum directory_kind kind, size_t *at);
/* Iterates over the policies in the same way, without the built-in ones. */
const struct directory_policy *directory_next_policy(const struct directory *directory, size_t *at);

/* Returns whether the text can be the name of a user, role or policy: 1 to 64 characters of A-Z a-z
 * 0-9 + = , . @ _ - */
MUST_USE bool directory_is_name(struct str name);
/* Returns whether the text can be an access key id: 3 to 128 characters of A-Z a-z 0-9 _ - */
MUST_USE bool directory_is_key_id(struct str id);
/* Returns whether the text can be a secret access key: 8 to 128 printable characters without
 * spaces. */
MUST_USE bool directory_is_secret(struct str secret);

/* Appends the record of a user or role to `out`, with secrets encrypted by `key`. `arena` is
 * scratch memory. */
void directory_write_principal(const struct directory_principal *principal,
                               const struct seal_key *key, struct arena *arena, struct buf *out);
/* Appends the record of a policy to `out`. */
void directory_write_policy(struct str name, struct str document, struct buf *out);

#endif
