/* ImportTable, DescribeImport and ListImports: imports are rows (engine/load.h); src/transfer
 * carries them out. Called by dispatch.c on the thread of the request. */
#include "api/arn.h"
#include "api/files/load_request.h"
#include "api/tables/create_table.h"
#include "api/tables/table_description.h"
#include "base/hash.h"
#include "err/messages.h"

/* --- the request --- */

struct csv_request {
    struct str delimiter;
    struct wire_list headers;
};

struct options_request {
    struct csv_request *csv;
};

struct import_request {
    struct str token;
    struct bucket_request *source;
    struct wire_enum format;
    struct options_request *options;
    struct wire_enum compression;
    struct create_table_request *table;
};

static bool is_delimiter(struct str text)
{
    return text.len == 1 && memchr(",;:|\t ", text.data[0], 6) != NULL;
}

static bool is_header(struct str text)
{
    for (size_t i = 0; i < text.len; i++) {
        char c = text.data[i];
        if (c < 0x20 || c > 0x7E || c == '"' || c == ',') {
            return false;
        }
    }
    return true;
}

static const struct shape shape_delimiter = {
    .kind = SHAPE_STRING,
    .min = 1,
    .max = 1,
    .matches = is_delimiter,
    .pattern = "[,;:|\\t ]",
};
static const struct shape shape_header = {
    .kind = SHAPE_STRING,
    .min = 1,
    .max = 65536,
    .matches = is_header,
    .pattern = "[\\x20-\\x21\\x23-\\x2B\\x2D-\\x7E]*",
};
static const struct shape shape_headers = {
    .kind = SHAPE_LIST,
    .java = "CsvHeaderList",
    .min = 1,
    .max = 255,
    .element = &shape_header,
};
static const struct field csv_fields[] = {
    FIELD(struct csv_request, delimiter, "Delimiter", shape_delimiter),
    FIELD(struct csv_request, headers, "HeaderList", shape_headers),
    FIELD_END,
};
static const struct shape shape_csv = {
    .kind = SHAPE_STRUCT,
    .java = "CsvOptions",
    .fields = csv_fields,
    .size = sizeof(struct csv_request),
};
static const struct field options_fields[] = {
    FIELD(struct options_request, csv, "Csv", shape_csv),
    FIELD_END,
};
static const struct shape shape_options = {
    .kind = SHAPE_STRUCT,
    .java = "InputFormatOptions",
    .fields = options_fields,
    .size = sizeof(struct options_request),
};
static const struct field source_fields[] = {
    FIELD(struct bucket_request, owner, "S3BucketOwner", shape_bucket_owner),
    FIELD_REQUIRED(struct bucket_request, bucket, "S3Bucket", shape_bucket),
    FIELD(struct bucket_request, prefix, "S3KeyPrefix", shape_bucket_prefix),
    FIELD_END,
};
static const struct shape shape_source = {
    .kind = SHAPE_STRUCT,
    .java = "S3BucketSource",
    .fields = source_fields,
    .size = sizeof(struct bucket_request),
};
static const struct field table_fields[] = {
    FIELD_REQUIRED(struct create_table_request, table_name, "TableName", shape_new_index_name),
    FIELD_REQUIRED(struct create_table_request, definitions, "AttributeDefinitions",
                   shape_definitions),
    FIELD_REQUIRED(struct create_table_request, key_schema, "KeySchema", shape_key_schema),
    FIELD(struct create_table_request, billing_mode, "BillingMode", shape_billing_mode),
    FIELD(struct create_table_request, throughput, "ProvisionedThroughput", shape_throughput),
    FIELD(struct create_table_request, on_demand, "OnDemandThroughput", shape_on_demand),
    FIELD(struct create_table_request, sse, "SSESpecification", shape_sse),
    FIELD(struct create_table_request, global_indexes, "GlobalSecondaryIndexes",
          shape_global_indexes),
    FIELD_END,
};
static const struct shape shape_table = {
    .kind = SHAPE_STRUCT,
    .java = "TableCreationParameters",
    .fields = table_fields,
    .size = sizeof(struct create_table_request),
};
/* In the order of enum load_format. */
static const struct shape shape_import_format = {
    .kind = SHAPE_ENUM,
    .values = (const char *const[]){"DYNAMODB_JSON", "ION", "CSV", NULL},
};
static const struct field import_fields[] = {
    FIELD(struct import_request, token, "ClientToken", shape_client_token),
    FIELD_REQUIRED(struct import_request, source, "S3BucketSource", shape_source),
    FIELD_REQUIRED(struct import_request, format, "InputFormat", shape_import_format),
    FIELD(struct import_request, options, "InputFormatOptions", shape_options),
    FIELD(struct import_request, compression, "InputCompressionType", shape_compression),
    FIELD_REQUIRED(struct import_request, table, "TableCreationParameters", shape_table),
    FIELD_END,
};
static const struct shape shape_import = {
    .kind = SHAPE_STRUCT,
    .fields = import_fields,
    .size = sizeof(struct import_request),
};

