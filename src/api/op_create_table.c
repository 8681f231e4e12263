#include "api/describe.h"
#include "api/table_request.h"
#include "base/clock.h"
#include "base/random.h"

struct create_table_request {
    struct str table_name;
    struct wire_list definitions;
    struct wire_list key_schema;
    struct wire_list local_indexes;
    struct wire_list global_indexes;
    struct wire_enum billing_mode;
    struct throughput_request *throughput;
    struct stream_request *stream;
    struct sse_request *sse;
    struct wire_list tags;
    struct wire_enum table_class;
    struct wire_bool deletion_protection;
    struct pair_request *warm;
    struct pair_request *on_demand;
};

static const struct field create_table_fields[] = {
    FIELD_REQUIRED(struct create_table_request, definitions, "AttributeDefinitions",
                   shape_definitions),
    FIELD_REQUIRED(struct create_table_request, key_schema, "KeySchema", shape_key_schema),
    FIELD(struct create_table_request, table_name, "TableName", shape_string),
    FIELD(struct create_table_request, local_indexes, "LocalSecondaryIndexes", shape_local_indexes),
    FIELD(struct create_table_request, global_indexes, "GlobalSecondaryIndexes",
          shape_global_indexes),
    FIELD(struct create_table_request, billing_mode, "BillingMode", shape_billing_mode),
    FIELD(struct create_table_request, throughput, "ProvisionedThroughput", shape_throughput),
    FIELD(struct create_table_request, stream, "StreamSpecification", shape_stream),
    FIELD(struct create_table_request, sse, "SSESpecification", shape_sse),
    FIELD(struct create_table_request, tags, "Tags", shape_tags),
    FIELD(struct create_table_request, table_class, "TableClass", shape_table_class),
    FIELD(struct create_table_request, deletion_protection, "DeletionProtectionEnabled",
          shape_bool),
    FIELD(struct create_table_request, warm, "WarmThroughput", shape_warm),
    FIELD(struct create_table_request, on_demand, "OnDemandThroughput", shape_on_demand),
    FIELD_END,
};

static const struct shape shape_create_table = {
    .kind = SHAPE_STRUCT,
    .fields = create_table_fields,
    .size = sizeof(struct create_table_request),
};

struct create_table {
    struct api_call *call;
    struct create_table_request request;
    struct table table;
    struct table_create engine;
};

#define INVALID "One or more parameter values were invalid: "

/* --- keys --- */

static const struct key_element_request *element_at(const struct wire_list *list, size_t i)
{
    return ((struct key_element_request *const *)list->elements)[i];
}

static bool define(struct create_table *op, const struct wire_list *schema, struct err *err)
{
    const struct table *table = &op->table;
    for (size_t i = 0; i < schema->count; i++) {
        if (table_definition(table, element_at(schema, i)->name) != VALUE_NONE) {
            continue;
        }
        struct str keys = STR("");
        for (size_t k = 0; k < schema->count; k++) {
            keys = arena_format(err->arena, "%.*s%s%.*s", STR_ARG(keys), k > 0 ? ", " : "",
                                STR_ARG(element_at(schema, k)->name));
        }
        struct str defined = STR("");
        for (size_t k = 0; k < table->definition_count; k++) {
            defined = arena_format(err->arena, "%.*s%s%.*s", STR_ARG(defined), k > 0 ? ", " : "",
                                   STR_ARG(table->definitions[k].name));
        }
        return err_set(err, ERR_VALIDATION,
                       INVALID "Some index key attributes are not defined in AttributeDefinitions. "
                               "Keys: [%.*s], AttributeDefinitions: [%.*s]",
                       STR_ARG(keys), STR_ARG(defined));
    }
    return true;
}

static bool add_element(const struct create_table *op, const struct key_element_request *element,
                        struct key_schema *out, struct err *err)
{
    bool hash = element->type.value == 0;
    size_t *count = hash ? &out->hash_count : &out->range_count;
    if (*count == KEY_ATTRIBUTES_MAX) {
        return err_set(err, ERR_VALIDATION, INVALID "Too many %s keys in a KeySchema",
                       hash ? "hash" : "range");
    }
    struct key_attribute *attribute = hash ? &out->hash[*count] : &out->range[*count];
    *attribute = (struct key_attribute){
        .name = element->name,
        .type = table_definition(&op->table, element->name),
    };
    (*count)++;
    return true;
}

