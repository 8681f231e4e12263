/* ExportTableToPointInTime: checks a request, looks whether its client token was used, and makes
 * the export, which src/transfer carries out. Called by dispatch.c on the thread of the request. */
#include "api/backups/backup_request.h"
#include "api/files/export_request.h"
#include "api/files/load_request.h"
#include "base/hash.h"
#include "base/random.h"
#include "err/messages.h"

struct incremental_request {
    struct wire_int from_ms;
    struct wire_int to_ms;
    struct wire_enum view;
};

struct export_table_request {
    struct str table_arn;
    struct wire_int time_ms;
    struct str token;
    struct str bucket;
    struct str owner;
    struct str prefix;
    struct wire_enum sse;
    struct str sse_key_id;
    struct wire_enum format;
    struct wire_enum type;
    struct incremental_request *incremental;
    struct wire_map filter; /* its members are not known */
};

/* --- what a request may hold --- */

static const struct shape shape_table_arn = {.kind = SHAPE_STRING, .max = 1024};
static const struct shape shape_key_id = {.kind = SHAPE_STRING, .min = 1, .max = 2048};
enum { SSE_AES256, SSE_KMS };
static const struct shape shape_sse_algorithm = {
    .kind = SHAPE_ENUM, .values = (const char *const[]){"AES256", "KMS", NULL}};
static const struct shape shape_format = {
    .kind = SHAPE_ENUM, .values = (const char *const[]){"DYNAMODB_JSON", "ION", NULL}};
enum { TYPE_FULL, TYPE_INCREMENTAL };
static const struct shape shape_type = {
    .kind = SHAPE_ENUM,
    .values = (const char *const[]){"FULL_EXPORT", "INCREMENTAL_EXPORT", NULL},
};
static const struct shape shape_view = {
    .kind = SHAPE_ENUM,
    .values = (const char *const[]){"NEW_IMAGE", "NEW_AND_OLD_IMAGES", NULL},
};
static const struct field incremental_fields[] = {
    FIELD(struct incremental_request, from_ms, "ExportFromTime", shape_timestamp),
    FIELD(struct incremental_request, to_ms, "ExportToTime", shape_timestamp),
    FIELD(struct incremental_request, view, "ExportViewType", shape_view),
    FIELD_END,
};
static const struct shape shape_incremental = {
    .kind = SHAPE_STRUCT,
    .java = "IncrementalExportSpecification",
    .fields = incremental_fields,
    .size = sizeof(struct incremental_request),
};
static const struct shape shape_filter_member = {.kind = SHAPE_ANY};
static const struct shape shape_filter = {
    .kind = SHAPE_MAP,
    .java = "FilterSpecification",
    .element = &shape_filter_member,
};
static const struct field export_table_fields[] = {
    FIELD_REQUIRED(struct export_table_request, table_arn, "TableArn", shape_table_arn),
    FIELD(struct export_table_request, time_ms, "ExportTime", shape_timestamp),
    FIELD(struct export_table_request, token, "ClientToken", shape_client_token),
    FIELD_REQUIRED(struct export_table_request, bucket, "S3Bucket", shape_bucket),
    FIELD(struct export_table_request, owner, "S3BucketOwner", shape_bucket_owner),
    FIELD(struct export_table_request, prefix, "S3Prefix", shape_bucket_prefix),
    FIELD(struct export_table_request, sse, "S3SseAlgorithm", shape_sse_algorithm),
    FIELD(struct export_table_request, sse_key_id, "S3SseKmsKeyId", shape_key_id),
    FIELD(struct export_table_request, format, "ExportFormat", shape_format),
    FIELD(struct export_table_request, type, "ExportType", shape_type),
    FIELD(struct export_table_request, incremental, "IncrementalExportSpecification",
          shape_incremental),
    FIELD(struct export_table_request, filter, "FilterSpecification", shape_filter),
    FIELD_END,
};
static const struct shape shape_export_table = {
    .kind = SHAPE_STRUCT,
    .fields = export_table_fields,
    .size = sizeof(struct export_table_request),
};

/* --- checks --- */

