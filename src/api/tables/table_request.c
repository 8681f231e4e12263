/* The shapes of CreateTable and UpdateTable requests, and the conversion and checks of their parts:
 * names, throughput, streams, encryption. Called by the table operations on the thread of the call;
 * keeps no state. */
#include "api/tables/table_request.h"

#include "base/hash.h"
#include "err/messages.h"

#define AWS "com.amazonaws.dynamodb.v20120810."
static const struct shape shape_key_name = {.kind = SHAPE_STRING, .min = 1, .max = 255};
static const struct shape shape_scalar_type = {
    .kind = SHAPE_ENUM,
    .values = (const char *const[]){"B", "N", "S", NULL},
};
static const struct shape shape_key_type = {
    .kind = SHAPE_ENUM,
    .values = (const char *const[]){"HASH", "RANGE", NULL},
};

static const struct field definition_fields[] = {
    FIELD_REQUIRED(struct definition_request, name, "AttributeName", shape_key_name),
    FIELD_REQUIRED(struct definition_request, type, "AttributeType", shape_scalar_type),
    FIELD_END,
};
static const struct shape shape_definition = {
    .kind = SHAPE_STRUCT,
    .java = "AttributeDefinition",
    .fields = definition_fields,
    .size = sizeof(struct definition_request),
};
const struct shape shape_definitions = {
    .kind = SHAPE_LIST,
    .java = "java.util.List<" AWS "AttributeDefinition>",
    .element = &shape_definition,
};

static const struct field key_element_fields[] = {
    FIELD_REQUIRED(struct key_element_request, name, "AttributeName", shape_key_name),
    FIELD_REQUIRED(struct key_element_request, type, "KeyType", shape_key_type),
    FIELD_END,
};
static const struct shape shape_key_element = {
    .kind = SHAPE_STRUCT,
    .java = "KeySchemaElement",
    .fields = key_element_fields,
    .size = sizeof(struct key_element_request),
};
const struct shape shape_key_schema = {
    .kind = SHAPE_LIST,
    .java = "java.util.List<" AWS "KeySchemaElement>",
    .min = 1,
    .element = &shape_key_element,
};

static const struct shape shape_projection_type = {
    .kind = SHAPE_ENUM,
    .values = (const char *const[]){"ALL", "INCLUDE", "KEYS_ONLY", NULL},
};
static const struct shape shape_non_key = {
    .kind = SHAPE_LIST,
    .java = "java.util.List<java.lang.String>",
    .min = 1,
    .max = INDEX_NON_KEY_MAX,
    .element = &shape_key_name,
};
static const struct field projection_fields[] = {
    FIELD(struct projection_request, type, "ProjectionType", shape_projection_type),
    FIELD(struct projection_request, non_key, "NonKeyAttributes", shape_non_key),
    FIELD_END,
};
static const struct shape shape_projection = {
    .kind = SHAPE_STRUCT,
    .java = "Projection",
    .fields = projection_fields,
    .size = sizeof(struct projection_request),
};

static const struct shape shape_units = {.kind = SHAPE_LONG, .min = 1};
static const struct shape shape_any_units = {.kind = SHAPE_LONG};
static const struct field throughput_fields[] = {
    FIELD_REQUIRED(struct throughput_request, write, "WriteCapacityUnits", shape_units),
    FIELD_REQUIRED(struct throughput_request, read, "ReadCapacityUnits", shape_units),
    FIELD_END,
};
const struct shape shape_throughput = {
    .kind = SHAPE_STRUCT,
    .java = "ProvisionedThroughput",
    .fields = throughput_fields,
    .size = sizeof(struct throughput_request),
};
static const struct field on_demand_fields[] = {
    FIELD(struct pair_request, read, "MaxReadRequestUnits", shape_any_units),
    FIELD(struct pair_request, write, "MaxWriteRequestUnits", shape_any_units),
    FIELD_END,
};
const struct shape shape_on_demand = {
    .kind = SHAPE_STRUCT,
    .java = "OnDemandThroughput",
    .fields = on_demand_fields,
    .size = sizeof(struct pair_request),
};
static const struct field warm_fields[] = {
    FIELD(struct pair_request, read, "ReadUnitsPerSecond", shape_any_units),
    FIELD(struct pair_request, write, "WriteUnitsPerSecond", shape_any_units),
    FIELD_END,
};
const struct shape shape_warm = {
    .kind = SHAPE_STRUCT,
    .java = "WarmThroughput",
    .fields = warm_fields,
    .size = sizeof(struct pair_request),
};

