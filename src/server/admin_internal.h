/* server/admin_internal.h: what the files of the administration operations share. */
#ifndef GRAMME_SERVER_ADMIN_INTERNAL_H
#define GRAMME_SERVER_ADMIN_INTERNAL_H

#include "base/clock.h"
#include "base/random.h"
#include "json/writer.h"
#include "server/admin.h"
#include "wire/shape.h"

/* One try of an operation. */
struct admin {
    struct admin_call *call;
    struct directory *directory; /* a reference */
    struct arena *arena;
    struct buf *out;
    struct err *err;
    struct record_change changes[RECORD_CHANGES_MAX];
    size_t change_count;
};

/* Members of all requests; each operation says which of them it takes. */
struct admin_request {
    struct str user;
    struct str role;
    struct str policy;
    struct str document;
    struct str key_id;
    struct str secret;
    struct str action;
    struct str resource;
    struct wire_bool disabled;
    struct wire_bool as_boundary;
    struct wire_int session_seconds;
    struct wire_map context; /* of wire_list of struct str */
    struct wire_map tags;    /* of struct str */
};

/* admin_records.c. Those that return bool or NULL set *admin->err when they fail. */

/* There is no user, role, policy or key of this name: sets the error and returns false. */
bool admin_missing(struct admin *admin, const char *what, struct str name);
/* Whether the request has the member; `member` is its name. */
MUST_USE bool admin_require(struct admin *admin, struct str text, const char *member);
/* A copy of a user or role in the arena, to be changed and saved. */
MUST_USE struct directory_principal *admin_edit(struct admin *admin, enum directory_kind kind,
                                                struct str name);
/* The same for the user that a request must name. */
MUST_USE struct directory_principal *admin_edit_user(struct admin *admin, struct str name);
/* The same for the user or role of a request that takes either. */
MUST_USE struct directory_principal *admin_edit_principal(struct admin *admin,
                                                          const struct admin_request *request);
/* Adds a changed record; `value` null: the record is erased. */
void admin_add_change(struct admin *admin, enum directory_kind kind, struct str name,
                      struct str value);
/* Adds the record of a changed user or role. */
MUST_USE bool admin_save(struct admin *admin, const struct directory_principal *principal);
/* Answers {"member": "name"}. */
void admin_answer_name(struct admin *admin, const char *member, struct str name);
/* A random id as IAM has them: AIDA... of users, AROA... of roles. */
struct str admin_new_id(struct arena *arena, const char *prefix);
/* Writes "name":"text". */
void admin_write_text_member(struct buf *out, const char *name, struct str text);
/* Answers {"member": [...]} with all users or roles. */
bool admin_list_principals(struct admin *admin, enum directory_kind kind, const char *member);
/* Whether a policy document may be stored. */
MUST_USE bool admin_check_document(struct admin *admin, struct str document, enum policy_kind kind);

/* The operations, by the names that docs/admin-api.md gives them. False: *admin->err. */
bool admin_attach_policy(struct admin *admin, const struct admin_request *request);
bool admin_create_access_key(struct admin *admin, const struct admin_request *request);
bool admin_create_user(struct admin *admin, const struct admin_request *request);
bool admin_delete_access_key(struct admin *admin, const struct admin_request *request);
bool admin_delete_policy(struct admin *admin, const struct admin_request *request);
bool admin_delete_role(struct admin *admin, const struct admin_request *request);
bool admin_delete_user(struct admin *admin, const struct admin_request *request);
bool admin_detach_policy(struct admin *admin, const struct admin_request *request);
bool admin_get_policy(struct admin *admin, const struct admin_request *request);
bool admin_list_policies(struct admin *admin, const struct admin_request *request);
bool admin_list_roles(struct admin *admin, const struct admin_request *request);
bool admin_list_users(struct admin *admin, const struct admin_request *request);
bool admin_put_policy(struct admin *admin, const struct admin_request *request);
bool admin_put_role(struct admin *admin, const struct admin_request *request);
bool admin_revoke_sessions(struct admin *admin, const struct admin_request *request);
bool admin_simulate_policy(struct admin *admin, const struct admin_request *request);
bool admin_update_access_key(struct admin *admin, const struct admin_request *request);
bool admin_update_user(struct admin *admin, const struct admin_request *request);

#endif
