/* GetResourcePolicy. Policies cannot be put yet, so no table or stream has one. Called by
 * dispatch.c on the thread of the request. */
#include "api/api_internal.h"
#include "api/arn.h"
#include "engine/stream.h"
#include "err/messages.h"

struct get_policy_request {
    struct str arn;
};

static const struct shape shape_policy_arn = {.kind = SHAPE_STRING, .min = 1, .max = 1283};
static const struct field get_policy_fields[] = {
    FIELD_REQUIRED(struct get_policy_request, arn, "ResourceArn", shape_policy_arn),
    FIELD_END,
};
static const struct shape shape_get_policy = {
    .kind = SHAPE_STRUCT,
    .fields = get_policy_fields,
    .size = sizeof(struct get_policy_request),
};

static bool refuse_arn(struct api_call *call, const char *problem, struct str arn)
{
    return err_set(&call->err, ERR_VALIDATION,
                   "One or more parameter values were invalid: %s: %.*s", problem, STR_ARG(arn));
}

/* Whether it names a table or stream of this account and Region. */
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

static bool check_table(struct api_call *call, const struct arn *arn)
{
    if (api_table(call, arn->table) != NULL) {
        return true;
    }
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

void op_get_resource_policy(struct api_call *call)
{
    struct get_policy_request request;
    if (wire_decode(call->arena, &shape_get_policy, call->body, &request, &call->err) &&
        wire_validate(&shape_get_policy, &request, WORDING_OLDER, &call->err)) {
        struct arn arn = arn_parse(request.arn);
        if (check_arn(call, request.arn, &arn) &&
            (arn.kind == ARN_STREAM ? check_stream(call, &arn) : check_table(call, &arn))) {
            err_set(&call->err, ERR_POLICY_NOT_FOUND,
                    "Resource-based policy not found for the provided ResourceArn: %.*s",
                    STR_ARG(request.arn));
        }
    }
    api_finish(call);
}