static const struct field global_index_fields[] = {
    FIELD_REQUIRED(struct index_request, name, "IndexName", shape_new_index_name),
    FIELD_REQUIRED(struct index_request, key_schema, "KeySchema", shape_key_schema),
    FIELD_REQUIRED(struct index_request, projection, "Projection", shape_projection),
    FIELD(struct index_request, throughput, "ProvisionedThroughput", shape_throughput),
    FIELD(struct index_request, on_demand, "OnDemandThroughput", shape_on_demand),
    FIELD(struct index_request, warm, "WarmThroughput", shape_warm),
    FIELD_END,
};
static const struct shape shape_global_index = {
    .kind = SHAPE_STRUCT,
    .java = "GlobalSecondaryIndex",
    .fields = global_index_fields,
    .size = sizeof(struct index_request),
};
const struct shape shape_index_creation = {
    .kind = SHAPE_STRUCT,
    .java = "CreateGlobalSecondaryIndexAction",
    .fields = global_index_fields,
    .size = sizeof(struct index_request),
};
const struct shape shape_global_indexes = {
    .kind = SHAPE_LIST,
    .java = "java.util.List<" AWS "GlobalSecondaryIndex>",
    .element = &shape_global_index,
};
static const struct field local_index_fields[] = {
    FIELD_REQUIRED(struct index_request, name, "IndexName", shape_new_index_name),
    FIELD_REQUIRED(struct index_request, key_schema, "KeySchema", shape_key_schema),
    FIELD_REQUIRED(struct index_request, projection, "Projection", shape_projection),
    FIELD_END,
};
static const struct shape shape_local_index = {
    .kind = SHAPE_STRUCT,
    .java = "LocalSecondaryIndex",
    .fields = local_index_fields,
    .size = sizeof(struct index_request),
};
const struct shape shape_local_indexes = {
    .kind = SHAPE_LIST,
    .java = "java.util.List<" AWS "LocalSecondaryIndex>",
    .element = &shape_local_index,
};

const struct shape shape_billing_mode = {
    .kind = SHAPE_ENUM,
    .values = (const char *const[]){"PROVISIONED", "PAY_PER_REQUEST", NULL},
};
const struct shape shape_table_class = {
    .kind = SHAPE_ENUM,
    .values = (const char *const[]){"STANDARD", "STANDARD_INFREQUENT_ACCESS", NULL},
};

static const struct shape shape_view = {
    .kind = SHAPE_ENUM,
    .values =
        (const char *const[]){"NEW_IMAGE", "OLD_IMAGE", "NEW_AND_OLD_IMAGES", "KEYS_ONLY", NULL},
};
static const struct field stream_fields[] = {
    FIELD_REQUIRED(struct stream_request, enabled, "StreamEnabled", shape_bool),
    FIELD(struct stream_request, view, "StreamViewType", shape_view),
    FIELD_END,
};
const struct shape shape_stream = {
    .kind = SHAPE_STRUCT,
    .java = "StreamSpecification",
    .fields = stream_fields,
    .size = sizeof(struct stream_request),
};

static const struct shape shape_sse_type = {
    .kind = SHAPE_ENUM,
    .values = (const char *const[]){"AES256", "KMS", NULL},
};
static const struct shape shape_sse_key = {.kind = SHAPE_STRING, .min = 1};
static const struct field sse_fields[] = {
    FIELD(struct sse_request, enabled, "Enabled", shape_bool),
    FIELD(struct sse_request, type, "SSEType", shape_sse_type),
    FIELD(struct sse_request, key, "KMSMasterKeyId", shape_sse_key),
    FIELD_END,
};
const struct shape shape_sse = {
    .kind = SHAPE_STRUCT,
    .java = "SSESpecification",
    .fields = sse_fields,
    .size = sizeof(struct sse_request),
};

bool table_request_check_name(struct api_call *call, const struct shape *shape, const void *request,
                              struct str name)
{
    if (str_is_null(name)) {
        return err_set(&call->err, ERR_VALIDATION, MESSAGE_TABLE_NAME_MISSING);
    }
    return wire_validate_member(shape, request, "TableName", WORDING_OLDER, &call->err) &&
           api_check_table_name(call, name);
}