/* The schema of a table or of a local index: a hash key and perhaps a range key. */
static bool check_simple_schema(const struct wire_list *schema, struct err *err)
{
    if (element_at(schema, 0)->type.value != 0) {
        return err_set(err, ERR_VALIDATION,
                       "Invalid KeySchema: The first KeySchemaElement is not a HASH key type");
    }
    if (schema->count > 1 && element_at(schema, 1)->type.value != 1) {
        return err_set(err, ERR_VALIDATION,
                       "Invalid KeySchema: The second KeySchemaElement is not a RANGE key type");
    }
    return true;
}

/* A global index may have several of each, hash keys first. */
static bool check_global_schema(const struct wire_list *schema, struct err *err)
{
    if (element_at(schema, 0)->type.value != 0) {
        return err_set(err, ERR_VALIDATION,
                       "Invalid KeySchema: The first KeySchemaElement is not a HASH key type");
    }
    for (size_t i = 1; i < schema->count; i++) {
        if (element_at(schema, i)->type.value == 0 && element_at(schema, i - 1)->type.value == 1) {
            return err_set(
                err, ERR_VALIDATION,
                "Invalid KeySchema: HASH key elements must come before RANGE key elements");
        }
    }
    return true;
}

static bool make_schema(const struct create_table *op, const struct wire_list *schema,
                        struct key_schema *out, struct err *err)
{
    for (size_t i = 0; i < schema->count; i++) {
        for (size_t k = 0; k < i; k++) {
            if (str_eq(element_at(schema, i)->name, element_at(schema, k)->name)) {
                return err_set(err, ERR_VALIDATION,
                               "Invalid KeySchema: Some index key attribute have no definition");
            }
        }
        if (!add_element(op, element_at(schema, i), out, err)) {
            return false;
        }
    }
    return true;
}

static bool make_definitions(struct create_table *op)
{
    const struct wire_list *list = &op->request.definitions;
    struct attribute_definition *definitions =
        ARENA_ARRAY(op->call->arena, struct attribute_definition, list->count + 1);
    for (size_t i = 0; i < list->count; i++) {
        const struct definition_request *given =
            ((struct definition_request *const *)list->elements)[i];
        for (size_t k = 0; k < i; k++) {
            if (str_eq(definitions[k].name, given->name)) {
                return err_set(&op->call->err, ERR_VALIDATION,
                               "Cannot have two attributes with the same name");
            }
        }
        definitions[i] = (struct attribute_definition){
            .name = given->name,
            .type = table_request_type(given),
        };
    }
    op->table.definitions = definitions;
    op->table.definition_count = list->count;
    return true;
}

static bool make_keys(struct create_table *op)
{
    struct err *err = &op->call->err;
    const struct wire_list *schema = &op->request.key_schema;
    if (schema->count > 2) {
        struct str list = STR("");
        for (size_t i = 0; i < schema->count; i++) {
            list =
                arena_format(err->arena, "%.*s%sKeySchemaElement(attributeName=%.*s, keyType=%.*s)",
                             STR_ARG(list), i > 0 ? ", " : "", STR_ARG(element_at(schema, i)->name),
                             STR_ARG(element_at(schema, i)->type.text));
        }
        return err_set(
            err, ERR_VALIDATION,
            "1 validation error detected: Value '[%.*s]' at 'keySchema' failed to satisfy "
            "constraint: Member must have length less than or equal to 2",
            STR_ARG(list));
    }
    if (op->table.definition_count < schema->count) {
        return err_set(err, ERR_VALIDATION,
                       "Invalid KeySchema: Some index key attribute have no definition");
    }
    return check_simple_schema(schema, err) && define(op, schema, err) &&
           make_schema(op, schema, &op->table.key, err);
}

/* --- indexes --- */

static bool make_projection(struct create_table *op, const struct index_request *given,
                            struct index *out)
{
    struct err *err = &op->call->err;
    static const enum projection_type types[] = {PROJECTION_ALL, PROJECTION_INCLUDE,
                                                 PROJECTION_KEYS_ONLY};
    const struct projection_request *projection = given->projection;
    if (str_is_null(projection->type.text)) {
        return err_set(err, ERR_VALIDATION, INVALID "Unknown ProjectionType: null");
    }
    out->projection = types[projection->type.value];
    if (out->projection == PROJECTION_INCLUDE && !projection->non_key.given) {
        return err_set(err, ERR_VALIDATION,
                       INVALID "ProjectionType is INCLUDE, but NonKeyAttributes is not specified");
    }
    if (out->projection != PROJECTION_INCLUDE && projection->non_key.given) {
        return err_set(err, ERR_VALIDATION,
                       INVALID "ProjectionType is %.*s, but NonKeyAttributes is specified",
                       STR_ARG(projection->type.text));
    }
    out->non_key_names = projection->non_key.elements;
    out->non_key_count = projection->non_key.count;
    return true;
}

