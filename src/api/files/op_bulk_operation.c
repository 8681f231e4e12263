/* StartBulkPutItems, DescribeBulkOperation, ListBulkOperations and CancelBulkOperation: bulk
 * operations are rows (engine/load.h); src/transfer carries them out. Called by dispatch.c on the
 * thread of the request. */
#include "api/files/load_request.h"
#include "api/tables/table_description.h"
#include "base/hash.h"
#include "err/messages.h"

/* --- the request of StartBulkPutItems --- */

struct output_request {
    struct str owner;
    struct str bucket;
    struct str prefix;
    struct wire_enum sse;
    struct str sse_key;
    struct wire_list types; /* of struct wire_enum */
};

struct start_request {
    struct str token;
    struct bucket_request *input;
    struct output_request *output;
    struct str table_name;
    struct wire_int units_max;
    struct wire_enum tier;
};

/* In the order of enum load_format. */
static const struct shape shape_bulk_format = {
    .kind = SHAPE_ENUM,
    .values = (const char *const[]){"DYNAMODB_JSON", "ION", NULL},
};
enum { SSE_AES256, SSE_KMS };
static const struct shape shape_sse_algorithm = {
    .kind = SHAPE_ENUM,
    .values = (const char *const[]){"AES256", "KMS", NULL},
};
static const struct shape shape_sse_key = {.kind = SHAPE_STRING, .min = 1, .max = 2048};
enum { OUTPUT_ERROR, OUTPUT_CONDITION };
static const struct shape shape_output_type = {
    .kind = SHAPE_ENUM,
    .values = (const char *const[]){"ERROR", "CONDITION_CHECK_FAILURE", NULL},
};
static const struct shape shape_output_types = {
    .kind = SHAPE_LIST,
    .java = "OutputTypeList",
    .min = 1,
    .max = 2,
    .element = &shape_output_type,
};
enum { TIER_STANDARD, TIER_ACCELERATED };
static const struct shape shape_tier = {
    .kind = SHAPE_ENUM,
    .values = (const char *const[]){"STANDARD", "ACCELERATED", NULL},
};
static const struct shape shape_units_max = {
    .kind = SHAPE_LONG, .min = 1024, .bounded_below = true};
static const struct field input_fields[] = {
    FIELD(struct bucket_request, owner, "S3BucketOwner", shape_bucket_owner),
    FIELD_REQUIRED(struct bucket_request, bucket, "S3Bucket", shape_bucket),
    FIELD(struct bucket_request, prefix, "S3KeyPrefix", shape_bucket_prefix),
    FIELD_REQUIRED(struct bucket_request, format, "InputFormat", shape_bulk_format),
    FIELD(struct bucket_request, compression, "InputCompressionType", shape_compression),
    FIELD_END,
};
static const struct shape shape_input = {
    .kind = SHAPE_STRUCT,
    .java = "InputS3Configuration",
    .fields = input_fields,
    .size = sizeof(struct bucket_request),
};
static const struct field output_fields[] = {
    FIELD(struct output_request, owner, "S3BucketOwner", shape_bucket_owner),
    FIELD_REQUIRED(struct output_request, bucket, "S3Bucket", shape_bucket),
    FIELD(struct output_request, prefix, "S3KeyPrefix", shape_bucket_prefix),
    FIELD(struct output_request, sse, "S3SseAlgorithm", shape_sse_algorithm),
    FIELD(struct output_request, sse_key, "S3SseKmsKeyId", shape_sse_key),
    FIELD_REQUIRED(struct output_request, types, "OutputType", shape_output_types),
    FIELD_END,
};
static const struct shape shape_output = {
    .kind = SHAPE_STRUCT,
    .java = "OutputS3Configuration",
    .fields = output_fields,
    .size = sizeof(struct output_request),
};
static const struct field start_fields[] = {
    FIELD(struct start_request, token, "ClientToken", shape_client_token),
    FIELD_REQUIRED(struct start_request, input, "InputS3Configuration", shape_input),
    FIELD_REQUIRED(struct start_request, output, "OutputS3Configuration", shape_output),
    FIELD_REQUIRED(struct start_request, table_name, "TableName", shape_table_name),
    FIELD(struct start_request, units_max, "MaxWriteRequestUnits", shape_units_max),
    FIELD(struct start_request, tier, "PerformanceTier", shape_tier),
    FIELD_END,
};
static const struct shape shape_start = {
    .kind = SHAPE_STRUCT,
    .fields = start_fields,
    .size = sizeof(struct start_request),
};

/* --- a bulk operation as JSON --- */