enum value_type table_request_type(const struct definition_request *definition)
{
    static const enum value_type types[] = {VALUE_B, VALUE_N, VALUE_S};
    return types[definition->type.value];
}

enum stream_view table_request_stream(const struct stream_request *stream)
{
    static const enum stream_view views[] = {STREAM_NEW_IMAGE, STREAM_OLD_IMAGE,
                                             STREAM_NEW_AND_OLD_IMAGES, STREAM_KEYS_ONLY};
    return stream->enabled.value && !str_is_null(stream->view.text) ? views[stream->view.value]
                                                                    : STREAM_NONE;
}

static const int64_t units_max = 1000000000000;

bool table_request_throughput(const struct throughput_request *given, struct throughput *out,
                              struct err *err)
{
    if (given->read.value > units_max || given->write.value > units_max) {
        bool read = given->read.value > units_max;
        return err_set(err, ERR_VALIDATION, "Given value %lld for %sCapacityUnits is out of bounds",
                       (long long)(read ? given->read.value : given->write.value),
                       read ? "Read" : "Write");
    }
    out->read_units = given->read.value;
    out->write_units = given->write.value;
    return true;
}

bool table_request_on_demand(const struct pair_request *given, enum billing_mode billing,
                             const char *of, struct unit_pair *out, struct err *err)
{
    if (given == NULL || (!given->read.given && !given->write.given)) {
        return true;
    }
    if (billing == BILLING_PROVISIONED) {
        return err_set(err, ERR_VALIDATION,
                       MESSAGE_INVALID "%s for OnDemandThroughput "
                                       "cannot be specified when table BillingMode is PROVISIONED.",
                       given->read.given ? "MaxReadRequestUnits" : "MaxWriteRequestUnits");
    }
    bool bad_read = given->read.given && given->read.value < 1;
    if (bad_read || (given->write.given && given->write.value < 1)) {
        return err_set(err, ERR_VALIDATION,
                       MESSAGE_INVALID "Requested %s for "
                                       "OnDemandThroughput for %s is outside of valid range",
                       bad_read ? "MaxReadRequestUnits" : "MaxWriteRequestUnits", of);
    }
    *out = (struct unit_pair){given->read.value, given->write.value};
    return true;
}

/* --- WarmThroughput --- */

#define SEE_INITIAL                                                                                \
    "See: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/"                       \
    "on-demand-capacity-mode.html#on-demand-capacity-mode-initial"

/* Returns which given member is below the minimum: "Read", "Write", or NULL. */
static const char *member_below(const struct pair_request *given, struct unit_pair minimum)
{
    return given->read.given && given->read.value < minimum.read      ? "Read"
           : given->write.given && given->write.value < minimum.write ? "Write"
                                                                      : NULL;
}

/* Sets the error "... Requested ReadUnitsPerSecond for WarmThroughput for table is lower than
 * THAN". */
static bool refuse_warm(const char *member, const struct index *index, const char *than,
                        struct err *err)
{
    struct str of = index != NULL ? STR("index ") : STR("table");
    struct str name = index != NULL ? index->name : STR("");
    return err_set(err, ERR_VALIDATION,
                   MESSAGE_INVALID
                   "Requested %sUnitsPerSecond for WarmThroughput for %.*s%.*s is lower "
                   "than %s",
                   member, STR_ARG(of), STR_ARG(name), than);
}

static void set_warm(const struct pair_request *given, struct unit_pair *warm)
{
    warm->read = given->read.given ? given->read.value : warm->read;
    warm->write = given->write.given ? given->write.value : warm->write;
}

bool table_request_new_warm(const struct pair_request *given, struct table *table,
                            struct index *index, struct err *err)
{
    if (given == NULL) {
        return true;
    }
    const char *member = member_below(given, table_warm(table, index));
    if (member != NULL && table->billing == BILLING_PAY_PER_REQUEST) {
        return refuse_warm(member, index, "initial throughput for OnDemand. " SEE_INITIAL, err);
    }
    if (member != NULL) {
        return refuse_warm(member, index,
                           strcmp(member, "Read") == 0
                               ? "ReadCapacityUnits of ProvisionedThroughput"
                               : "WriteCapacityUnits of ProvisionedThroughput",
                           err);
    }
    set_warm(given, index != NULL ? &index->warm : &table->warm);
    return true;
}

