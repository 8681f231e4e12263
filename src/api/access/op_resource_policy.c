/* PutResourcePolicy, GetResourcePolicy and DeleteResourcePolicy: policies of tables and streams.
 * The policy is part of the table's description in the catalog. Called by dispatch.c on the thread
 * of the call. */
#include "api/access/authorize.h"
#include "api/access/policy_document.h"
#include "api/access/resource_policy.h"
#include "api/api_internal.h"
#include "api/arn.h"
#include "engine/stream.h"
#include "err/messages.h"

#define NO_POLICY "NO_POLICY"

struct policy_request_body {
    struct str arn;
    struct str policy;
    struct str expected; /* ExpectedRevisionId */
    struct wire_bool confirmed;
};

static const struct shape shape_policy_arn = {.kind = SHAPE_STRING, .min = 1, .max = 1283};
static const struct shape shape_revision = {.kind = SHAPE_STRING, .min = 1, .max = 255};
static const struct field get_policy_fields[] = {
    FIELD_REQUIRED(struct policy_request_body, arn, "ResourceArn", shape_policy_arn),
    FIELD_END,
};
static const struct field delete_policy_fields[] = {
    FIELD_REQUIRED(struct policy_request_body, arn, "ResourceArn", shape_policy_arn),
    FIELD(struct policy_request_body, expected, "ExpectedRevisionId", shape_revision),
    FIELD_END,
};
static const struct field put_policy_fields[] = {
    FIELD_REQUIRED(struct policy_request_body, arn, "ResourceArn", shape_policy_arn),
    FIELD_REQUIRED(struct policy_request_body, policy, "Policy", shape_string),
    FIELD(struct policy_request_body, expected, "ExpectedRevisionId", shape_revision),
    FIELD(struct policy_request_body, confirmed, "ConfirmRemoveSelfResourceAccess", shape_bool),
    FIELD_END,
};

#define POLICY_SHAPE(fields_)                                                                      \
    {                                                                                              \
        .kind = SHAPE_STRUCT, .fields = (fields_), .size = sizeof(struct policy_request_body)      \
    }
static const struct shape shape_get_policy = POLICY_SHAPE(get_policy_fields);
static const struct shape shape_delete_policy = POLICY_SHAPE(delete_policy_fields);
static const struct shape shape_put_policy = POLICY_SHAPE(put_policy_fields);

/* The resource ------------------------------------------------------------------------------ */

/* Checks that the ARN names a table or stream of this account and Region. */
static bool check_arn(struct api_call *call, struct str text, const struct arn *arn)
{
    if (!api_check_resource_arn(call, text, arn->kind)) {
        return false;
    }
    if (!str_eq(arn->region, engine_region(call->engine)) || !str_eq(arn->partition, STR("aws"))) {
        return err_set(&call->err, ERR_VALIDATION, MESSAGE_INVALID "Invalid resource Arn: %.*s",
                       STR_ARG(text));
    }
    return str_eq(arn->account, engine_account(call->engine)) ||
           err_set(&call->err, ERR_VALIDATION,
                   "This action is only supported by accounts that match the resource "
                   "owner\xE2\x80\x99s account.");
}

static bool refuse_missing_table(struct api_call *call, const struct arn *arn)
{
    call->err = ERR_INIT(call->arena);
    return err_set(&call->err, ERR_RESOURCE_NOT_FOUND, MESSAGE_TABLE_NOT_FOUND,
                   STR_ARG(arn->table));
}

static bool check_stream(struct api_call *call, const struct arn *arn)
{
    struct stream_list list;
    engine_list_streams(call->engine, call->arena, arn->table, STR_NULL, SIZE_MAX, &list);
    for (size_t i = 0; i < list.count; i++) {
        if (str_eq(list.streams[i].label, arn->part)) {
            return true;
        }
    }
    return err_set(&call->err, ERR_RESOURCE_NOT_FOUND,
                   "Requested resource not found: Stream: %.*s not found for Table: %.*s",
                   STR_ARG(arn->part), STR_ARG(arn->table));
}

static bool check_request(struct api_call *call, const struct shape *shape,
                          struct policy_request_body *request, struct arn *out)
{
    if (!api_decode(call, shape, request) ||
        !wire_validate(shape, request, WORDING_OLDER, &call->err)) {
        return false;
    }
    *out = arn_parse(request->arn);
    return check_arn(call, request->arn, out) &&
           (out->kind != ARN_STREAM || check_stream(call, out));
}

static bool refuse_no_policy(struct api_call *call, struct str arn)
{
    return err_set(&call->err, ERR_POLICY_NOT_FOUND,
                   "Resource-based policy not found for the provided ResourceArn: %.*s",
                   STR_ARG(arn));
}

/* GetResourcePolicy ------------------------------------------------------------------------- */

void op_get_resource_policy(struct api_call *call)
{
    struct policy_request_body request;
    struct arn arn;
    if (!check_request(call, &shape_get_policy, &request, &arn)) {
        api_finish(call);
        return;
    }
    const struct table *table = api_table(call, arn.table);
    struct resource_policy policy = {STR_NULL, STR_NULL};
    if (table != NULL) {
        policy = resource_policy_get(call->arena, table, &arn);
    }
    if (table == NULL && arn.kind == ARN_TABLE) {
        refuse_missing_table(call, &arn);
    } else if (str_is_null(policy.text)) {
        call->err = ERR_INIT(call->arena); /* the table of a stream may have been deleted */
        refuse_no_policy(call, request.arn);
    } else {
        JSON_PUT(call->out, "{\"Policy\":");
        json_write_string(call->out, policy_document_canonical(call->arena, policy.text));
        JSON_PUT(call->out, ",\"RevisionId\":");
        json_write_string(call->out, policy.revision);
        JSON_PUT(call->out, "}");
    }
    api_finish(call);
}