static void put_arn(struct api_call *call, struct str row_name)
{
    load_request_text(call, STR("BulkOperationArn"),
                      load_arn(call->engine, call->arena, LOAD_BULK_PUT, row_name));
}

static void put_times(struct api_call *call, const struct load *load)
{
    describe_date(call, STR("StartTime"), load->start_ms);
    if (load->end_ms != 0) {
        describe_date(call, STR("EndTime"), load->end_ms);
    }
}

static bool is_local(const struct table *table, struct str name)
{
    const struct index *index = table == NULL ? NULL : table_index(table, name);
    return index != NULL && index->kind == INDEX_LOCAL;
}

/* Writes the member for the indexes of one kind, if there are any. */
static void put_index_usage(struct api_call *call, const struct load *load,
                            const struct table *table, bool local)
{
    bool is_first = true;
    for (size_t i = 0; i < load->index_count; i++) {
        if (is_local(table, load->index_names[i]) != local) {
            continue;
        }
        if (is_first) {
            api_member(call, local ? STR("LocalSecondaryIndexes") : STR("GlobalSecondaryIndexes"));
            api_begin(call);
            is_first = false;
        }
        api_member(call, load->index_names[i]);
        api_begin(call);
        load_request_int(call, STR("BulkPutBytes"), load->index_bytes[i]);
        api_end(call);
    }
    if (!is_first) {
        api_end(call);
    }
}

static void put_usage(struct api_call *call, const struct load *load)
{
    const struct table *table = table_acquire(call->engine, load->table_name);
    int64_t total = load->table_bytes;
    for (size_t i = 0; i < load->index_count; i++) {
        total += load->index_bytes[i];
    }
    api_member(call, STR("BulkOperationUsage"));
    buf_add_char(call->out, '[');
    api_begin(call);
    load_request_text(call, STR("TableName"), load->table_name);
    load_request_int(call, STR("BulkPutBytes"), total);
    api_member(call, STR("Table"));
    api_begin(call);
    load_request_int(call, STR("BulkPutBytes"), load->table_bytes);
    api_end(call);
    put_index_usage(call, load, table, true);
    put_index_usage(call, load, table, false);
    api_end(call);
    buf_add_char(call->out, ']');
    table_release(table);
}

static void put_table(struct api_call *call, const struct load *load)
{
    api_member(call, STR("TableDetails"));
    buf_add_char(call->out, '[');
    api_begin(call);
    load_request_text(call, STR("TableName"), load->table_name);
    load_request_text(call, STR("TableId"), load->table_id);
    api_end(call);
    buf_add_char(call->out, ']');
}

static void put_operation(struct api_call *call, struct str row_name, const struct load *load)
{
    bool has_failed = load->state == LOAD_FAILED || load->state == LOAD_CANCELLED;
    put_arn(call, row_name);
    load_request_text(call, STR("BulkOperationStatus"), str_from_c(load_request_state(load)));
    put_table(call, load);
    load_request_text(call, STR("ClientToken"), load->token);
    load_request_json(call, STR("InputS3Configuration"), load->input_json);
    load_request_json(call, STR("OutputS3Configuration"), load->parameters_json);
    put_times(call, load);
    load_request_int(call, STR("ProcessedItemCount"), load->items);
    load_request_int(call, STR("ProcessedInputBytes"), load->bytes);
    if (load->total_bytes >= 0) {
        load_request_int(call, STR("TotalInputBytes"), load->total_bytes);
    }
    put_usage(call, load);
    load_request_int(call, STR("FailedItemCount"), load->errors);
    if (has_failed) {
        load_request_text(call, STR("FailureCode"), load->failure_code);
        load_request_text(call, STR("FailureMessage"), load->failure_message);
    }
    if (load->units_max > 0) {
        load_request_int(call, STR("MaxWriteRequestUnits"), load->units_max);
    }
    load_request_text(call, STR("PerformanceTier"),
                      load->is_accelerated ? STR("ACCELERATED") : STR("STANDARD"));
}

static void answer_operation(struct api_call *call, struct str row_name, const struct load *load)
{
    api_begin(call);
    api_member(call, STR("BulkOperationDescription"));
    api_begin(call);
    put_operation(call, row_name, load);
    api_end(call);
    api_end(call);
    api_finish(call);
}

/* Ends a call whose bulk operation does not exist, or that failed otherwise. */
static void refuse(struct api_call *call, const struct err *err, struct str arn)
{
    call->err = *err;
    if (err->code == ERR_RESOURCE_NOT_FOUND) {
        call->err = ERR_INIT(call->arena);
        err_set(&call->err, ERR_RESOURCE_NOT_FOUND,
                "Requested resource not found: Bulk operation: %.*s not found", STR_ARG(arn));
    }
    api_finish(call);
}

