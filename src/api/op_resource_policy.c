/* PutResourcePolicy, GetResourcePolicy and DeleteResourcePolicy: policies of tables. The policy is
 * part of the table's description in the catalog. Called by dispatch.c on the thread of the
 * call. */
#include "api/api_internal.h"
#include "api/arn.h"
#include "base/clock.h"
#include "engine/stream.h"

#define INVALID         "One or more parameter values were invalid: "
#define INVALID_POLICY  INVALID "Invalid policy document: "
#define NO_POLICY       "NO_POLICY"
#define POLICY_NOT_HERE "Resource-based policy not found for the provided ResourceArn: %.*s"

enum { POLICY_BYTES_MAX = 20 * 1024 };

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

static bool refuse_arn(struct api_call *call, const char *problem, struct str arn)
{
    return err_set(&call->err, ERR_VALIDATION, INVALID "%s: %.*s", problem, STR_ARG(arn));
}

/* Checks that the ARN names a table or stream of this account and Region. */
static bool check_arn(struct api_call *call, struct str text, const struct arn *arn)
{
    if (arn->kind == ARN_NONE) {
        return refuse_arn(call, "ARNs must start with 'arn:'", text);
    }
    if (arn->kind == ARN_OTHER) {
        return refuse_arn(call, "Provided Arn is not a DynamoDB resource arn", text);
    }
    if (arn->kind == ARN_INDEX) {
        return refuse_arn(call,
                          "Invalid resource arn provided, only table or stream is accepted. "
                          "Provided resource arn",
                          text);
    }
    if (!str_eq(arn->region, engine_region(call->engine)) || !str_eq(arn->partition, STR("aws"))) {
        return refuse_arn(call, "Invalid resource Arn", text);
    }
    return str_eq(arn->account, engine_account(call->engine)) ||
           err_set(&call->err, ERR_VALIDATION,
                   "This action is only supported by accounts that match the resource "
                   "owner\xE2\x80\x99s account.");
}