/* Changes ----------------------------------------------------------------------------------- */

struct policy_change {
    struct api_call *call;
    struct policy_request_body request;
    struct arn arn;
    struct str revision; /* of the deleted or the new policy; STR_NULL: none */
    struct table_change engine;
};

/* Checks ExpectedRevisionId: the policy must have this revision; NO_POLICY: there must be none. */
static bool check_revision(struct policy_change *op, struct resource_policy policy)
{
    struct str expected = op->request.expected;
    struct str table = op->arn.table;
    struct err *err = &op->engine.call.err;
    if (str_is_null(expected)) {
        return true;
    }
    if (str_eq(expected, STR(NO_POLICY))) {
        return str_is_null(policy.text) ||
               err_set(err, ERR_POLICY_NOT_FOUND,
                       "Requested policy update expecting none to be present for table %.*s, but a "
                       "policy exists with revision id %.*s.",
                       STR_ARG(table), STR_ARG(policy.revision));
    }
    if (str_is_null(policy.text)) {
        return err_set(err, ERR_POLICY_NOT_FOUND,
                       "Requested update for policy with revision id %.*s, but table %.*s has no "
                       "associated policy.",
                       STR_ARG(expected), STR_ARG(table));
    }
    return str_eq(expected, policy.revision) ||
           err_set(err, ERR_POLICY_NOT_FOUND,
                   "Requested update for policy with revision id %.*s, but the policy associated "
                   "to target table %.*s has revision id %.*s.",
                   STR_ARG(expected), STR_ARG(table), STR_ARG(policy.revision));
}

/* Returns a copy of the table with another policy. NULL: the error is set. */
static const struct table *with_policy(struct policy_change *op, const struct table *table,
                                       struct resource_policy policy)
{
    struct table *changed = ARENA_NEW(op->call->arena, struct table);
    *changed = *table;
    if (!resource_policy_set(op->call->arena, changed, &op->arn, policy)) {
        err_set(&op->engine.call.err, ERR_VALIDATION,
                MESSAGE_INVALID "A newer stream of the table has been enabled: %.*s",
                STR_ARG(op->request.arn));
        return NULL;
    }
    return changed;
}

static bool is_equivalent(struct arena *arena, struct str a, struct str b)
{
    return str_eq(policy_document_canonical(arena, a), policy_document_canonical(arena, b));
}

static const struct table *put_policy(struct table_change *change, const struct table *table)
{
    struct policy_change *op = CONTAINER_OF(change, struct policy_change, engine);
    struct arena *arena = change->call.arena;
    struct resource_policy policy = resource_policy_get(arena, table, &op->arn);
    if (!check_revision(op, policy)) {
        return NULL;
    }
    if (str_is_null(policy.text) || !is_equivalent(arena, policy.text, op->request.policy)) {
        policy.text = op->request.policy;
        policy.revision = resource_policy_revision(arena, policy.revision);
    }
    op->revision = policy.revision;
    return with_policy(op, table, policy);
}

static const struct table *delete_policy(struct table_change *change, const struct table *table)
{
    struct policy_change *op = CONTAINER_OF(change, struct policy_change, engine);
    struct resource_policy policy = resource_policy_get(change->call.arena, table, &op->arn);
    if (!check_revision(op, policy)) {
        return NULL;
    }
    op->revision = policy.revision;
    return with_policy(op, table, (struct resource_policy){STR_NULL, STR_NULL});
}

static void change_done(struct engine_call *engine_call)
{
    struct policy_change *op = CONTAINER_OF(engine_call, struct policy_change, engine.call);
    struct api_call *call = op->call;
    call->err = engine_call->err;
    if (call->err.code == ERR_RESOURCE_NOT_FOUND) {
        refuse_missing_table(call, &op->arn);
    }
    table_release(op->engine.table);
    if (call->err.code == ERR_NONE) {
        api_begin(call);
        if (!str_is_null(op->revision)) {
            api_member(call, STR("RevisionId"));
            json_write_string(call->out, op->revision);
        }
        api_end(call);
    }
    api_finish(call);
}

static void start_change(struct policy_change *op,
                         const struct table *(*change)(struct table_change *change,
                                                       const struct table *table))
{
    op->engine = (struct table_change){
        .call = api_engine_call(op->call, change_done),
        .name = op->arn.table,
        .change = change,
    };
    engine_change_table(&op->engine);
}

void op_delete_resource_policy(struct api_call *call)
{
    struct policy_change *op = ARENA_NEW(call->arena, struct policy_change);
    op->call = call;
    if (!check_request(call, &shape_delete_policy, &op->request, &op->arn)) {
        api_finish(call);
        return;
    }
    start_change(op, delete_policy);
}

/* Whether the caller may still put a policy under the new one, or confirms that it need not. */
static bool check_access(struct policy_change *op)
{
    struct api_call *call = op->call;
    return op->request.confirmed.value ||
           authorize_allows_under(call, "dynamodb:PutResourcePolicy", &op->arn,
                                  op->request.policy) ||
           err_set(&call->err, ERR_ACCESS_DENIED,
                   "The new resource policy will not allow you to update the resource policy in "
                   "the future.");
}

void op_put_resource_policy(struct api_call *call)
{
    struct policy_change *op = ARENA_NEW(call->arena, struct policy_change);
    op->call = call;
    if (!check_request(call, &shape_put_policy, &op->request, &op->arn) ||
        !resource_policy_check(call, op->arn.kind, op->request.policy) || !check_access(op)) {
        api_finish(call);
        return;
    }
    start_change(op, put_policy);
}