/* --- StartBulkPutItems --- */

struct bulk_start {
    struct api_call *call;
    struct start_request request;
    const struct table *table; /* held by the call */
    struct load_begin begin;
};

static bool check_encryption(struct api_call *call, const struct output_request *output)
{
    bool is_kms = !str_is_null(output->sse.text) && output->sse.value == SSE_KMS;
    return str_is_null(output->sse_key) || is_kms ||
           err_set(&call->err, ERR_VALIDATION,
                   "Invalid Request: KMS Key Id is not supported for this encryption type");
}

/* Finds the table. While an index is being created there is none to write to. */
static bool find_table(struct bulk_start *op)
{
    struct api_call *call = op->call;
    struct str name = op->request.table_name;
    op->table = api_table(call, name);
    if (op->table == NULL) {
        call->err = ERR_INIT(call->arena);
        return err_set(&call->err, ERR_RESOURCE_NOT_FOUND, MESSAGE_TABLE_NOT_FOUND, STR_ARG(name));
    }
    return table_creating_index(op->table) == NULL ||
           err_set(&call->err, ERR_RESOURCE_IN_USE, MESSAGE_IN_USE "Table is being updated: %.*s",
                   STR_ARG(name));
}

/* Of all parameters but the token. */
static struct str digest_of(struct api_call *call, const struct start_request *request)
{
    struct start_request compared = *request;
    uint8_t *digest = arena_alloc(call->arena, 16);
    compared.token = STR_NULL;
    hash_128(load_request_write(call, &shape_start, &compared), 0, digest);
    return str_make(digest, 16);
}

static bool has_type(const struct wire_list *types, int wanted)
{
    for (size_t i = 0; i < types->count; i++) {
        if (((const struct wire_enum *)types->elements)[i].value == wanted) {
            return true;
        }
    }
    return false;
}

static struct load make_load(struct bulk_start *op)
{
    struct api_call *call = op->call;
    const struct start_request *request = &op->request;
    const struct bucket_request *input = request->input;
    const struct output_request *output = request->output;
    bool is_kms = !str_is_null(output->sse.text) && output->sse.value == SSE_KMS;
    return (struct load){
        .kind = LOAD_BULK_PUT,
        .token = load_request_client_token(call, request->token),
        .digest = digest_of(call, request),
        .bucket = input->bucket,
        .prefix = str_is_null(input->prefix) ? STR("") : input->prefix,
        .format = (enum load_format)input->format.value,
        .compression = load_request_compression(&input->compression),
        .table_name = op->table->name,
        .table_id = str_make(op->table->id, sizeof(op->table->id)),
        .input_json = load_request_write(call, &shape_input, input),
        .parameters_json = load_request_write(call, &shape_output, output),
        .output_bucket = output->bucket,
        .output_prefix = output->prefix,
        .output_sse = str_is_null(output->sse.text) ? STR_NULL
                      : is_kms                      ? STR("aws:kms")
                                                    : STR("AES256"),
        .output_sse_key = output->sse_key,
        .reports_errors = has_type(&output->types, OUTPUT_ERROR),
        .reports_conditions = has_type(&output->types, OUTPUT_CONDITION),
        .units_max = request->units_max.given ? request->units_max.value : 0,
        .is_accelerated =
            !str_is_null(request->tier.text) && request->tier.value == TIER_ACCELERATED,
        .total_bytes = -1,
    };
}

void op_start_bulk_put_items(struct api_call *call)
{
    struct bulk_start *op = ARENA_NEW(call->arena, struct bulk_start);
    struct start_request *request = &op->request;
    op->call = call;
    if (!api_decode(call, &shape_start, request) ||
        !wire_validate(&shape_start, request, WORDING_OLDER, &call->err) ||
        !api_check_table_name(call, request->table_name) ||
        !check_encryption(call, request->output) || !find_table(op)) {
        api_finish(call);
        return;
    }
    op->begin = (struct load_begin){
        .call = call,
        .load = make_load(op),
        .answer = answer_operation,
        .conflict_code = ERR_IDEMPOTENT_PARAMETER_MISMATCH,
        .conflict_text = "The ClientToken was used with other parameters",
    };
    load_request_begin(&op->begin);
}

/* --- DescribeBulkOperation, CancelBulkOperation --- */

struct operation_request {
    struct str arn;
};

static const struct field operation_fields[] = {
    FIELD_REQUIRED(struct operation_request, arn, "BulkOperationArn", shape_load_arn),
    FIELD_END,
};
static const struct shape shape_operation = {
    .kind = SHAPE_STRUCT,
    .fields = operation_fields,
    .size = sizeof(struct operation_request),
};

