/* ListExports and ListImports. Tables cannot be exported or imported, so the lists are empty.
 * Called by dispatch.c on the thread of the call. */
#include "api/api_internal.h"
#include "api/arn.h"

struct list_request {
    struct str table_arn;
    struct wire_int limit;
    struct str next_token;
};

static const struct shape shape_page_limit = {.kind = SHAPE_INTEGER, .min = 1, .max = 25};
static const struct shape shape_resource_arn = {.kind = SHAPE_STRING, .min = 1, .max = 1024};

/* Returns whether the text consists of groups of 16 hexadecimal digits. */
static bool is_token(struct str text)
{
    for (size_t i = 0; i < text.len; i++) {
        char c = text.data[i];
        if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'))) {
            return false;
        }
    }
    return text.len > 0 && text.len % 16 == 0;
}

static const struct shape shape_import_token = {
    .kind = SHAPE_STRING,
    .min = 112,
    .max = 1024,
    .matches = is_token,
    .pattern = "([0-9a-f]{16})+",
};
static const struct field list_exports_fields[] = {
    FIELD(struct list_request, table_arn, "TableArn", shape_resource_arn),
    FIELD(struct list_request, limit, "MaxResults", shape_page_limit),
    FIELD(struct list_request, next_token, "NextToken", shape_string),
    FIELD_END,
};
static const struct shape shape_list_exports = {
    .kind = SHAPE_STRUCT,
    .fields = list_exports_fields,
    .size = sizeof(struct list_request),
};
static const struct field list_imports_fields[] = {
    FIELD(struct list_request, table_arn, "TableArn", shape_resource_arn),
    FIELD(struct list_request, limit, "PageSize", shape_page_limit),
    FIELD(struct list_request, next_token, "NextToken", shape_import_token),
    FIELD_END,
};
static const struct shape shape_list_imports = {
    .kind = SHAPE_STRUCT,
    .fields = list_imports_fields,
    .size = sizeof(struct list_request),
};

/* Checks a request. Any NextToken is invalid, because no response has one. */
static bool check_request(struct api_call *call, const struct shape *shape)
{
    struct list_request request;
    struct err *err = &call->err;
    if (!api_decode(call, shape, &request) || !wire_validate(shape, &request, WORDING_OLDER, err)) {
        return false;
    }
    if (!str_is_null(request.table_arn) && arn_parse(request.table_arn).kind != ARN_TABLE) {
        return err_set(err, ERR_VALIDATION,
                       "One or more parameter values were invalid: tableArn is not a valid ARN");
    }
    return str_is_null(request.next_token) ||
           err_set(err, ERR_VALIDATION, "Invalid Request: Provided nextToken is invalid: %.*s",
                   STR_ARG(request.next_token));
}

void op_list_exports(struct api_call *call)
{
    if (check_request(call, &shape_list_exports)) {
        JSON_PUT(call->out, "{\"ExportSummaries\":[]}");
    }
    api_finish(call);
}

void op_list_imports(struct api_call *call)
{
    if (check_request(call, &shape_list_imports)) {
        JSON_PUT(call->out, "{\"ImportSummaryList\":[]}");
    }
    api_finish(call);
}
