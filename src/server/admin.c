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

static const struct operation {
    const char *name;
    const char *action;
    bool (*run)(struct admin *admin, const struct admin_request *request);
    bool is_change;
} operations[] = {
    {"AttachPolicy", "gramme:AttachPolicy", admin_attach_policy, true},
    {"CreateAccessKey", "gramme:CreateAccessKey", admin_create_access_key, true},
    {"CreateUser", "gramme:CreateUser", admin_create_user, true},
    {"DeleteAccessKey", "gramme:DeleteAccessKey", admin_delete_access_key, true},
    {"DeletePolicy", "gramme:DeletePolicy", admin_delete_policy, true},
    {"DeleteRole", "gramme:DeleteRole", admin_delete_role, true},
    {"DeleteUser", "gramme:DeleteUser", admin_delete_user, true},
    {"DetachPolicy", "gramme:DetachPolicy", admin_detach_policy, true},
    {"GetPolicy", "gramme:GetPolicy", admin_get_policy, false},
    {"ListPolicies", "gramme:ListPolicies", admin_list_policies, false},
    {"ListRoles", "gramme:ListRoles", admin_list_roles, false},
    {"ListUsers", "gramme:ListUsers", admin_list_users, false},
    {"PutPolicy", "gramme:PutPolicy", admin_put_policy, true},
    {"PutRole", "gramme:PutRole", admin_put_role, true},
    {"RevokeSessions", "gramme:RevokeSessions", admin_revoke_sessions, true},
    {"SimulatePolicy", "gramme:SimulatePolicy", admin_simulate_policy, false},
    {"UpdateAccessKey", "gramme:UpdateAccessKey", admin_update_access_key, true},
    {"UpdateUser", "gramme:UpdateUser", admin_update_user, true},
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

/* The ARN that policies of administrators name. A key belongs to its user. */
static struct str resource_of(struct admin *admin, const struct admin_request *request)
{
    struct str account = directory_account(admin->directory);
    struct str name = request->user;
    const char *kind = "user";
    const struct directory_key *key =
        str_is_null(request->key_id) ? NULL : directory_find_key(admin->directory, request->key_id);
    if (!str_is_null(request->role)) {
        name = request->role;
        kind = "role";
    } else if (str_is_null(name) && key != NULL) {
        name = key->user->name;
    } else if (str_is_null(name) && !str_is_null(request->policy)) {
        name = request->policy;
        kind = "policy";
    }
    return str_is_null(name) ? STR("*")
                             : arena_format(admin->arena, "arn:aws:iam::%.*s:%s/%.*s",
                                            STR_ARG(account), kind, STR_ARG(name));
}

static bool authorize(struct admin *admin, const struct operation *operation,
                      const struct admin_request *request)
{
    const struct admin_caller *caller = &admin->call->caller;
    if (caller->caller == NULL) {
        return true;
    }
    struct policy_request question = {
        .caller = caller->caller,
        .action = str_from_c(operation->action),
        .resource = resource_of(admin, request),
        .context = caller->context,
        .arena = admin->arena,
    };
    struct policy_decision decision = policy_decide(caller->policies, &question);
    if (decision.is_allowed) {
        return true;
    }
    return err_set_str(admin->err, ERR_ACCESS_DENIED, policy_denial_text(&decision, &question));
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
    if (authorize(&admin, operation, request) && operation->run(&admin, request)) {
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