/* Whether ExportType and IncrementalExportSpecification fit each other. */
static bool check_type(struct api_call *call, const struct export_table_request *request)
{
    struct err *err = &call->err;
    bool is_given = !str_is_null(request->type.text);
    bool has_specification = request->incremental != NULL;
    if (!is_given && has_specification) {
        return err_set(err, ERR_VALIDATION,
                       MESSAGE_INVALID_REQUEST "Export Type expected to be Incremental Export when "
                                               "incremental export specification is provided");
    }
    if (is_given && request->type.value == TYPE_FULL && has_specification) {
        return err_set(err, ERR_VALIDATION,
                       MESSAGE_INVALID_REQUEST
                       "When Export Type is Full Export , Incremental Export "
                       "Specification should not be provided");
    }
    if (is_given && request->type.value == TYPE_INCREMENTAL && !has_specification) {
        return err_set(err, ERR_VALIDATION,
                       MESSAGE_INVALID_REQUEST
                       "Incremental Export Specification expected when export "
                       "type is set as Incremental Export");
    }
    return !has_specification || request->incremental->from_ms.given ||
           err_set(err, ERR_VALIDATION,
                   MESSAGE_INVALID_REQUEST
                   "ExportFromTime must be provided in IncrementalExportSpecification");
}

static bool check_encryption(struct api_call *call, const struct export_table_request *request)
{
    bool is_kms = !str_is_null(request->sse.text) && request->sse.value == SSE_KMS;
    return str_is_null(request->sse_key_id) || is_kms ||
           err_set(&call->err, ERR_VALIDATION,
                   MESSAGE_INVALID_REQUEST "KMS Key Id is not supported for this encryption type");
}

/* Filters are refused: an export that ignored its filter would contain items that the client has
 * excluded. */
static bool check_filter(struct api_call *call, const struct export_table_request *request)
{
    if (!request->filter.given) {
        return true;
    }
    return err_set(&call->err, ERR_VALIDATION,
                   MESSAGE_INVALID_REQUEST "Invalid FilterSpecification: %s",
                   request->filter.count == 0 ? "The specification can not be empty"
                                              : "Exports with a filter are not supported");
}

/* The table is of this account and Region. */
static bool check_owner(struct api_call *call, const struct arn *arn, struct str text)
{
    if (!str_eq(arn->account, engine_account(call->engine)) ||
        !str_eq(arn->partition, STR("aws"))) {
        return err_set(&call->err, ERR_ACCESS_DENIED, MESSAGE_ACCESS_DENIED);
    }
    return str_eq(arn->region, engine_region(call->engine)) ||
           err_set(&call->err, ERR_TABLE_NOT_FOUND, MESSAGE_BACKUP_TABLE_NOT_FOUND, STR_ARG(text));
}

/* --- the export --- */

struct export_table {
    struct api_call *call;
    struct export_table_request request;
    struct str table_name;
    struct export_find find;
    struct export_get get;
    struct export_create create;
};

static void find_token(struct export_table *op, bool of_any_age);

static void finish(struct export_table *op, const struct err *err)
{
    op->call->err = *err;
    api_finish(op->call);
}

/* The hash of all parameters but the token. */
static uint64_t request_hash(struct arena *arena, const struct export_table_request *request)
{
    const struct incremental_request none = {0};
    const struct incremental_request *incremental =
        request->incremental != NULL ? request->incremental : &none;
    struct str text = arena_format(
        arena, "%.*s|%lld|%.*s|%.*s|%d%.*s|%.*s|%.*s|%.*s|%.*s|%lld|%lld|%.*s",
        STR_ARG(request->table_arn), (long long)request->time_ms.value, STR_ARG(request->bucket),
        STR_ARG(request->owner), !str_is_null(request->prefix), STR_ARG(request->prefix),
        STR_ARG(request->sse.text), STR_ARG(request->sse_key_id), STR_ARG(request->format.text),
        STR_ARG(request->type.text), (long long)incremental->from_ms.value,
        (long long)incremental->to_ms.value, STR_ARG(incremental->view.text));
    return hash_64(text);
}

/* For the engine 0 means that no time is given, so 1970 becomes 1 ms later; both are refused. */
static int64_t time_of(const struct wire_int *time)
{
    return time->given && time->value == 0 ? 1 : time->value;
}

