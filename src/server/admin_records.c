/* What the administration operations share: finds users and roles, saves changed records, writes
 * parts of answers. On the thread of the operation. */
#include "server/admin_internal.h"

enum { ID_LEN = 21 };

/* Finding ----------------------------------------------------------------------------------- */

bool admin_missing(struct admin *admin, const char *what, struct str name)
{
    return err_set(admin->err, ERR_RESOURCE_NOT_FOUND, "There is no %s '%.*s'", what,
                   STR_ARG(name));
}

bool admin_require(struct admin *admin, struct str text, const char *member)
{
    return !str_is_null(text) || err_set(admin->err, ERR_VALIDATION, "%s is required", member);
}

bool admin_check_name(struct admin *admin, struct str name)
{
    return directory_is_name(name) ||
           err_set(admin->err, ERR_VALIDATION,
                   "A name has 1 to 64 letters, digits and any of +=,.@_-");
}

/* A copy of a user or role, to be changed and saved; NULL: *err. */
struct directory_principal *admin_edit(struct admin *admin, enum directory_kind kind,
                                       struct str name)
{
    const struct directory_principal *found = kind == DIRECTORY_USER
                                                  ? directory_find_user(admin->directory, name)
                                                  : directory_find_role(admin->directory, name);
    if (found == NULL) {
        admin_missing(admin, directory_kind_name(kind), name);
        return NULL;
    }
    struct directory_principal *copy = ARENA_NEW(admin->arena, struct directory_principal);
    *copy = *found;
    return copy;
}

struct directory_principal *admin_edit_user(struct admin *admin, struct str name)
{
    return admin_require(admin, name, "UserName") ? admin_edit(admin, DIRECTORY_USER, name) : NULL;
}

/* The user or role of a request that takes either. */
struct directory_principal *admin_edit_principal(struct admin *admin,
                                                 const struct admin_request *request)
{
    if (str_is_null(request->user) == str_is_null(request->role)) {
        err_set(admin->err, ERR_VALIDATION, "Either UserName or RoleName is required");
        return NULL;
    }
    return str_is_null(request->role) ? admin_edit(admin, DIRECTORY_USER, request->user)
                                      : admin_edit(admin, DIRECTORY_ROLE, request->role);
}

/* Saving ------------------------------------------------------------------------------------ */

void admin_add_change(struct admin *admin, enum directory_kind kind, struct str name,
                      struct str value)
{
    assert(admin->change_count < RECORD_CHANGES_MAX);
    admin->changes[admin->change_count++] =
        (struct record_change){.kind = directory_kind_name(kind), .name = name, .value = value};
}

bool admin_save(struct admin *admin, const struct directory_principal *principal)
{
    const struct seal_key *key = admin->call->users->key;
    enum directory_kind kind =
        principal->kind == CALLER_ROLE_SESSION ? DIRECTORY_ROLE : DIRECTORY_USER;
    if (key == NULL) {
        return err_set(admin->err, ERR_VALIDATION,
                       "Users are kept in the store under a master key, and the server has none");
    }
    struct buf record = {0};
    directory_write_principal(principal, key, admin->arena, &record);
    admin_add_change(admin, kind, principal->name, arena_copy(admin->arena, buf_str(&record)));
    buf_finish(&record);
    return true;
}

void admin_answer_name(struct admin *admin, const char *member, struct str name)
{
    buf_format(admin->out, "{\"%s\":", member);
    json_write_string(admin->out, name);
    buf_add_char(admin->out, '}');
}

/* A random id as IAM has them: AIDA... of users, AROA... of roles. */
struct str admin_new_id(struct arena *arena, const char *prefix)
{
    char *id = arena_bytes(arena, ID_LEN);
    memcpy(id, prefix, 4);
    session_random_text(id + 4, ID_LEN - 4, true);
    return str_make(id, ID_LEN);
}

void admin_write_text_member(struct buf *out, const char *name, struct str text)
{
    buf_format(out, "\"%s\":", name);
    json_write_string(out, text);
}
