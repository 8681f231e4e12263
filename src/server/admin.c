/* The administration operations: a table of them, the members of their requests, authorization.
 * Each is a function that reads its request, derives changed records from the directory as it is,
 * and writes its answer. If another server has changed the directory meanwhile, the operation is
 * run again. Called on slow threads of the server, and by the program `gramme` on its main thread.
 */
#include "server/admin_internal.h"

enum { TRIES_MAX = 8 };

/* Requests ---------------------------------------------------------------------------------- */

static const struct shape shape_text = {.kind = SHAPE_STRING, .min = 1, .max = 1 << 20};
static const struct shape shape_flag = {.kind = SHAPE_BOOL};
static const struct shape shape_seconds = {.kind = SHAPE_INTEGER, .min = 900, .max = 43200};
static const struct shape shape_texts = {
    .kind = SHAPE_LIST, .java = "List", .element = &shape_text};
static const struct shape shape_context = {
    .kind = SHAPE_MAP, .java = "Map", .element = &shape_texts};
static const struct shape shape_tags = {.kind = SHAPE_MAP, .java = "Map", .element = &shape_text};

#define MEMBER(member_, name_, shape_) FIELD(struct admin_request, member_, name_, shape_)
static const struct field request_fields[] = {
    MEMBER(user, "UserName", shape_text),
    MEMBER(role, "RoleName", shape_text),
    MEMBER(policy, "PolicyName", shape_text),
    MEMBER(document, "Document", shape_text),
    MEMBER(key_id, "AccessKeyId", shape_text),
    MEMBER(secret, "SecretAccessKey", shape_text),
    MEMBER(action, "Action", shape_text),
    MEMBER(resource, "Resource", shape_text),
    MEMBER(disabled, "Disabled", shape_flag),
    MEMBER(as_boundary, "AsBoundary", shape_flag),
    MEMBER(session_seconds, "SessionSeconds", shape_seconds),
    MEMBER(context, "Context", shape_context),
    MEMBER(tags, "Tags", shape_tags),
    FIELD_END,
};
static const struct shape shape_request = {
    .kind = SHAPE_STRUCT, .fields = request_fields, .size = sizeof(struct admin_request)};

/* The whole --------------------------------------------------------------------------------- */

/* What an operation is about; policies of administrators name its ARN. Other members of the request
 * must not decide: the operation ignores them. */
enum subject {
    ON_ALL,
    ON_KEY, /* AccessKeyId; it belongs to its user */
    ON_POLICY,
    ON_PRINCIPAL, /* UserName or RoleName */
    ON_ROLE,
    ON_USER,
};

static const struct operation {
    const char *name;
    const char *action;
    bool (*run)(struct admin *admin, const struct admin_request *request);
    enum subject subject;
    bool is_change;
} operations[] = {
    {"AttachPolicy", "gramme:AttachPolicy", admin_attach_policy, ON_PRINCIPAL, true},
    {"CreateAccessKey", "gramme:CreateAccessKey", admin_create_access_key, ON_USER, true},
    {"CreateUser", "gramme:CreateUser", admin_create_user, ON_USER, true},
    {"DeleteAccessKey", "gramme:DeleteAccessKey", admin_delete_access_key, ON_KEY, true},
    {"DeletePolicy", "gramme:DeletePolicy", admin_delete_policy, ON_POLICY, true},
    {"DeleteRole", "gramme:DeleteRole", admin_delete_role, ON_ROLE, true},
    {"DeleteUser", "gramme:DeleteUser", admin_delete_user, ON_USER, true},
    {"DetachPolicy", "gramme:DetachPolicy", admin_detach_policy, ON_PRINCIPAL, true},
    {"GetPolicy", "gramme:GetPolicy", admin_get_policy, ON_POLICY, false},
    {"ListPolicies", "gramme:ListPolicies", admin_list_policies, ON_ALL, false},
    {"ListRoles", "gramme:ListRoles", admin_list_roles, ON_ALL, false},
    {"ListUsers", "gramme:ListUsers", admin_list_users, ON_ALL, false},
    {"PutPolicy", "gramme:PutPolicy", admin_put_policy, ON_POLICY, true},
    {"PutRole", "gramme:PutRole", admin_put_role, ON_ROLE, true},
    {"RevokeSessions", "gramme:RevokeSessions", admin_revoke_sessions, ON_PRINCIPAL, true},
    {"SimulatePolicy", "gramme:SimulatePolicy", admin_simulate_policy, ON_PRINCIPAL, false},
    {"UpdateAccessKey", "gramme:UpdateAccessKey", admin_update_access_key, ON_KEY, true},
    {"UpdateUser", "gramme:UpdateUser", admin_update_user, ON_USER, true},
};

static const struct operation *find_operation(struct str name)
{
    for (size_t i = 0; i < COUNT_OF(operations); i++) {
        if (str_eq(name, str_from_c(operations[i].name))) {
            return &operations[i];
        }
    }
    return NULL;
}

bool admin_has_operation(struct str name)
{
    return find_operation(name) != NULL;
}

bool admin_is_change(struct str name)
{
    const struct operation *operation = find_operation(name);
    return operation != NULL && operation->is_change;
}

