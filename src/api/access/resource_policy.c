/* Finds, sets and checks the policies of tables and streams. Called by op_resource_policy.c,
 * op_create_table.c and authorize.c on the thread of the call; keeps no state. */
#include "api/access/resource_policy.h"

#include "api/access/policy_document.h"
#include "base/clock.h"
#include "engine/stream.h"
#include "err/messages.h"

enum { POLICY_BYTES_MAX = 20 * 1024 };

static bool is_newest_stream(struct arena *arena, const struct table *table, const struct arn *arn)
{
    return table->stream_since_ms != 0 &&
           str_eq(stream_label(arena, table->stream_since_ms), arn->part);
}

struct resource_policy resource_policy_get(struct arena *arena, const struct table *table,
                                           const struct arn *arn)
{
    if (arn->kind == ARN_TABLE) {
        return (struct resource_policy){table->policy, table->policy_revision};
    }
    bool is_set = !str_is_null(table->stream_policy) &&
                  table->stream_policy_since_ms == table->stream_since_ms &&
                  is_newest_stream(arena, table, arn);
    return is_set ? (struct resource_policy){table->stream_policy, table->stream_policy_revision}
                  : (struct resource_policy){STR_NULL, STR_NULL};
}

bool resource_policy_set(struct arena *arena, struct table *table, const struct arn *arn,
                         struct resource_policy policy)
{
    if (arn->kind == ARN_TABLE) {
        table->policy = policy.text;
        table->policy_revision = policy.revision;
        return true;
    }
    if (!is_newest_stream(arena, table, arn)) {
        return false;
    }
    table->stream_policy = policy.text;
    table->stream_policy_revision = policy.revision;
    table->stream_policy_since_ms = str_is_null(policy.text) ? 0 : table->stream_since_ms;
    return true;
}

/* The id is the time in milliseconds since 1970, but greater than the previous id. */
struct str resource_policy_revision(struct arena *arena, struct str before)
{
    int64_t last = 0;
    if (!str_is_null(before) && !str_to_int64(before, &last)) {
        last = 0;
    }
    return arena_format(arena, "%lld", (long long)MAX(clock_wall_ms(), last + 1));
}

/* Checks ------------------------------------------------------------------------------------ */

static const char *const table_actions[] = {
    "BatchGetItem",
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
    "UpdateTimeToLive",
    NULL,
};
static const char *const stream_actions[] = {
    "DeleteResourcePolicy", "DescribeStream",    "GetRecords", "GetResourcePolicy",
    "GetShardIterator",     "PutResourcePolicy", NULL,
};

/* Returns whether the action is among `names`. Actions with wildcards are not checked. */
static bool is_good_action(const char *const *names, struct str action)
{
    static const struct str prefix = {"dynamodb:", 9};
    if (memchr(action.data, '*', action.len) != NULL ||
        memchr(action.data, '?', action.len) != NULL) {
        return true;
    }
    if (action.len <= prefix.len || !str_eq_nocase(str_make(action.data, prefix.len), prefix)) {
        return false;
    }
    for (; *names != NULL; names++) {
        if (str_eq_nocase(str_skip(action, prefix.len), str_from_c(*names))) {
            return true;
        }
    }
    return false;
}

struct action_check {
    const char *const *names;
    struct err *err;
};

static bool visit_action(void *context, struct str action)
{
    const struct action_check *check = context;
    return is_good_action(check->names, action) ||
           err_set(check->err, ERR_VALIDATION,
                   POLICY_DOCUMENT_INVALID "The following action names are invalid: \"%.*s\"",
                   STR_ARG(action));
}

bool resource_policy_check(struct api_call *call, enum arn_kind kind, struct str document)
{
    struct policy *policy = NULL;
    struct err problem = ERR_INIT(call->arena);
    if (document.len > POLICY_BYTES_MAX) {
        return err_set(&call->err, ERR_VALIDATION,
                       MESSAGE_INVALID "Maximum policy size of %d bytes exceeded",
                       POLICY_BYTES_MAX);
    }
    if (!policy_document_check(call->arena, document, &call->err)) {
        return false;
    }
    if (!policy_parse(document, POLICY_RESOURCE, &policy, &problem)) {
        return err_set(&call->err, ERR_VALIDATION, POLICY_DOCUMENT_INVALID "%.*s",
                       STR_ARG(problem.message));
    }
    struct action_check check = {kind == ARN_STREAM ? stream_actions : table_actions, &call->err};
    bool good =
        policy_each_action(policy, visit_action, &check) &&
        (!policy_is_unbounded(policy) ||
         err_set(&call->err, ERR_VALIDATION,
                 "Resource-based policy grants unbounded access in one or more elements. Please "
                 "revise the policy to ensure least-privilege form of access"));
    policy_destroy(policy);
    return good;
}