bool table_request_raise_warm(const struct pair_request *given, struct table *table,
                              struct index *index, struct err *err)
{
    if (given == NULL) {
        return true;
    }
    const char *member = member_below(given, table_warm(table, index));
    if (member != NULL) {
        return refuse_warm(member, index,
                           "current WarmThroughput, decreasing WarmThroughput is not supported",
                           err);
    }
    set_warm(given, index != NULL ? &index->warm : &table->warm);
    return true;
}

bool table_request_new_index(const struct index_request *given, struct table *table,
                             struct index *out, struct err *err)
{
    return (given->throughput == NULL ||
            table_request_throughput(given->throughput, &out->throughput, err)) &&
           table_request_on_demand(given->on_demand, table->billing, "index", &out->on_demand,
                                   err) &&
           table_request_new_warm(given->warm, table, out, err);
}

enum table_class table_request_class(const struct wire_enum *given)
{
    bool is_infrequent = !str_is_null(given->text) && given->value == 1;
    return is_infrequent ? TABLE_CLASS_INFREQUENT_ACCESS : TABLE_CLASS_STANDARD;
}

/* --- encryption --- */

enum { WIRE_SSE_AES256, WIRE_SSE_KMS };

bool table_request_check_sse(const struct sse_request *sse, struct err *err)
{
    if (sse == NULL) {
        return true;
    }
    bool has_type = !str_is_null(sse->type.text);
    bool has_key = !str_is_null(sse->key);
    const char *problem = NULL;
    if (!sse->enabled.value && has_type) {
        problem = "SSEType can not be specified if Enabled is false";
    } else if (!sse->enabled.value && has_key) {
        problem = "KMSMasterKeyId can not be specified if Enabled is false";
    } else if (has_type && sse->type.value == WIRE_SSE_AES256) {
        problem = "SSEType AES256 is not supported";
    } else if (has_key && !has_type) {
        problem = "SSEType KMS is required if KMSMasterKeyId is specified";
    }
    return problem == NULL || err_set(err, ERR_VALIDATION, MESSAGE_INVALID "%s", problem);
}

/* Returns the ARN of the key that the service would manage. There is one per account and Region, so
 * its id is derived from these. */
static struct str default_key(struct api_call *call)
{
    struct str region = engine_region(call->engine);
    struct str account = engine_account(call->engine);
    struct str prefix =
        arena_format(call->arena, "arn:aws:kms:%.*s:%.*s:", STR_ARG(region), STR_ARG(account));
    uint8_t id[16];
    hash_128(prefix, 0, id);
    return arena_format(call->arena,
                        "%.*skey/%02x%02x%02x%02x-%02x%02x-4%01x%02x-%01x%01x%02x-"
                        "%02x%02x%02x%02x%02x%02x",
                        STR_ARG(prefix), id[0], id[1], id[2], id[3], id[4], id[5], id[6] & 15,
                        id[7], 8 | (id[8] & 3), id[8] >> 4, id[9], id[10], id[11], id[12], id[13],
                        id[14], id[15]);
}

/* Returns the ARN of a key given by its ARN, its id or an alias. The default key's alias is the
 * only one that is known. */
static struct str key_arn(struct api_call *call, struct str key)
{
    const struct str alias = STR("alias/aws/dynamodb");
    bool names_alias = key.len >= alias.len && str_eq(str_skip(key, key.len - alias.len), alias);
    if (str_is_null(key) || names_alias) {
        return default_key(call);
    }
    if (str_starts_with(key, STR("arn:")) || str_starts_with(key, STR("alias/"))) {
        return key;
    }
    struct str region = engine_region(call->engine);
    struct str account = engine_account(call->engine);
    return arena_format(call->arena, "arn:aws:kms:%.*s:%.*s:key/%.*s", STR_ARG(region),
                        STR_ARG(account), STR_ARG(key));
}

void table_request_set_sse(struct api_call *call, const struct sse_request *sse,
                           struct table *table)
{
    table->sse_kms = sse->enabled.value;
    table->sse_key_arn = table->sse_kms ? key_arn(call, sse->key) : STR_NULL;
}