static bool refuse_missing_table(struct api_call *call, const struct arn *arn)
{
    call->err = ERR_INIT(call->arena);
    return err_set(&call->err, ERR_RESOURCE_NOT_FOUND,
                   "Requested resource not found: Table: %.*s not found", STR_ARG(arn->table));
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
    return err_set(&call->err, ERR_POLICY_NOT_FOUND, POLICY_NOT_HERE, STR_ARG(arn));
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
    const struct table *table = arn.kind == ARN_TABLE ? api_table(call, arn.table) : NULL;
    if (arn.kind == ARN_TABLE && table == NULL) {
        refuse_missing_table(call, &arn);
    } else if (table == NULL || str_is_null(table->policy)) {
        refuse_no_policy(call, request.arn);
    } else {
        JSON_PUT(call->out, "{\"Policy\":");
        json_write_string(call->out, table->policy);
        JSON_PUT(call->out, ",\"RevisionId\":");
        json_write_string(call->out, table->policy_revision);
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

/* Checks ExpectedRevisionId: the table's policy must have this revision; NO_POLICY: the table must
 * have no policy. */
static bool check_revision(struct policy_change *op, const struct table *table)
{
    struct str expected = op->request.expected;
    if (str_is_null(expected)) {
        return true;
    }
    bool fits = str_eq(expected, STR(NO_POLICY)) ? str_is_null(table->policy)
                                                 : str_eq(expected, table->policy_revision);
    return fits || err_set(&op->engine.call.err, ERR_POLICY_NOT_FOUND, POLICY_NOT_HERE,
                           STR_ARG(op->request.arn));
}

/* Returns a new revision id: milliseconds since 1970, greater than the previous one. */
static struct str next_revision(struct arena *arena, const struct table *table)
{
    int64_t before = 0;
    if (!str_is_null(table->policy_revision) && !str_to_int64(table->policy_revision, &before)) {
        before = 0;
    }
    return arena_format(arena, "%lld", (long long)MAX(clock_wall_ms(), before + 1));
}

static const struct table *put_policy(struct table_change *change, const struct table *table)
{
    struct policy_change *op = CONTAINER_OF(change, struct policy_change, engine);
    if (!check_revision(op, table)) {
        return NULL;
    }
    struct table *changed = ARENA_NEW(change->call.arena, struct table);
    *changed = *table;
    bool is_same = !str_is_null(table->policy) && str_eq(table->policy, op->request.policy);
    if (!is_same) {
        changed->policy = op->request.policy;
        changed->policy_revision = next_revision(change->call.arena, table);
    }
    op->revision = changed->policy_revision;
    return changed;
}

static const struct table *delete_policy(struct table_change *change, const struct table *table)
{
    struct policy_change *op = CONTAINER_OF(change, struct policy_change, engine);
    if (!check_revision(op, table)) {
        return NULL;
    }
    struct table *changed = ARENA_NEW(change->call.arena, struct table);
    *changed = *table;
    op->revision = table->policy_revision;
    changed->policy = changed->policy_revision = STR_NULL;
    return changed;
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

/* Streams cannot have a policy yet. */
static bool check_is_table(struct policy_change *op)
{
    return op->arn.kind == ARN_TABLE ||
           err_set(&op->call->err, ERR_VALIDATION,
                   INVALID "Resource-based policies of streams are not supported: %.*s",
                   STR_ARG(op->request.arn));
}

void op_delete_resource_policy(struct api_call *call)
{
    struct policy_change *op = ARENA_NEW(call->arena, struct policy_change);
    op->call = call;
    if (!check_request(call, &shape_delete_policy, &op->request, &op->arn) || !check_is_table(op)) {
        api_finish(call);
        return;
    }
    start_change(op, delete_policy);
}

/* Returns whether a table's policy may have the action. Actions with wildcards are not checked. */
static bool is_table_action(struct str action)
{
    static const char *const names[] = {"BatchGetItem",
                                        "BatchWriteItem",
                                        "ConditionCheckItem",
                                        "CreateBackup",
                                        "DeleteItem",
                                        "DeleteResourcePolicy",
                                        "DeleteTable",
                                        "DescribeContinuousBackups",
                                        "DescribeContributorInsights",
                                        "DescribeKinesisStreamingDestination",
                                        "DescribeTable",
                                        "DescribeTimeToLive",
                                        "DisableKinesisStreamingDestination",
                                        "EnableKinesisStreamingDestination",
                                        "ExportTableToPointInTime",
                                        "GetItem",
                                        "GetResourcePolicy",
                                        "ListTagsOfResource",
                                        "PartiQLDelete",
                                        "PartiQLInsert",
                                        "PartiQLSelect",
                                        "PartiQLUpdate",
                                        "PutItem",
                                        "PutResourcePolicy",
                                        "Query",
                                        "RestoreTableToPointInTime",
                                        "Scan",
                                        "TagResource",
                                        "UntagResource",
                                        "UpdateContinuousBackups",
                                        "UpdateContributorInsights",
                                        "UpdateItem",
                                        "UpdateKinesisStreamingDestination",
                                        "UpdateTable",
                                        "UpdateTimeToLive"};
    static const struct str prefix = {"dynamodb:", 9};
    if (memchr(action.data, '*', action.len) != NULL ||
        memchr(action.data, '?', action.len) != NULL) {
        return true;
    }
    if (action.len <= prefix.len || !str_eq_nocase(str_make(action.data, prefix.len), prefix)) {
        return false;
    }
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        if (str_eq_nocase(str_skip(action, prefix.len), str_from_c(names[i]))) {
            return true;
        }
    }
    return false;
}

static bool visit_action(void *context, struct str action)
{
    struct err *err = context;
    return is_table_action(action) ||
           err_set(err, ERR_VALIDATION,
                   INVALID_POLICY "The following action names are invalid: \"%.*s\"",
                   STR_ARG(action));
}

static bool check_document(struct api_call *call, struct str document)
{
    struct policy *policy = NULL;
    struct err problem = ERR_INIT(call->arena);
    if (document.len > POLICY_BYTES_MAX) {
        return err_set(&call->err, ERR_VALIDATION,
                       INVALID "Resource policy size exceeds the maximum of %d bytes",
                       POLICY_BYTES_MAX);
    }
    if (!policy_parse(document, POLICY_RESOURCE, &policy, &problem)) {
        return err_set(&call->err, ERR_VALIDATION, INVALID_POLICY "%.*s", STR_ARG(problem.message));
    }
    bool good = policy_each_action(policy, visit_action, &call->err);
    policy_destroy(policy);
    return good;
}

void op_put_resource_policy(struct api_call *call)
{
    struct policy_change *op = ARENA_NEW(call->arena, struct policy_change);
    op->call = call;
    if (!check_request(call, &shape_put_policy, &op->request, &op->arn) || !check_is_table(op) ||
        !check_document(call, op->request.policy)) {
        api_finish(call);
        return;
    }
    start_change(op, put_policy);
}