/* --- an import as JSON --- */

static const char *format_name(enum load_format format)
{
    return shape_import_format.values[format];
}

static const char *compression_name(enum load_compression compression)
{
    static const char *const names[] = {
        [LOAD_NONE] = "NONE", [LOAD_GZIP] = "GZIP", [LOAD_ZSTD] = "ZSTD"};
    return names[compression];
}

static void put_log_group(struct api_call *call)
{
    struct str region = engine_region(call->engine);
    struct str account = engine_account(call->engine);
    load_request_text(call, STR("CloudWatchLogGroupArn"),
                      arena_format(call->arena,
                                   "arn:aws:logs:%.*s:%.*s:log-group:/aws-dynamodb/imports:*",
                                   STR_ARG(region), STR_ARG(account)));
}

static void put_times(struct api_call *call, const struct load *load)
{
    describe_date(call, STR("StartTime"), load->start_ms);
    if (load->end_ms != 0) {
        describe_date(call, STR("EndTime"), load->end_ms);
    }
}

/* Writes the members that ImportSummary and ImportTableDescription share. */
static void put_common(struct api_call *call, struct str row_name, const struct load *load)
{
    load_request_text(call, STR("ImportArn"),
                      load_arn(call->engine, call->arena, LOAD_IMPORT, row_name));
    load_request_text(call, STR("ImportStatus"), str_from_c(load_request_state(load)));
    load_request_table_arn(call, load->table_name);
    load_request_json(call, STR("S3BucketSource"), load->input_json);
    put_log_group(call);
    load_request_text(call, STR("InputFormat"), str_from_c(format_name(load->format)));
    put_times(call, load);
}

static void put_import(struct api_call *call, struct str row_name, const struct load *load)
{
    put_common(call, row_name, load);
    load_request_text(call, STR("TableId"), load->table_id);
    load_request_text(call, STR("ClientToken"), load->token);
    load_request_int(call, STR("ErrorCount"), load->errors);
    load_request_json(call, STR("InputFormatOptions"), load->options_json);
    load_request_text(call, STR("InputCompressionType"),
                      str_from_c(compression_name(load->compression)));
    load_request_json(call, STR("TableCreationParameters"), load->parameters_json);
    load_request_int(call, STR("ProcessedSizeBytes"), load->bytes);
    load_request_int(call, STR("ProcessedItemCount"), load->items);
    load_request_int(call, STR("ImportedItemCount"), load->written);
    if (load->state == LOAD_FAILED) {
        load_request_text(call, STR("FailureCode"), load->failure_code);
        load_request_text(call, STR("FailureMessage"), load->failure_message);
    }
}

static void answer_import(struct api_call *call, struct str row_name, const struct load *load)
{
    api_begin(call);
    api_member(call, STR("ImportTableDescription"));
    api_begin(call);
    put_import(call, row_name, load);
    api_end(call);
    api_end(call);
    api_finish(call);
}

