/* Administration operations on policies and roles. Called by admin_run(). */
#include "server/admin_internal.h"

/* Without white space, and with it. */
enum { DOCUMENT_BYTES_MAX = 6144, DOCUMENT_RAW_BYTES_MAX = 64 * 1024 };

/* Policies ---------------------------------------------------------------------------------- */

bool admin_check_document(struct admin *admin, struct str document, enum policy_kind kind)
{
    struct policy *policy = NULL;
    struct err problem = ERR_INIT(admin->arena);
    if (document.len > DOCUMENT_RAW_BYTES_MAX ||
        policy_document_size(document) > DOCUMENT_BYTES_MAX) {
        return err_set(admin->err, ERR_LIMIT_EXCEEDED,
                       "A policy has at most %d bytes without white space, and %d with it",
                       DOCUMENT_BYTES_MAX, DOCUMENT_RAW_BYTES_MAX);
    }
    if (!policy_parse(document, kind, &policy, &problem)) {
        return err_set(admin->err, ERR_VALIDATION, "Invalid policy document: %.*s",
                       STR_ARG(problem.message));
    }
    policy_destroy(policy);
    return true;
}

static bool is_built_in(struct admin *admin, struct str name)
{
    size_t at = 0;
    const struct directory_policy *policy;
    while ((policy = directory_next_policy(admin->directory, &at)) != NULL) {
        if (str_eq(policy->name, name)) {
            return false;
        }
    }
    return directory_find_policy(admin->directory, name) != NULL;
}

bool admin_put_policy(struct admin *admin, const struct admin_request *request)
{
    if (!admin_require(admin, request->policy, "PolicyName") ||
        !admin_require(admin, request->document, "Document") ||
        !admin_check_document(admin, request->document, POLICY_IDENTITY)) {
        return false;
    }
    if (!directory_is_name(request->policy) || is_built_in(admin, request->policy)) {
        return err_set(admin->err, ERR_VALIDATION,
                       "'%.*s' is built in, or no name for a policy: 1 to 64 letters, digits and "
                       "any of +=,.@_-",
                       STR_ARG(request->policy));
    }
    struct buf record = {0};
    directory_write_policy(request->policy, request->document, &record);
    admin_add_change(admin, DIRECTORY_POLICY, request->policy,
                     arena_copy(admin->arena, buf_str(&record)));
    buf_finish(&record);
    admin_answer_name(admin, "PolicyName", request->policy);
    return true;
}

bool admin_get_policy(struct admin *admin, const struct admin_request *request)
{
    if (!admin_require(admin, request->policy, "PolicyName")) {
        return false;
    }
    const struct directory_policy *policy =
        directory_find_policy(admin->directory, request->policy);
    if (policy == NULL) {
        return admin_missing(admin, "policy", request->policy);
    }
    buf_add_char(admin->out, '{');
    admin_write_text_member(admin->out, "PolicyName", policy->name);
    buf_add_char(admin->out, ',');
    admin_write_text_member(admin->out, "Document", policy->document);
    buf_add_char(admin->out, '}');
    return true;
}

bool admin_list_policies(struct admin *admin, const struct admin_request *request)
{
    (void)request;
    static const char *const built_in[] = {"administrator", "full", "readonly", "readwrite"};
    size_t at = 0;
    const struct directory_policy *policy;
    JSON_PUT(admin->out, "{\"Policies\":[");
    for (size_t i = 0; i < COUNT_OF(built_in); i++) {
        buf_format(admin->out, "%s{\"PolicyName\":\"%s\",\"IsBuiltIn\":true}", i > 0 ? "," : "",
                   built_in[i]);
    }
    while ((policy = directory_next_policy(admin->directory, &at)) != NULL) {
        JSON_PUT(admin->out, ",{");
        admin_write_text_member(admin->out, "PolicyName", policy->name);
        JSON_PUT(admin->out, ",\"IsBuiltIn\":false}");
    }
    JSON_PUT(admin->out, "]}");
    return true;
}

static bool has_boundary(const struct directory_principal *principal, struct str name)
{
    return !str_is_null(principal->boundary_name) && str_eq(principal->boundary_name, name);
}

static bool has_policy(const struct directory_principal *principal, struct str name)
{
    for (size_t i = 0; i < principal->policy_count; i++) {
        if (str_eq(principal->policy_names[i], name)) {
            return true;
        }
    }
    return false;
}