static bool check_local_schema(struct create_table *op, const struct index_request *given)
{
    struct err *err = &op->call->err;
    if (op->table.key.range_count == 0) {
        return err_set(err, ERR_VALIDATION,
                       INVALID "Table KeySchema does not have a range key, which is required when "
                               "specifying a LocalSecondaryIndex");
    }
    if (given->key_schema.count < 2) {
        return err_set(err, ERR_VALIDATION,
                       INVALID "Index KeySchema does not have a range key for index: %.*s",
                       STR_ARG(given->name));
    }
    struct str hash = element_at(&given->key_schema, 0)->name;
    if (!str_eq(hash, op->table.key.hash[0].name)) {
        return err_set(err, ERR_VALIDATION,
                       INVALID
                       "Index KeySchema does not have the same leading hash key as table "
                       "KeySchema for index: %.*s. index hash key: %.*s, table hash key: %.*s",
                       STR_ARG(given->name), STR_ARG(hash), STR_ARG(op->table.key.hash[0].name));
    }
    return true;
}

static bool make_global_settings(struct create_table *op, const struct index_request *given,
                                 struct index *out)
{
    struct err *err = &op->call->err;
    bool on_demand = op->table.billing == BILLING_PAY_PER_REQUEST;
    if (given->throughput != NULL && on_demand) {
        return err_set(err, ERR_VALIDATION,
                       INVALID "ProvisionedThroughput should not be specified for index: %.*s when "
                               "BillingMode is PAY_PER_REQUEST",
                       STR_ARG(given->name));
    }
    if (given->throughput == NULL && !on_demand) {
        return err_set(err, ERR_VALIDATION,
                       INVALID "ProvisionedThroughput must be specified for index: %.*s",
                       STR_ARG(given->name));
    }
    if (given->throughput != NULL &&
        !table_request_throughput(given->throughput, &out->throughput, err)) {
        return false;
    }
    if (given->on_demand != NULL) {
        out->on_demand =
            (struct unit_pair){given->on_demand->read.value, given->on_demand->write.value};
    }
    if (given->warm != NULL) {
        out->warm = (struct unit_pair){given->warm->read.value, given->warm->write.value};
    }
    return true;
}

static bool make_index(struct create_table *op, const struct index_request *given,
                       enum index_kind kind, struct index *out)
{
    struct err *err = &op->call->err;
    *out = (struct index){.name = given->name, .kind = kind, .status = STATUS_ACTIVE};
    for (const struct index *other = op->table.indexes; other < out; other++) {
        if (str_eq(other->name, given->name)) {
            return err_set(err, ERR_VALIDATION, INVALID "Duplicate index name: %.*s",
                           STR_ARG(given->name));
        }
    }
    bool global = kind == INDEX_GLOBAL;
    return (global ? check_global_schema(&given->key_schema, err)
                   : check_simple_schema(&given->key_schema, err)) &&
           define(op, &given->key_schema, err) && (global || check_local_schema(op, given)) &&
           make_schema(op, &given->key_schema, &out->key, err) && make_projection(op, given, out) &&
           (!global || make_global_settings(op, given, out));
}

static bool make_indexes(struct create_table *op)
{
    struct err *err = &op->call->err;
    const struct wire_list *global = &op->request.global_indexes;
    const struct wire_list *local = &op->request.local_indexes;
    if ((global->given && global->count == 0) || (local->given && local->count == 0)) {
        return err_set(err, ERR_VALIDATION, INVALID "List of %sSecondaryIndexes is empty",
                       global->given && global->count == 0 ? "Global" : "Local");
    }
    struct index *indexes =
        ARENA_ARRAY(op->call->arena, struct index, global->count + local->count + 1);
    op->table.indexes = indexes;
    op->table.index_count = global->count + local->count;
    op->table.local_count = local->count;
    for (size_t i = 0; i < global->count; i++) {
        if (!make_index(op, ((struct index_request *const *)global->elements)[i], INDEX_GLOBAL,
                        &indexes[i])) {
            return false;
        }
    }
    for (size_t i = 0; i < local->count; i++) {
        if (!make_index(op, ((struct index_request *const *)local->elements)[i], INDEX_LOCAL,
                        &indexes[global->count + i])) {
            return false;
        }
    }
    if (global->count > TABLE_GSI_MAX || local->count > TABLE_LSI_MAX) {
        return err_set(err, ERR_VALIDATION,
                       INVALID "Number of %sSecondaryIndexes exceeds per-table limit of %d",
                       global->count > TABLE_GSI_MAX ? "Global" : "Local",
                       global->count > TABLE_GSI_MAX ? TABLE_GSI_MAX : TABLE_LSI_MAX);
    }
    return true;
}