/* --- ImportTable --- */

struct import_table {
    struct api_call *call;
    struct import_request request;
    struct table table;
    struct load_begin begin;
};

static bool check_options(struct api_call *call, const struct import_request *request)
{
    return request->options == NULL || request->format.value == LOAD_CSV ||
           err_set(&call->err, ERR_VALIDATION,
                   "Invalid Request: Unsupported InputFormatOptions for the given input format: "
                   "%.*s.",
                   STR_ARG(request->format.text));
}

/* A table that is being created is not refused here: it may be the table of this import; if not,
 * the import fails later. */
static bool check_name(struct api_call *call, struct str name)
{
    const struct table *table = table_acquire(call->engine, name);
    bool is_taken = table != NULL && table_status(call->engine, table) != STATUS_CREATING;
    table_release(table);
    return !is_taken ||
           err_set(&call->err, ERR_RESOURCE_IN_USE, MESSAGE_TABLE_EXISTS, STR_ARG(name));
}

static struct load make_load(struct import_table *op)
{
    struct api_call *call = op->call;
    struct import_request *request = &op->request;
    uint8_t *digest = arena_alloc(call->arena, 16);
    hash_128(request->table->table_name, 0, digest); /* the only parameter that is compared */
    if (str_is_null(request->source->owner)) {
        request->source->owner = engine_account(call->engine);
    }
    struct load load = {
        .kind = LOAD_IMPORT,
        .token = load_request_client_token(call, request->token),
        .digest = str_make(digest, 16),
        .bucket = request->source->bucket,
        .prefix = str_is_null(request->source->prefix) ? STR("") : request->source->prefix,
        .format = (enum load_format)request->format.value,
        .compression = load_request_compression(&request->compression),
        .table_name = op->table.name,
        .table_id = str_make(op->table.id, sizeof(op->table.id)),
        .table = &op->table,
        .input_json = load_request_write(call, &shape_source, request->source),
        .parameters_json = load_request_write(call, &shape_table, request->table),
        .total_bytes = -1,
    };
    if (request->options != NULL) {
        load.options_json = load_request_write(call, &shape_options, request->options);
    }
    if (request->options != NULL && request->options->csv != NULL) {
        const struct csv_request *csv = request->options->csv;
        load.delimiter = csv->delimiter.len > 0 ? csv->delimiter.data[0] : 0;
        load.headers = csv->headers.elements;
        load.header_count = csv->headers.count;
    }
    return load;
}

void op_import_table(struct api_call *call)
{
    struct import_table *op = ARENA_NEW(call->arena, struct import_table);
    struct import_request *request = &op->request;
    op->call = call;
    if (!api_decode(call, &shape_import, request) ||
        !wire_validate(&shape_import, request, WORDING_OLDER, &call->err) ||
        !check_options(call, request) || !create_table_define(call, request->table, &op->table) ||
        !check_name(call, op->table.name)) {
        api_finish(call);
        return;
    }
    op->table.status = STATUS_CREATING;
    op->begin = (struct load_begin){
        .call = call,
        .load = make_load(op),
        .answer = answer_import,
        .conflict_code = ERR_IMPORT_CONFLICT,
        .conflict_text = "Import conflict: Duplicate request detected with conflicting parameters",
    };
    load_request_begin(&op->begin);
}

/* --- DescribeImport --- */

struct describe_import_request {
    struct str arn;
};

static const struct field describe_fields[] = {
    FIELD_REQUIRED(struct describe_import_request, arn, "ImportArn", shape_load_arn),
    FIELD_END,
};
static const struct shape shape_describe = {
    .kind = SHAPE_STRUCT,
    .fields = describe_fields,
    .size = sizeof(struct describe_import_request),
};

struct describe_import {
    struct api_call *call;
    struct describe_import_request request;
    struct load_get get;
};