struct bulk_operation {
    struct api_call *call;
    struct operation_request request;
    struct load_get get;
    struct load_cancel cancel;
};

/* NULL: the request is not valid, and the call has ended. */
static struct bulk_operation *begin(struct api_call *call, struct str *out_row)
{
    struct bulk_operation *op = ARENA_NEW(call->arena, struct bulk_operation);
    op->call = call;
    if (!api_decode(call, &shape_operation, &op->request) ||
        !wire_validate(&shape_operation, &op->request, WORDING_OLDER, &call->err) ||
        !load_request_row(call, LOAD_BULK_PUT, op->request.arn, out_row)) {
        api_finish(call);
        return NULL;
    }
    return op;
}

static void described(struct engine_call *engine_call)
{
    struct bulk_operation *op = CONTAINER_OF(engine_call, struct bulk_operation, get.call);
    if (engine_call->err.code != ERR_NONE) {
        refuse(op->call, &engine_call->err, op->request.arn);
        return;
    }
    answer_operation(op->call, op->get.row_name, &op->get.load);
}

void op_describe_bulk_operation(struct api_call *call)
{
    struct str row_name;
    struct bulk_operation *op = begin(call, &row_name);
    if (op != NULL) {
        op->get = (struct load_get){
            .call = api_engine_call(call, described),
            .kind = LOAD_BULK_PUT,
            .row_name = row_name,
        };
        engine_get_load(&op->get);
    }
}

static void cancelled(struct engine_call *engine_call)
{
    struct bulk_operation *op = CONTAINER_OF(engine_call, struct bulk_operation, cancel.call);
    struct api_call *call = op->call;
    struct err err = engine_call->err;
    if (err.code == ERR_NONE && load_is_over(&op->cancel.load)) {
        err_set(&err, ERR_VALIDATION,
                "Invalid Request: The bulk operation has ended and cannot be cancelled");
    }
    if (err.code != ERR_NONE) {
        refuse(call, &err, op->request.arn);
        return;
    }
    api_begin(call);
    put_arn(call, op->cancel.row_name);
    load_request_text(call, STR("BulkOperationStatus"),
                      str_from_c(load_request_state(&op->cancel.load)));
    api_end(call);
    api_finish(call);
}

void op_cancel_bulk_operation(struct api_call *call)
{
    struct str row_name;
    struct bulk_operation *op = begin(call, &row_name);
    if (op != NULL) {
        op->cancel = (struct load_cancel){
            .call = api_engine_call(call, cancelled),
            .row_name = row_name,
        };
        engine_cancel_load(&op->cancel);
    }
}

/* --- ListBulkOperations --- */

enum { OPERATIONS_PER_PAGE = 10 };

struct list_request {
    struct wire_int limit;
    struct str next_token;
};

static const struct shape shape_list_token = {
    .kind = SHAPE_STRING,
    .min = 1,
    .max = 1024,
    .matches = load_request_is_token,
    .pattern = LOAD_TOKEN_PATTERN,
};
static const struct field list_fields[] = {
    FIELD(struct list_request, limit, "MaxResults", shape_load_page),
    FIELD(struct list_request, next_token, "NextToken", shape_list_token),
    FIELD_END,
};
static const struct shape shape_list = {
    .kind = SHAPE_STRUCT,
    .fields = list_fields,
    .size = sizeof(struct list_request),
};

struct list_operations {
    struct api_call *call;
    struct list_request request;
    struct load_list list;
};

static void put_summary(struct api_call *call, const struct load_entry *entry)
{
    put_arn(call, entry->row_name);
    load_request_text(call, STR("BulkOperationStatus"),
                      str_from_c(load_request_state(&entry->load)));
    put_times(call, &entry->load);
}

static void listed(struct engine_call *engine_call)
{
    struct list_operations *op = CONTAINER_OF(engine_call, struct list_operations, list.call);
    load_request_answer_list(op->call, &op->list, STR("BulkOperationsSummaryList"), put_summary);
}

void op_list_bulk_operations(struct api_call *call)
{
    struct list_operations *op = ARENA_NEW(call->arena, struct list_operations);
    struct list_request *request = &op->request;
    op->call = call;
    if (!api_decode(call, &shape_list, request) ||
        !wire_validate(&shape_list, request, WORDING_OLDER, &call->err) ||
        !load_request_position(call, request->next_token, &op->list.before)) {
        api_finish(call);
        return;
    }
    op->list.call = api_engine_call(call, listed);
    op->list.kind = LOAD_BULK_PUT;
    op->list.limit = request->limit.given ? (size_t)request->limit.value : OPERATIONS_PER_PAGE;
    engine_list_loads(&op->list);
}