/* The name and kind of what an operation is about; STR_NULL: all, or nothing that exists. */
static struct str subject_of(struct admin *admin, enum subject subject,
                             const struct admin_request *request, const char **out_kind)
{
    const struct directory_key *key = NULL;
    *out_kind = "user";
    switch (subject) {
    case ON_ALL:
        return STR_NULL;
    case ON_KEY:
        key = str_is_null(request->key_id) ? NULL
                                           : directory_find_key(admin->directory, request->key_id);
        return key == NULL ? STR_NULL : key->user->name;
    case ON_POLICY:
        *out_kind = "policy";
        return request->policy;
    case ON_PRINCIPAL:
        if (str_is_null(request->role)) {
            return request->user;
        }
        *out_kind = "role"; /* with both names the operation refuses the request */
        return request->role;
    case ON_ROLE:
        *out_kind = "role";
        return request->role;
    case ON_USER:
        break;
    }
    return request->user;
}

/* The ARN that policies of administrators name. */
static struct str resource_of(struct admin *admin, enum subject subject,
                              const struct admin_request *request)
{
    struct str account = directory_account(admin->directory);
    const char *kind;
    struct str name = subject_of(admin, subject, request, &kind);
    return str_is_null(name) ? STR("*")
                             : arena_format(admin->arena, "arn:aws:iam::%.*s:%s/%.*s",
                                            STR_ARG(account), kind, STR_ARG(name));
}

/* Root is above all policies, so nobody may become root over the network, not even by a new key of
 * it: it is changed only with access to the store. */
static bool changes_root(struct admin *admin, const struct operation *operation,
                         const struct admin_request *request)
{
    const char *kind;
    struct str name = subject_of(admin, operation->subject, request, &kind);
    return operation->is_change && strcmp(kind, "user") == 0 && str_eq(name, STR(DIRECTORY_ROOT));
}

static bool authorize(struct admin *admin, const struct operation *operation,
                      const struct admin_request *request)
{
    const struct admin_caller *caller = &admin->call->caller;
    admin->call->resource = resource_of(admin, operation->subject, request);
    if (caller->caller == NULL) {
        return true;
    }
    struct policy_request question = {
        .caller = caller->caller,
        .action = str_from_c(operation->action),
        .resource = admin->call->resource,
        .context = caller->context,
        .arena = admin->arena,
    };
    struct policy_decision decision = policy_decide(caller->policies, &question);
    if (!decision.is_allowed) {
        return err_set_str(admin->err, ERR_ACCESS_DENIED,
                           policy_denial_text(caller->policies, &decision, &question));
    }
    return !changes_root(admin, operation, request) ||
           err_set(admin->err, ERR_ACCESS_DENIED,
                   "Root is not changed over the network: use `gramme init`, or other commands "
                   "with --store, on the store itself");
}

static bool check_change(struct admin *admin, struct directory *directory,
                         const struct record_change *change)
{
    for (int i = 0; i < DIRECTORY_KIND_COUNT; i++) {
        enum directory_kind kind = (enum directory_kind)i;
        if (strcmp(change->kind, directory_kind_name(kind)) == 0) {
            return str_is_null(change->value) || directory_add(directory, kind, change->value,
                                                               admin->call->users->key, admin->err);
        }
    }
    return true;
}

/* Whether the changed records can be read again: with one that cannot, nobody could sign in after
 * the next start. */
static bool check_changes(struct admin *admin)
{
    bool good = true;
    struct directory *directory = directory_create(directory_account(admin->directory));
    for (size_t i = 0; good && i < admin->change_count; i++) {
        good = check_change(admin, directory, &admin->changes[i]);
    }
    directory_release(directory);
    return good;
}

/* One try. RECORDS_STALE: the directory has changed meanwhile. */
static enum records_status run_once(struct admin_call *call, const struct operation *operation,
                                    const struct admin_request *request, struct err *err)
{
    struct admin admin = {
        .call = call,
        .directory = directory_current(&call->users->source),
        .arena = call->arena,
        .out = call->out,
        .err = err,
    };
    enum records_status status = RECORDS_FAILED;
    if (authorize(&admin, operation, request) && operation->run(&admin, request) &&
        check_changes(&admin)) {
        status = admin.change_count == 0
                     ? RECORDS_CHANGED
                     : users_change(call->users, directory_revision(admin.directory), admin.changes,
                                    admin.change_count, err);
    }
    directory_release(admin.directory);
    return status;
}

bool admin_run(struct admin_call *call, struct err *err)
{
    const struct operation *operation = find_operation(call->operation);
    struct admin_request request;
    if (operation == NULL) {
        return err_set(err, ERR_UNKNOWN_OPERATION, "%s", "");
    }
    if (!wire_decode(call->arena, &shape_request, call->body, &request, err) ||
        !wire_validate(&shape_request, &request, WORDING_CURRENT, err)) {
        return false;
    }
    if (operation->is_change && call->users->options.file.len > 0) {
        return err_set(err, ERR_VALIDATION,
                       "Users come from the file of --users, which the server does not change");
    }
    size_t out_start = call->out->len;
    for (int i = 0; i < TRIES_MAX; i++) {
        call->out->len = out_start;
        enum records_status status = run_once(call, operation, &request, err);
        if (status != RECORDS_STALE) {
            return status == RECORDS_CHANGED;
        }
    }
    return err_set(err, ERR_SERVICE_UNAVAILABLE, "Others change users at the same time; try again");
}