bool admin_delete_policy(struct admin *admin, const struct admin_request *request)
{
    static const enum directory_kind kinds[] = {DIRECTORY_USER, DIRECTORY_ROLE};
    if (!admin_require(admin, request->policy, "PolicyName")) {
        return false;
    }
    if (directory_find_policy(admin->directory, request->policy) == NULL ||
        is_built_in(admin, request->policy)) {
        return admin_missing(admin, "policy", request->policy);
    }
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        size_t at = 0;
        const struct directory_principal *principal;
        while ((principal = directory_next_principal(admin->directory, kinds[i], &at)) != NULL) {
            if (has_policy(principal, request->policy) ||
                has_boundary(principal, request->policy)) {
                return err_set(admin->err, ERR_RESOURCE_IN_USE,
                               "Policy '%.*s' is attached to %s '%.*s'", STR_ARG(request->policy),
                               directory_kind_name(kinds[i]), STR_ARG(principal->name));
            }
        }
    }
    admin_add_change(admin, DIRECTORY_POLICY, request->policy, STR_NULL);
    admin_answer_name(admin, "PolicyName", request->policy);
    return true;
}

/* Returns the names of a principal's policies without this one, with room for one more. */
static struct str *names_without(struct admin *admin, const struct directory_principal *principal,
                                 struct str policy, size_t *out_count)
{
    struct str *names = ARENA_ARRAY(admin->arena, struct str, principal->policy_count + 1);
    size_t count = 0;
    for (size_t i = 0; i < principal->policy_count; i++) {
        if (!str_eq(principal->policy_names[i], policy)) {
            names[count++] = principal->policy_names[i];
        }
    }
    *out_count = count;
    return names;
}

bool admin_attach_policy(struct admin *admin, const struct admin_request *request)
{
    struct directory_principal *principal = admin_edit_principal(admin, request);
    if (principal == NULL || !admin_require(admin, request->policy, "PolicyName")) {
        return false;
    }
    if (directory_find_policy(admin->directory, request->policy) == NULL) {
        return admin_missing(admin, "policy", request->policy);
    }
    if (request->as_boundary.value) {
        principal->boundary_name = request->policy;
    } else {
        size_t count;
        struct str *names = names_without(admin, principal, request->policy, &count);
        names[count++] = request->policy;
        principal->policy_names = names;
        principal->policy_count = count;
        if (count > DIRECTORY_ATTACHED_MAX) {
            return err_set(admin->err, ERR_LIMIT_EXCEEDED, "At most %d policies can be attached",
                           DIRECTORY_ATTACHED_MAX);
        }
    }
    admin_answer_name(admin, "PolicyName", request->policy);
    return admin_save(admin, principal);
}

bool admin_detach_policy(struct admin *admin, const struct admin_request *request)
{
    struct directory_principal *principal = admin_edit_principal(admin, request);
    if (principal == NULL || !admin_require(admin, request->policy, "PolicyName")) {
        return false;
    }
    bool is_attached = request->as_boundary.value ? has_boundary(principal, request->policy)
                                                  : has_policy(principal, request->policy);
    if (!is_attached) {
        return admin_missing(admin, "attached policy", request->policy);
    }
    if (request->as_boundary.value) {
        principal->boundary_name = STR_NULL;
    } else {
        size_t count;
        principal->policy_names = names_without(admin, principal, request->policy, &count);
        principal->policy_count = count;
    }
    admin_answer_name(admin, "PolicyName", request->policy);
    return admin_save(admin, principal);
}

/* Roles ------------------------------------------------------------------------------------- */

bool admin_list_roles(struct admin *admin, const struct admin_request *request)
{
    (void)request;
    return admin_list_principals(admin, DIRECTORY_ROLE, "Roles");
}

bool admin_put_role(struct admin *admin, const struct admin_request *request)
{
    if (!admin_require(admin, request->role, "RoleName") ||
        !admin_require(admin, request->document, "Document") ||
        !admin_check_document(admin, request->document, POLICY_TRUST)) {
        return false;
    }
    if (!admin_check_name(admin, request->role)) {
        return false;
    }
    const struct directory_principal *before = directory_find_role(admin->directory, request->role);
    struct directory_principal role = {
        .kind = CALLER_ROLE_SESSION,
        .name = request->role,
        .id = admin_new_id(admin->arena, "AROA"),
        .created = clock_wall_ms() / 1000,
        .session_seconds_max = 3600,
    };
    if (before != NULL) {
        role = *before;
    }
    role.trust_document = request->document;
    if (request->session_seconds.given) {
        role.session_seconds_max = request->session_seconds.value;
    }
    admin_answer_name(admin, "RoleName", request->role);
    return admin_save(admin, &role);
}

bool admin_delete_role(struct admin *admin, const struct admin_request *request)
{
    if (!admin_require(admin, request->role, "RoleName") ||
        admin_edit(admin, DIRECTORY_ROLE, request->role) == NULL) {
        return false;
    }
    admin_add_change(admin, DIRECTORY_ROLE, request->role, STR_NULL);
    admin_answer_name(admin, "RoleName", request->role);
    return true;
}
