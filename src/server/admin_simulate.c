/* SimulatePolicy: evaluates the policies of a user or role for an action, and that of the table or
 * stream. Condition keys that do not depend on a request are filled in as guard.c does. Called by
 * admin_run(). */
#include <time.h>

#include "api/access/resource_facts.h"
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

/* Sets a key that the request does not give. */
static void set_key(struct admin *admin, struct auth_context *context, enum context_key_id id,
                    struct str text)
{
    if (!context->keys[id].is_present) {
        struct str *kept = ARENA_NEW(admin->arena, struct str);
        *kept = text;
        context->keys[id] = (struct context_values){.values = kept, .count = 1, .is_present = true};
    }
}

/* Adds tags behind those that the request gives, which take precedence. */
static void add_tags(struct admin *admin, struct auth_context *context, enum context_key_id family,
                     struct context_tags more)
{
    struct context_tags *tags = &context->tags[family - CONTEXT_KEY_COUNT];
    struct context_tag *all =
        ARENA_ARRAY(admin->arena, struct context_tag, tags->count + more.count + 1);
    for (size_t i = 0; i < tags->count + more.count; i++) {
        all[i] = i < tags->count ? tags->tags[i] : more.tags[i - tags->count];
    }
    *tags = (struct context_tags){.tags = all, .count = tags->count + more.count};
}

/* Sets the keys that depend on the time, as they are for a role if it is assumed now. */
static void set_time_keys(struct admin *admin, enum caller_kind kind, struct auth_context *context)
{
    enum { TIME_SIZE = 32 };
    time_t now = (time_t)(clock_wall_ms() / 1000);
    char *text = arena_bytes(admin->arena, TIME_SIZE);
    struct tm parts;
    gmtime_r(&now, &parts);
    size_t len = strftime(text, TIME_SIZE, "%Y-%m-%dT%H:%M:%SZ", &parts);
    set_key(admin, context, CONTEXT_AWS_CURRENT_TIME, str_make(text, len));
    if (kind == CALLER_ROLE_SESSION) {
        set_key(admin, context, CONTEXT_AWS_TOKEN_ISSUE_TIME, str_make(text, len));
    }
    set_key(admin, context, CONTEXT_AWS_EPOCH_TIME,
            arena_format(admin->arena, "%lld", (long long)now));
}

/* A user is taken to use a lasting key; the name of a role's session is not known, so aws:userid is
 * not set for a role. */
static void set_caller_keys(struct admin *admin, const struct directory_principal *user,
                            struct auth_context *context)
{
    struct str account = directory_account(admin->directory);
    set_key(admin, context, CONTEXT_AWS_PRINCIPAL_ACCOUNT, account);
    set_key(admin, context, CONTEXT_AWS_PRINCIPAL_ARN, user->arn);
    set_key(admin, context, CONTEXT_AWS_PRINCIPAL_TYPE, policy_caller_type(user->kind));
    if (user->kind == CALLER_USER) {
        set_key(admin, context, CONTEXT_AWS_USERNAME, user->name);
    }
    if (user->kind == CALLER_ROLE_SESSION) {
        set_key(admin, context, CONTEXT_AWS_MFA_PRESENT, STR("false"));
    } else {
        set_key(admin, context, CONTEXT_AWS_USERID, user->kind == CALLER_ROOT ? account : user->id);
    }
    add_tags(admin, context, CONTEXT_PRINCIPAL_TAG, user->tags);
}

static void fill_context(struct admin *admin, const struct directory_principal *user,
                         const struct resource_facts *facts, struct auth_context *context)
{
    set_time_keys(admin, user->kind, context);
    set_caller_keys(admin, user, context);
    set_key(admin, context, CONTEXT_AWS_REQUESTED_REGION,
            engine_region(admin->call->users->engine));
    add_tags(admin, context, CONTEXT_RESOURCE_TAG, facts->tags);
}

/* Decides by all policies but those of a session. */
static struct policy_decision decide(struct admin *admin, const struct directory_principal *user,
                                     const struct policy *resource_policy,
                                     const struct policy_request *question)
{
    struct str account = directory_account(admin->directory);
    struct policy_caller caller = {
        .kind = user->kind, .arn = user->arn, .role_arn = user->arn, .account = account};
    if (user->kind == CALLER_ROLE_SESSION) { /* of any name: "*" is none, so no policy names it */
        caller.arn = arena_format(admin->arena, "arn:aws:sts::%.*s:assumed-role/%.*s/*",
                                  STR_ARG(account), STR_ARG(user->name));
    }
    struct policy_set policies = {
        .identity = user->policies,
        .identity_count = user->policy_count,
        .resource = resource_policy,
        .boundary = user->boundary,
    };
    struct policy_request complete = *question;
    complete.caller = &caller;
    return policy_decide(&policies, &complete);
}

static void write_decision(struct admin *admin, const struct directory_principal *user,
                           const struct policy_decision *decision, bool is_found)
{
    bool has_statement = decision->answer.effect != POLICY_NO_MATCH;
    bool by_root = user->kind == CALLER_ROOT && decision->is_allowed;
    buf_format(admin->out, "{\"Decision\":\"%s\",\"Source\":\"%s\",\"TableFound\":%s",
               decision->is_allowed    ? "allowed"
               : decision->is_explicit ? "explicitDeny"
                                       : "implicitDeny",
               by_root ? "root" : policy_source_name(decision->source),
               is_found ? "true" : "false");
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

bool admin_simulate_policy(struct admin *admin, const struct admin_request *request)
{
    const struct directory_principal *user = admin_edit_principal(admin, request);
    struct auth_context context = {0};
    struct resource_facts facts;
    if (user == NULL || !admin_require(admin, request->action, "Action") ||
        !read_context(admin, &request->context, &context)) {
        return false;
    }
    struct str resource = str_is_null(request->resource) ? STR("*") : request->resource;
    resource_facts_read(admin->call->users->engine, admin->arena, resource, &facts);
    fill_context(admin, user, &facts, &context);
    struct policy_request question = {
        .action = request->action,
        .resource = resource,
        .context = &context,
        .arena = admin->arena,
    };
    struct policy_decision decision = decide(admin, user, facts.policy, &question);
    write_decision(admin, user, &decision, facts.is_found);
    resource_facts_finish(&facts);
    return true;
}
