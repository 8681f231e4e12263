/* SimulatePolicy: evaluates the policies of a user or role for an action. Called by admin_run(). */
#include "server/admin_internal.h"

/* The context that the request gives. Tags: aws:PrincipalTag/k and so on. */
static bool read_context(struct admin *admin, const struct wire_map *given,
                         struct auth_context *out)
{
    for (size_t i = 0; i < given->count; i++) {
        const struct wire_list *list = &((const struct wire_list *)given->values)[i];
        struct context_key key = context_key_from_name(given->names[i]);
        if (key.id < CONTEXT_KEY_COUNT) {
            out->keys[key.id] = (struct context_values){
                .values = list->elements, .count = list->count, .is_present = true};
        } else if (key.id != CONTEXT_UNKNOWN && list->count == 1) {
            struct context_tags *family = &out->tags[key.id - CONTEXT_KEY_COUNT];
            struct context_tag *tags =
                ARENA_ARRAY(admin->arena, struct context_tag, family->count + 1);
            if (family->count > 0) {
                memcpy(tags, family->tags, family->count * sizeof(*tags));
            }
            tags[family->count] = (struct context_tag){
                .name = key.tag, .value = ((const struct str *)list->elements)[0]};
            *family = (struct context_tags){.tags = tags, .count = family->count + 1};
        } else {
            return err_set(admin->err, ERR_VALIDATION, "'%.*s' is not a condition key of a request",
                           STR_ARG(given->names[i]));
        }
    }
    return true;
}

static void set_key(struct admin *admin, struct auth_context *context, enum context_key_id id,
                    struct str text)
{
    if (!context->keys[id].is_present) {
        struct str *kept = ARENA_NEW(admin->arena, struct str);
        *kept = text;
        context->keys[id] = (struct context_values){.values = kept, .count = 1, .is_present = true};
    }
}

static void write_decision(struct admin *admin, const struct directory_principal *user,
                           const struct policy_decision *decision)
{
    bool has_statement = decision->answer.effect != POLICY_NO_MATCH;
    buf_format(admin->out, "{\"Decision\":\"%s\",\"Source\":\"%s\"",
               decision->is_allowed    ? "allowed"
               : decision->is_explicit ? "explicitDeny"
                                       : "implicitDeny",
               user->kind == CALLER_ROOT ? "root" : policy_source_name(decision->source));
    if (has_statement && decision->source == SOURCE_IDENTITY) {
        buf_add_char(admin->out, ',');
        admin_write_text_member(admin->out, "PolicyName", user->policy_names[decision->identity]);
    }
    if (has_statement) {
        buf_format(admin->out, ",\"Statement\":%zu", decision->answer.statement + 1);
    }
    if (has_statement && !str_is_null(decision->answer.sid)) {
        buf_add_char(admin->out, ',');
        admin_write_text_member(admin->out, "Sid", decision->answer.sid);
    }
    buf_add_char(admin->out, '}');
}

/* Evaluates the policies of a user or role for an action; policies of tables are not evaluated. */
bool admin_simulate_policy(struct admin *admin, const struct admin_request *request)
{
    const struct directory_principal *user = admin_edit_principal(admin, request);
    struct auth_context context = {0};
    if (user == NULL || !admin_require(admin, request->action, "Action") ||
        !read_context(admin, &request->context, &context)) {
        return false;
    }
    if (user->kind == CALLER_USER) {
        set_key(admin, &context, CONTEXT_AWS_USERNAME, user->name);
    }
    set_key(admin, &context, CONTEXT_AWS_PRINCIPAL_ARN, user->arn);
    struct policy_caller caller = {
        .kind = user->kind,
        .arn = user->arn,
        .role_arn = user->arn,
        .account = directory_account(admin->directory),
    };
    struct policy_set policies = {
        .identity = user->policies,
        .identity_count = user->policy_count,
        .boundary = user->boundary,
    };
    struct policy_request question = {
        .caller = &caller,
        .action = request->action,
        .resource = str_is_null(request->resource) ? STR("*") : request->resource,
        .context = &context,
        .arena = admin->arena,
    };
    struct policy_decision decision = policy_decide(&policies, &question);
    write_decision(admin, user, &decision);
    return true;
}