/* Every definition must be some key. */
static bool check_definitions_used(struct create_table *op)
{
    const struct table *table = &op->table;
    for (size_t i = 0; i < table->definition_count; i++) {
        bool used = key_schema_has(&table->key, table->definitions[i].name);
        for (size_t k = 0; k < table->index_count; k++) {
            used = used || key_schema_has(&table->indexes[k].key, table->definitions[i].name);
        }
        if (!used) {
            return err_set(&op->call->err, ERR_VALIDATION,
                           table->index_count == 0
                               ? INVALID "Number of attributes in KeySchema does not exactly match "
                                         "number of attributes defined in AttributeDefinitions"
                               : INVALID "Some AttributeDefinitions are not used. "
                                         "AttributeDefinitions must equal the used key attributes");
        }
    }
    return true;
}

static bool check_non_key_total(struct create_table *op)
{
    size_t total = 0;
    for (size_t i = 0; i < op->table.index_count; i++) {
        total += op->table.indexes[i].non_key_count;
    }
    if (total > NON_KEY_NAMES_PER_TABLE_MAX) {
        return err_set(&op->call->err, ERR_VALIDATION,
                       INVALID "Number of NonKeyAttributes exceeds per-table limit of %d",
                       NON_KEY_NAMES_PER_TABLE_MAX);
    }
    return true;
}

/* --- settings --- */

static bool make_billing(struct create_table *op)
{
    struct err *err = &op->call->err;
    const struct create_table_request *request = &op->request;
    struct table *table = &op->table;
    table->billing_given = !str_is_null(request->billing_mode.text);
    bool on_demand =
        table->billing_given && request->billing_mode.value == WIRE_BILLING_PAY_PER_REQUEST;
    table->billing = on_demand ? BILLING_PAY_PER_REQUEST : BILLING_PROVISIONED;
    if (on_demand && request->throughput != NULL) {
        return err_set(err, ERR_VALIDATION,
                       INVALID
                       "Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when "
                       "BillingMode is PAY_PER_REQUEST");
    }
    if (!on_demand && request->throughput == NULL) {
        return err_set(err, ERR_VALIDATION,
                       INVALID
                       "ReadCapacityUnits and WriteCapacityUnits must both be specified when "
                       "BillingMode is PROVISIONED");
    }
    if (on_demand) {
        table->on_demand_since_ms = table->created_ms;
        return true;
    }
    return table_request_throughput(request->throughput, &table->throughput, err);
}

static bool make_on_demand(struct create_table *op)
{
    struct err *err = &op->call->err;
    const struct pair_request *given = op->request.on_demand;
    if (given == NULL || (!given->read.given && !given->write.given)) {
        return true;
    }
    const char *member = given->read.given ? "MaxReadRequestUnits" : "MaxWriteRequestUnits";
    if (op->table.billing == BILLING_PROVISIONED) {
        return err_set(err, ERR_VALIDATION,
                       INVALID
                       "%s for OnDemandThroughput cannot be specified when table BillingMode is "
                       "PROVISIONED.",
                       member);
    }
    bool bad_read = given->read.given && given->read.value < 1;
    if (bad_read || (given->write.given && given->write.value < 1)) {
        return err_set(err, ERR_VALIDATION,
                       INVALID
                       "Requested %s for OnDemandThroughput for table is outside of valid range",
                       bad_read ? "MaxReadRequestUnits" : "MaxWriteRequestUnits");
    }
    op->table.on_demand = (struct unit_pair){given->read.value, given->write.value};
    return true;
}

