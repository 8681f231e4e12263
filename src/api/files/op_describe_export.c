/* DescribeExport and ListExports. Called by dispatch.c on the thread of the request. */
#include "api/files/export_request.h"
#include "base/hex.h"
#include "err/messages.h"

enum { EXPORTS_PER_PAGE = 10 };

/* --- DescribeExport --- */

struct describe_export_request {
    struct str arn;
};

static const struct shape shape_export_arn = {.kind = SHAPE_STRING, .min = 37, .max = 1024};
static const struct field describe_export_fields[] = {
    FIELD_REQUIRED(struct describe_export_request, arn, "ExportArn", shape_export_arn),
    FIELD_END,
};
static const struct shape shape_describe_export = {
    .kind = SHAPE_STRUCT,
    .fields = describe_export_fields,
    .size = sizeof(struct describe_export_request),
};

struct describe_export {
    struct api_call *call;
    struct str arn;
    struct export_get engine;
};

static void describe_done(struct engine_call *engine_call)
{
    struct describe_export *op = CONTAINER_OF(engine_call, struct describe_export, engine.call);
    op->call->err = engine_call->err;
    if (engine_call->err.code == ERR_EXPORT_NOT_FOUND) { /* with the ARN as it was sent */
        op->call->err = ERR_INIT(op->call->arena);
        err_set(&op->call->err, ERR_EXPORT_NOT_FOUND, MESSAGE_EXPORT_NOT_FOUND, STR_ARG(op->arn));
    }
    if (engine_call->err.code == ERR_NONE) {
        export_request_describe(op->call, op->engine.row_name, &op->engine.export);
    }
    api_finish(op->call);
}

void op_describe_export(struct api_call *call)
{
    struct describe_export *op = ARENA_NEW(call->arena, struct describe_export);
    struct describe_export_request request;
    op->call = call;
    if (!api_decode(call, &shape_describe_export, &request) ||
        !wire_validate(&shape_describe_export, &request, WORDING_OLDER, &call->err) ||
        !export_request_row(call, request.arn, &op->engine.row_name)) {
        api_finish(call);
        return;
    }
    op->arn = request.arn;
    op->engine.call = api_engine_call(call, describe_done);
    engine_get_export(&op->engine);
}

/* --- ListExports --- */

struct list_exports_request {
    struct str table_arn;
    struct wire_int limit;
    struct str next_token;
};

static const struct shape shape_page_limit = {.kind = SHAPE_INTEGER, .min = 1, .max = 25};
static const struct shape shape_resource_arn = {.kind = SHAPE_STRING, .min = 1, .max = 1024};
static const struct field list_exports_fields[] = {
    FIELD(struct list_exports_request, table_arn, "TableArn", shape_resource_arn),
    FIELD(struct list_exports_request, limit, "MaxResults", shape_page_limit),
    FIELD(struct list_exports_request, next_token, "NextToken", shape_string),
    FIELD_END,
};
static const struct shape shape_list_exports = {
    .kind = SHAPE_STRUCT,
    .fields = list_exports_fields,
    .size = sizeof(struct list_exports_request),
};

struct list_exports {
    struct api_call *call;
    struct list_exports_request request;
    struct export_list engine;
};

/* A token is the name of the last row of a page, in hexadecimal. */
static void write_token(struct buf *out, struct str row_name)
{
    buf_add_char(out, '"');
    hex_encode(row_name, buf_reserve(out, 2 * row_name.len));
    buf_added(out, 2 * row_name.len);
    buf_add_char(out, '"');
}

static bool read_token(struct api_call *call, struct str token, struct str *out)
{
    char *bytes = arena_bytes(call->arena, token.len / 2 + 1);
    bool good = token.len / 2 > BACKUP_ID_LEN && hex_decode(token, bytes);
    *out = str_make(bytes, token.len / 2);
    return (good && bytes[BACKUP_ID_LEN] == '/') ||
           err_set(&call->err, ERR_VALIDATION, MESSAGE_LIST_TOKEN, STR_ARG(token));
}

static void write_list(struct list_exports *op)
{
    struct api_call *call = op->call;
    const struct export_list *list = &op->engine;
    api_begin(call);
    api_member(call, STR("ExportSummaries"));
    buf_add_char(call->out, '[');
    for (size_t i = 0; i < list->count; i++) {
        buf_add(call->out, i > 0 ? STR(",") : STR(""));
        export_request_summary(call, list->entries[i].row_name, &list->entries[i].export);
    }
    buf_add_char(call->out, ']');
    if (list->more) {
        api_member(call, STR("NextToken"));
        write_token(call->out, list->entries[list->count - 1].row_name);
    }
    api_end(call);
}

static void list_done(struct engine_call *engine_call)
{
    struct list_exports *op = CONTAINER_OF(engine_call, struct list_exports, engine.call);
    op->call->err = engine_call->err;
    if (engine_call->err.code == ERR_NONE) {
        write_list(op);
    }
    api_finish(op->call);
}

/* The table of TableArn. *out_found false: there is none, so the list is empty. */
static bool find_table(struct list_exports *op, bool *out_found)
{
    struct api_call *call = op->call;
    struct str text = op->request.table_arn;
    *out_found = true;
    if (str_is_null(text)) {
        return true;
    }
    struct arn arn = arn_parse(text);
    if (arn.kind != ARN_TABLE) {
        return err_set(&call->err, ERR_VALIDATION, MESSAGE_TABLE_ARN);
    }
    const struct table *table = api_table(call, arn.table);
    *out_found = table != NULL && str_eq(arn.region, engine_region(call->engine)) &&
                 str_eq(arn.account, engine_account(call->engine));
    call->err = ERR_INIT(call->arena);
    if (*out_found) {
        op->engine.table_name = arn.table;
        op->engine.table_id = table->id;
    }
    return true;
}

void op_list_exports(struct api_call *call)
{
    struct list_exports *op = ARENA_NEW(call->arena, struct list_exports);
    struct list_exports_request *request = &op->request;
    struct str before = STR_NULL;
    bool found;
    op->call = call;
    if (!api_decode(call, &shape_list_exports, request) ||
        !wire_validate(&shape_list_exports, request, WORDING_OLDER, &call->err) ||
        !find_table(op, &found) ||
        (!str_is_null(request->next_token) && !read_token(call, request->next_token, &before))) {
        api_finish(call);
        return;
    }
    if (!found) {
        JSON_PUT(call->out, "{\"ExportSummaries\":[]}");
        api_finish(call);
        return;
    }
    op->engine.call = api_engine_call(call, list_done);
    op->engine.before = before;
    op->engine.limit = request->limit.given ? (size_t)request->limit.value : EXPORTS_PER_PAGE;
    engine_list_exports(&op->engine);
}
