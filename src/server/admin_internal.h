/* server/admin_internal.h: what the files of the administration operations share. */
#ifndef GRAMME_SERVER_ADMIN_INTERNAL_H
#define GRAMME_SERVER_ADMIN_INTERNAL_H

#include "base/clock.h"
#include "base/random.h"
#include "json/writer.h"
#include "server/admin.h"
#include "wire/shape.h"

/* One attempt of an operation. */
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

/* admin_records.c. Functions that return false or NULL set *admin->err. */

/* Sets the error that there is no user, role, policy or key of this name, and returns false. */
bool admin_missing(struct admin *admin, const char *what, struct str name);
/* Returns whether a request has a member; `text` is its value, `member` its name. */
MUST_USE bool admin_require(struct admin *admin, struct str text, const char *member);
/* Returns whether a user or role may have this name. */
MUST_USE bool admin_check_name(struct admin *admin, struct str name);
/* Returns a copy of a user or role in the arena, which the caller changes and saves. */
MUST_USE struct directory_principal *admin_edit(struct admin *admin, enum directory_kind kind,
                                                struct str name);
/* As admin_edit(), for a request that must name a user. */
MUST_USE struct directory_principal *admin_edit_user(struct admin *admin, struct str name);
/* As admin_edit(), for a request that names either a user or a role. */
MUST_USE struct directory_principal *admin_edit_principal(struct admin *admin,
                                                          const struct admin_request *request);
/* Adds a changed record; `value` STR_NULL: the record is erased. */
void admin_add_change(struct admin *admin, enum directory_kind kind, struct str name,
                      struct str value);
/* Adds the record of a changed user or role. */
MUST_USE bool admin_save(struct admin *admin, const struct directory_principal *principal);
/* Answers {"member": "name"}. */
void admin_answer_name(struct admin *admin, const char *member, struct str name);
/* Returns a random id in the form of IAM: AIDA... for users, AROA... for roles. */
struct str admin_new_id(struct arena *arena, const char *prefix);
/* Writes "name":"text". */
void admin_write_text_member(struct buf *out, const char *name, struct str text);
/* Answers {"member": [...]} with all users or roles. */
bool admin_list_principals(struct admin *admin, enum directory_kind kind, const char *member);
/* Returns whether a policy document is valid. */
MUST_USE bool admin_check_document(struct admin *admin, struct str document, enum policy_kind kind);

/* The operations, as docs/admin-api.md describes them. Each reads the request, adds the records
 * that it changes (admin_add_change()), and writes the answer. False: *admin->err says why. */

/* Attaches a policy to a user or role. */
bool admin_attach_policy(struct admin *admin, const struct admin_request *request);
/* Creates an access key of a user. */
bool admin_create_access_key(struct admin *admin, const struct admin_request *request);
/* Creates a user. */
bool admin_create_user(struct admin *admin, const struct admin_request *request);
/* Deletes an access key. */
bool admin_delete_access_key(struct admin *admin, const struct admin_request *request);
/* Deletes a policy that is attached to nobody. */
bool admin_delete_policy(struct admin *admin, const struct admin_request *request);
/* Deletes a role. */
bool admin_delete_role(struct admin *admin, const struct admin_request *request);
/* Deletes a user with its keys. */
bool admin_delete_user(struct admin *admin, const struct admin_request *request);
/* Detaches a policy from a user or role. */
bool admin_detach_policy(struct admin *admin, const struct admin_request *request);
/* Returns the document of a policy. */
bool admin_get_policy(struct admin *admin, const struct admin_request *request);
/* Lists the names of all policies. */
bool admin_list_policies(struct admin *admin, const struct admin_request *request);
/* Lists all roles. */
bool admin_list_roles(struct admin *admin, const struct admin_request *request);
/* Lists all users, with their keys but without secrets. */
bool admin_list_users(struct admin *admin, const struct admin_request *request);
/* Creates a policy or replaces its document. */
bool admin_put_policy(struct admin *admin, const struct admin_request *request);
/* Creates a role or replaces its trust policy. */
bool admin_put_role(struct admin *admin, const struct admin_request *request);
/* Makes all sessions of a user or role invalid that began before now. */
bool admin_revoke_sessions(struct admin *admin, const struct admin_request *request);
/* Evaluates the policies of a user or role for an action, without carrying it out. */
bool admin_simulate_policy(struct admin *admin, const struct admin_request *request);
/* Enables or disables an access key. */
bool admin_update_access_key(struct admin *admin, const struct admin_request *request);
/* Changes a user: disabled or not, tags. */
bool admin_update_user(struct admin *admin, const struct admin_request *request);

#endif