static bool make_stream(struct create_table *op)
{
    const struct stream_request *stream = op->request.stream;
    if (stream == NULL) {
        return true;
    }
    if (!stream->enabled.value && !str_is_null(stream->view.text)) {
        return err_set(&op->call->err, ERR_VALIDATION,
                       INVALID
                       "Table is being created with a stream disabled, UpdateViewType should "
                       "not be specified");
    }
    if (stream->enabled.value && str_is_null(stream->view.text)) {
        return err_set(&op->call->err, ERR_VALIDATION,
                       INVALID "StreamViewType is required when StreamEnabled is true");
    }
    op->table.stream = table_request_stream(stream);
    op->table.stream_since_ms = op->table.stream == STREAM_NONE ? 0 : op->table.created_ms;
    return true;
}

static void make_sse(struct create_table *op)
{
    const struct sse_request *sse = op->request.sse;
    if (sse == NULL || !sse->enabled.value) {
        return;
    }
    op->table.sse_kms = true;
    op->table.sse_key_arn = sse->key;
    if (str_is_null(sse->key)) {
        char id[UUID_TEXT_LEN];
        random_uuid(id);
        struct str region = engine_region(op->call->engine);
        struct str account = engine_account(op->call->engine);
        op->table.sse_key_arn = arena_format(op->call->arena, "arn:aws:kms:%.*s:%.*s:key/%.*s",
                                             STR_ARG(region), STR_ARG(account), UUID_TEXT_LEN, id);
    }
}

static void make_tags(struct create_table *op)
{
    const struct wire_list *tags = &op->request.tags;
    struct str *names = ARENA_ARRAY(op->call->arena, struct str, tags->count + 1);
    struct str *values = ARENA_ARRAY(op->call->arena, struct str, tags->count + 1);
    for (size_t i = 0; i < tags->count; i++) {
        const struct tag_request *tag = ((struct tag_request *const *)tags->elements)[i];
        names[i] = tag->key;
        values[i] = tag->value;
    }
    op->table.tag_names = names;
    op->table.tag_values = values;
    op->table.tag_count = tags->count;
}

static bool make_settings(struct create_table *op)
{
    const struct create_table_request *request = &op->request;
    struct table *table = &op->table;
    table->class_given = !str_is_null(request->table_class.text);
    table->class = table->class_given && request->table_class.value == 1
                       ? TABLE_CLASS_INFREQUENT_ACCESS
                       : TABLE_CLASS_STANDARD;
    table->deletion_protection = request->deletion_protection.value;
    if (request->warm != NULL) {
        table->warm = (struct unit_pair){request->warm->read.value, request->warm->write.value};
    }
    make_sse(op);
    make_tags(op);
    return make_on_demand(op) && make_stream(op);
}

static bool check(struct create_table *op)
{
    struct api_call *call = op->call;
    struct create_table_request *request = &op->request;
    if (!wire_decode(call->arena, &shape_create_table, call->body, request, &call->err)) {
        return false;
    }
    if (str_is_null(request->table_name)) {
        return err_set(&call->err, ERR_VALIDATION,
                       "The parameter 'TableName' is required but was not present in the request");
    }
    op->table = (struct table){.created_ms = clock_wall_ms(), .status = STATUS_ACTIVE};
    random_uuid(op->table.id);
    return api_table_name(call, request->table_name, 3, &op->table.name) &&
           wire_validate(call->arena, &shape_create_table, request, &call->err) &&
           make_billing(op) && make_definitions(op) && make_keys(op) && make_indexes(op) &&
           check_definitions_used(op) && check_non_key_total(op) && make_settings(op);
}

static void create_table_done(struct engine_call *engine_call)
{
    struct create_table *op = CONTAINER_OF(engine_call, struct create_table, engine.call);
    struct api_call *call = op->call;
    call->err = engine_call->err;
    if (call->err.code == ERR_NONE) {
        struct table_sizes sizes = {0};
        api_begin(call);
        api_member(call, STR("TableDescription"));
        describe_table(call, op->engine.table, &sizes, STATUS_CREATING);
        api_end(call);
        table_release(op->engine.table);
    }
    api_finish(call);
}

void op_create_table(struct api_call *call)
{
    struct create_table *op = ARENA_NEW(call->arena, struct create_table);
    op->call = call;
    if (!check(op)) {
        api_finish(call);
        return;
    }
    op->engine = (struct table_create){
        .call = api_engine_call(call, create_table_done),
        .wanted = &op->table,
    };
    engine_create_table(&op->engine);
}