static void described(struct engine_call *engine_call)
{
    struct describe_import *op = CONTAINER_OF(engine_call, struct describe_import, get.call);
    struct api_call *call = op->call;
    call->err = engine_call->err;
    if (call->err.code == ERR_NONE) {
        answer_import(call, op->get.row_name, &op->get.load);
        return;
    }
    if (call->err.code == ERR_RESOURCE_NOT_FOUND) {
        call->err = ERR_INIT(call->arena);
        err_set(&call->err, ERR_IMPORT_NOT_FOUND, "Import not found: Import not found: %.*s",
                STR_ARG(op->request.arn));
    }
    api_finish(call);
}

void op_describe_import(struct api_call *call)
{
    struct describe_import *op = ARENA_NEW(call->arena, struct describe_import);
    op->call = call;
    if (!api_decode(call, &shape_describe, &op->request) ||
        !wire_validate(&shape_describe, &op->request, WORDING_OLDER, &call->err) ||
        !load_request_row(call, LOAD_IMPORT, op->request.arn, &op->get.row_name)) {
        api_finish(call);
        return;
    }
    op->get.call = api_engine_call(call, described);
    op->get.kind = LOAD_IMPORT;
    engine_get_load(&op->get);
}

/* --- ListImports --- */

enum { IMPORTS_PER_PAGE = 10 };

struct list_imports_request {
    struct str table_arn;
    struct wire_int limit;
    struct str next_token;
};

static const struct shape shape_table_arn = {.kind = SHAPE_STRING, .min = 1, .max = 1024};
static const struct shape shape_next_token = {
    .kind = SHAPE_STRING,
    .min = 112,
    .max = 1024,
    .matches = load_request_is_token,
    .pattern = LOAD_TOKEN_PATTERN,
};
static const struct field list_fields[] = {
    FIELD(struct list_imports_request, table_arn, "TableArn", shape_table_arn),
    FIELD(struct list_imports_request, limit, "PageSize", shape_load_page),
    FIELD(struct list_imports_request, next_token, "NextToken", shape_next_token),
    FIELD_END,
};
static const struct shape shape_list = {
    .kind = SHAPE_STRUCT,
    .fields = list_fields,
    .size = sizeof(struct list_imports_request),
};

struct list_imports {
    struct api_call *call;
    struct list_imports_request request;
    struct load_list list;
};

static void put_summary(struct api_call *call, const struct load_entry *entry)
{
    put_common(call, entry->row_name, &entry->load);
}

static void listed(struct engine_call *engine_call)
{
    struct list_imports *op = CONTAINER_OF(engine_call, struct list_imports, list.call);
    load_request_answer_list(op->call, &op->list, STR("ImportSummaryList"), put_summary);
}

static bool check_table_arn(struct api_call *call, struct str text, struct str *out)
{
    struct arn arn = str_is_null(text) ? (struct arn){0} : arn_parse(text);
    *out = str_is_null(text) ? STR_NULL : arn.table;
    return str_is_null(text) || arn.kind == ARN_TABLE ||
           err_set(&call->err, ERR_VALIDATION, MESSAGE_TABLE_ARN);
}

void op_list_imports(struct api_call *call)
{
    struct list_imports *op = ARENA_NEW(call->arena, struct list_imports);
    struct list_imports_request *request = &op->request;
    op->call = call;
    if (!api_decode(call, &shape_list, request) ||
        !wire_validate(&shape_list, request, WORDING_OLDER, &call->err) ||
        !check_table_arn(call, request->table_arn, &op->list.table_name) ||
        !load_request_position(call, request->next_token, &op->list.before)) {
        api_finish(call);
        return;
    }
    op->list.call = api_engine_call(call, listed);
    op->list.kind = LOAD_IMPORT;
    op->list.limit = request->limit.given ? (size_t)request->limit.value : IMPORTS_PER_PAGE;
    engine_list_loads(&op->list);
}