static struct export wanted_export(const struct export_table_request *request)
{
    const struct incremental_request *incremental = request->incremental;
    bool has_view = incremental != NULL && !str_is_null(incremental->view.text);
    return (struct export){
        .format = (enum export_format)request->format.value,
        .is_incremental = incremental != NULL,
        .is_type_given = !str_is_null(request->type.text),
        .view = has_view ? (enum export_view)incremental->view.value : EXPORT_NEW_AND_OLD_IMAGES,
        .sse_kms = !str_is_null(request->sse.text) && request->sse.value == SSE_KMS,
        .time_ms = time_of(incremental != NULL ? &incremental->from_ms : &request->time_ms),
        .to_ms = incremental != NULL ? time_of(&incremental->to_ms) : 0,
        .token = request->token,
        .bucket = request->bucket,
        .owner = request->owner,
        .prefix = request->prefix,
        .sse_key_id = request->sse_key_id,
    };
}

static void create_done(struct engine_call *engine_call)
{
    struct export_table *op = CONTAINER_OF(engine_call, struct export_table, create.change.call);
    struct err err = engine_call->err;
    if (err.code == ERR_EXPORT_CONFLICT) { /* another request with the token came first */
        find_token(op, true);
        return;
    }
    if (err.code == ERR_RESOURCE_NOT_FOUND) {
        err = ERR_INIT(op->call->arena);
        err_set(&err, ERR_TABLE_NOT_FOUND, MESSAGE_BACKUP_TABLE_NOT_FOUND,
                STR_ARG(op->request.table_arn));
    }
    if (err.code == ERR_NONE) {
        export_request_describe(op->call, op->create.row_name, &op->create.made);
    }
    finish(op, &err);
}

static void create(struct export_table *op)
{
    struct api_call *call = op->call;
    const struct export_table_request *request = &op->request;
    op->create = (struct export_create){
        .change = {.call = api_engine_call(call, create_done), .name = op->table_name},
        .export = wanted_export(request),
        .request_hash = request_hash(call->arena, request),
    };
    engine_create_export(&op->create);
}

/* --- tokens --- */

/* The token's export was found. */
static void get_done(struct engine_call *engine_call)
{
    struct export_table *op = CONTAINER_OF(engine_call, struct export_table, get.call);
    if (engine_call->err.code == ERR_NONE) {
        export_request_describe(op->call, op->get.row_name, &op->get.export);
    }
    finish(op, &engine_call->err);
}

static void find_done(struct engine_call *engine_call)
{
    struct export_table *op = CONTAINER_OF(engine_call, struct export_table, find.call);
    struct api_call *call = op->call;
    struct err err = engine_call->err;
    if (err.code == ERR_NONE && str_is_null(op->find.row_name)) {
        create(op);
        return;
    }
    if (err.code == ERR_NONE && op->find.request_hash != request_hash(call->arena, &op->request)) {
        err_set(&err, ERR_EXPORT_CONFLICT, MESSAGE_EXPORT_CONFLICT);
    }
    if (err.code != ERR_NONE) {
        finish(op, &err);
        return;
    }
    op->get =
        (struct export_get){.call = api_engine_call(call, get_done), .row_name = op->find.row_name};
    engine_get_export(&op->get);
}

/* `of_any_age`: it is known to be in use. */
static void find_token(struct export_table *op, bool of_any_age)
{
    op->find = (struct export_find){.call = api_engine_call(op->call, find_done),
                                    .token = op->request.token,
                                    .of_any_age = of_any_age};
    engine_find_export(&op->find);
}

static void make_token(struct export_table *op)
{
    char *token = arena_bytes(op->call->arena, UUID_TEXT_LEN);
    random_uuid(token);
    op->request.token = str_make(token, UUID_TEXT_LEN);
}

void op_export_table_to_point_in_time(struct api_call *call)
{
    struct export_table *op = ARENA_NEW(call->arena, struct export_table);
    struct export_table_request *request = &op->request;
    struct arn arn;
    op->call = call;
    if (!api_decode(call, &shape_export_table, request) ||
        !wire_validate(&shape_export_table, request, WORDING_OLDER, &call->err) ||
        !export_request_table(call, request->table_arn, &arn) || !check_type(call, request) ||
        !check_encryption(call, request) || !check_filter(call, request) ||
        !check_owner(call, &arn, request->table_arn)) {
        api_finish(call);
        return;
    }
    op->table_name = arn.table;
    if (str_is_null(request->token)) {
        make_token(op);
        create(op);
    } else {
        find_token(op, false);
    }
}
