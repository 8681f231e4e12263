#include "api/describe.h"
#include "api/table_request.h"
#include "api/tags.h"
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

/* Only here must a name be that long. */
static const struct shape shape_new_table_name = {.kind = SHAPE_STRING, .min = 3, .max = 255};
static const struct field create_table_fields[] = {
    FIELD_REQUIRED(struct create_table_request, definitions, "AttributeDefinitions",
                   shape_definitions),
    FIELD(struct create_table_request, table_name, "TableName", shape_new_table_name),
    FIELD(struct create_table_request, billing_mode, "BillingMode", shape_billing_mode),
    FIELD(struct create_table_request, throughput, "ProvisionedThroughput", shape_throughput),
    FIELD_REQUIRED(struct create_table_request, key_schema, "KeySchema", shape_key_schema),
    FIELD(struct create_table_request, global_indexes, "GlobalSecondaryIndexes",
          shape_global_indexes),
    FIELD(struct create_table_request, local_indexes, "LocalSecondaryIndexes", shape_local_indexes),
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

/* More definitions than any table can use, and more names than a text should list. */
enum { DEFINITIONS_MAX = 2 + TABLE_LSI_MAX + TABLE_GSI_MAX * 2 * KEY_ATTRIBUTES_MAX };
enum { NAMES_MAX = 32 };

/* --- keys --- */

static const struct key_element_request *element_at(const struct wire_list *list, size_t i)
{
    return ((struct key_element_request *const *)list->elements)[i];
}

/* "a, b" */
static struct str list_names(struct arena *arena, const struct wire_list *schema)
{
    struct str names = STR("");
    for (size_t i = 0; i < schema->count && i < NAMES_MAX; i++) {
        names = arena_format(arena, "%.*s%s%.*s", STR_ARG(names), i > 0 ? ", " : "",
                             STR_ARG(element_at(schema, i)->name));
    }
    return names;
}

static struct str list_definitions(struct arena *arena, const struct table *table)
{
    struct str names = STR("");
    for (size_t i = 0; i < table->definition_count && i < NAMES_MAX; i++) {
        names = arena_format(arena, "%.*s%s%.*s", STR_ARG(names), i > 0 ? ", " : "",
                             STR_ARG(table->definitions[i].name));
    }
    return names;
}

static bool check_defined(struct create_table *op, const struct wire_list *schema)
{
    struct arena *arena = op->call->arena;
    for (size_t i = 0; i < schema->count; i++) {
        if (table_definition(&op->table, element_at(schema, i)->name) == VALUE_NONE) {
            struct str keys = list_names(arena, schema);
            struct str defined = list_definitions(arena, &op->table);
            return err_set(&op->call->err, ERR_VALIDATION,
                           INVALID "Some index key attributes are not defined in "
                                   "AttributeDefinitions. Keys: [%.*s], AttributeDefinitions: "
                                   "[%.*s]",
                           STR_ARG(keys), STR_ARG(defined));
        }
    }
    return true;
}

static bool check_different(const struct wire_list *schema, struct err *err)
{
    for (size_t i = 0; i < schema->count; i++) {
        for (size_t k = 0; k < i; k++) {
            if (str_eq(element_at(schema, i)->name, element_at(schema, k)->name)) {
                return err_set(err, ERR_VALIDATION,
                               "Both the Hash Key and the Range Key element in the KeySchema have "
                               "the same name");
            }
        }
    }
    return true;
}

static bool is_hash(const struct wire_list *schema, size_t i)
{
    return element_at(schema, i)->type.value == 0;
}

/* A hash key, and then perhaps a range key; a global index may have several of each. */
static bool check_types(const struct wire_list *schema, bool global, struct err *err)
{
    if (!is_hash(schema, 0)) {
        return err_set(err, ERR_VALIDATION,
                       "Invalid KeySchema: The first KeySchemaElement is not a HASH key type");
    }
    if (!global && schema->count > 1 && is_hash(schema, 1)) {
        return err_set(err, ERR_VALIDATION,
                       "Invalid KeySchema: The second KeySchemaElement is not a RANGE key type");
    }
    for (size_t i = 1; i < schema->count; i++) {
        if (is_hash(schema, i) && !is_hash(schema, i - 1)) {
            return err_set(
                err, ERR_VALIDATION,
                "Invalid KeySchema: HASH key elements must come before RANGE key elements");
        }
    }
    return true;
}

/* Adds the elements of one kind, which stand together. */
static bool add_elements(const struct create_table *op, const struct wire_list *schema, bool hash,
                         struct key_attribute *out, size_t *out_count)
{
    for (size_t i = 0; i < schema->count; i++) {
        if (is_hash(schema, i) != hash) {
            continue;
        }
        if (*out_count == KEY_ATTRIBUTES_MAX) {
            return err_set(&op->call->err, ERR_VALIDATION,
                           INVALID "Too many %s keys in a KeySchema", hash ? "hash" : "range");
        }
        struct str name = element_at(schema, i)->name;
        out[(*out_count)++] = (struct key_attribute){
            .name = name,
            .type = table_definition(&op->table, name),
        };
    }
    return true;
}

static bool make_schema(struct create_table *op, const struct wire_list *schema, bool global,
                        struct key_schema *out)
{
    return check_defined(op, schema) && check_different(schema, &op->call->err) &&
           check_types(schema, global, &op->call->err) &&
           add_elements(op, schema, true, out->hash, &out->hash_count) &&
           add_elements(op, schema, false, out->range, &out->range_count);
}

static bool make_definitions(struct create_table *op)
{
    const struct wire_list *list = &op->request.definitions;
    struct attribute_definition *definitions =
        ARENA_ARRAY(op->call->arena, struct attribute_definition, list->count + 1);
    if (list->count > DEFINITIONS_MAX) { /* more than all keys of all indexes can be */
        return err_set(&op->call->err, ERR_VALIDATION,
                       INVALID "Number of attributes in KeySchema does not exactly match number of "
                               "attributes defined in AttributeDefinitions");
    }
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

/* A table and a local index have two keys at most; the model allows more, for global indexes. */
static bool check_two_keys(struct create_table *op, const struct wire_list *schema,
                           const char *path)
{
    struct arena *arena = op->call->arena;
    struct str list = STR("");
    for (size_t i = 0; schema->count > 2 && i < schema->count && i < NAMES_MAX; i++) {
        list = arena_format(arena, "%.*s%sKeySchemaElement(attributeName=%.*s, keyType=%.*s)",
                            STR_ARG(list), i > 0 ? ", " : "", STR_ARG(element_at(schema, i)->name),
                            STR_ARG(element_at(schema, i)->type.text));
    }
    return schema->count <= 2 ||
           err_set(&op->call->err, ERR_VALIDATION,
                   "1 validation error detected: Value '[%.*s]' at '%s' failed to satisfy "
                   "constraint: Member must have length less than or equal to 2",
                   STR_ARG(list), path);
}

static bool make_keys(struct create_table *op)
{
    const struct create_table_request *request = &op->request;
    if (!check_two_keys(op, &request->key_schema, "keySchema")) {
        return false;
    }
    if (op->table.definition_count < request->key_schema.count) {
        return err_set(&op->call->err, ERR_VALIDATION,
                       "Invalid KeySchema: Some index key attribute have no definition");
    }
    if (!make_schema(op, &request->key_schema, false, &op->table.key)) {
        return false;
    }
    bool indexes = request->global_indexes.given || request->local_indexes.given;
    return indexes || op->table.definition_count == request->key_schema.count ||
           err_set(&op->call->err, ERR_VALIDATION,
                   INVALID "Number of attributes in KeySchema does not exactly match number of "
                           "attributes defined in AttributeDefinitions");
}

/* --- indexes --- */

/* OnDemandThroughput of the table or of an index. */
static bool make_on_demand(struct create_table *op, const struct pair_request *given,
                           const char *of, struct unit_pair *out)
{
    struct err *err = &op->call->err;
    if (given == NULL || (!given->read.given && !given->write.given)) {
        return true;
    }
    if (op->table.billing == BILLING_PROVISIONED) {
        return err_set(err, ERR_VALIDATION,
                       INVALID
                       "%s for OnDemandThroughput cannot be specified when table BillingMode is "
                       "PROVISIONED.",
                       given->read.given ? "MaxReadRequestUnits" : "MaxWriteRequestUnits");
    }
    bool bad_read = given->read.given && given->read.value < 1;
    if (bad_read || (given->write.given && given->write.value < 1)) {
        return err_set(err, ERR_VALIDATION,
                       INVALID
                       "Requested %s for OnDemandThroughput for %s is outside of valid range",
                       bad_read ? "MaxReadRequestUnits" : "MaxWriteRequestUnits", of);
    }
    *out = (struct unit_pair){given->read.value, given->write.value};
    return true;
}

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

static bool check_local_schema(struct create_table *op, const struct index_request *given,
                               const struct index *index)
{
    struct err *err = &op->call->err;
    if (index->key.range_count == 0) {
        return err_set(err, ERR_VALIDATION,
                       INVALID "Index KeySchema does not have a range key for index: %.*s",
                       STR_ARG(given->name));
    }
    struct str hash = index->key.hash[0].name;
    struct str table_hash = op->table.key.hash[0].name;
    if (!str_eq(hash, table_hash)) {
        return err_set(err, ERR_VALIDATION,
                       INVALID
                       "Index KeySchema does not have the same leading hash key as table "
                       "KeySchema for index: %.*s. index hash key: %.*s, table hash key: %.*s",
                       STR_ARG(given->name), STR_ARG(hash), STR_ARG(table_hash));
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
    if (!make_on_demand(op, given->on_demand, "index", &out->on_demand)) {
        return false;
    }
    if (given->warm != NULL) {
        out->warm = (struct unit_pair){given->warm->read.value, given->warm->write.value};
    }
    return true;
}

static bool check_new_name(struct create_table *op, const struct index *index)
{
    for (const struct index *other = op->table.indexes; other->name.data != NULL; other++) {
        if (other != index && str_eq(other->name, index->name)) {
            return err_set(&op->call->err, ERR_VALIDATION, INVALID "Duplicate index name: %.*s",
                           STR_ARG(index->name));
        }
    }
    return true;
}

static bool make_local_index(struct create_table *op, const struct index_request *given,
                             const char *path, struct index *out)
{
    *out = (struct index){.name = given->name, .kind = INDEX_LOCAL, .status = STATUS_ACTIVE};
    return check_two_keys(op, &given->key_schema, path) &&
           make_schema(op, &given->key_schema, false, &out->key) &&
           check_local_schema(op, given, out) && make_projection(op, given, out) &&
           check_new_name(op, out);
}

static bool make_global_index(struct create_table *op, const struct index_request *given,
                              struct index *out)
{
    *out = (struct index){.name = given->name, .kind = INDEX_GLOBAL, .status = STATUS_ACTIVE};
    return make_schema(op, &given->key_schema, true, &out->key) &&
           make_projection(op, given, out) && make_global_settings(op, given, out) &&
           check_new_name(op, out);
}

static bool make_local_indexes(struct create_table *op, struct index *out)
{
    struct err *err = &op->call->err;
    const struct wire_list *list = &op->request.local_indexes;
    if (!list->given) {
        return true;
    }
    if (list->count == 0) {
        return err_set(err, ERR_VALIDATION, INVALID "List of LocalSecondaryIndexes is empty");
    }
    if (op->table.key.range_count == 0) {
        return err_set(err, ERR_VALIDATION,
                       INVALID "Table KeySchema does not have a range key, which is required when "
                               "specifying a LocalSecondaryIndex");
    }
    for (size_t i = 0; i < list->count && i <= TABLE_LSI_MAX; i++) {
        struct str path =
            arena_format(op->call->arena, "localSecondaryIndexes.%zu.member.keySchema", i + 1);
        if (!make_local_index(op, ((struct index_request *const *)list->elements)[i], path.data,
                              &out[i])) {
            return false;
        }
    }
    return list->count <= TABLE_LSI_MAX ||
           err_set(err, ERR_VALIDATION,
                   INVALID "Number of LocalSecondaryIndexes exceeds per-table limit of %d",
                   TABLE_LSI_MAX);
}

static bool make_global_indexes(struct create_table *op, struct index *out)
{
    struct err *err = &op->call->err;
    const struct wire_list *list = &op->request.global_indexes;
    if (!list->given) {
        return true;
    }
    if (list->count == 0) {
        return err_set(err, ERR_VALIDATION, INVALID "List of GlobalSecondaryIndexes is empty");
    }
    for (size_t i = 0; i < list->count && i <= TABLE_GSI_MAX; i++) {
        if (!make_global_index(op, ((struct index_request *const *)list->elements)[i], &out[i])) {
            return false;
        }
    }
    return list->count <= TABLE_GSI_MAX ||
           err_set(err, ERR_VALIDATION,
                   INVALID "GlobalSecondaryIndex count exceeds the per-table limit of %d",
                   TABLE_GSI_MAX);
}

/* The local ones are looked at first, but stand behind the global ones. Room for one of each kind
 * too many, and an end. */
static bool make_indexes(struct create_table *op)
{
    size_t global_count = MIN(op->request.global_indexes.count, (size_t)TABLE_GSI_MAX + 1);
    size_t local_count = MIN(op->request.local_indexes.count, (size_t)TABLE_LSI_MAX + 1);
    struct index *indexes =
        ARENA_ARRAY(op->call->arena, struct index, global_count + local_count + 1);
    struct index *ordered =
        ARENA_ARRAY(op->call->arena, struct index, global_count + local_count + 1);
    op->table.indexes = indexes; /* as they come, for their names */
    if (!make_local_indexes(op, indexes) || !make_global_indexes(op, indexes + local_count)) {
        return false;
    }
    memcpy(ordered, indexes + local_count, global_count * sizeof(*indexes));
    memcpy(ordered + global_count, indexes, local_count * sizeof(*indexes));
    op->table.indexes = ordered;
    op->table.index_count = global_count + local_count;
    op->table.local_count = local_count;
    return true;
}

/* Adds the names of the schema that the list does not have. */
static void add_used(const struct key_attribute *attributes, size_t count, struct str *used,
                     size_t *used_count)
{
    for (size_t i = 0; i < count; i++) {
        size_t k = 0;
        while (k < *used_count && !str_eq(used[k], attributes[i].name)) {
            k++;
        }
        if (k == *used_count) {
            used[(*used_count)++] = attributes[i].name;
        }
    }
}

/* Every definition must be some key. */
static bool check_definitions_used(struct create_table *op)
{
    const struct table *table = &op->table;
    struct arena *arena = op->call->arena;
    struct str used[DEFINITIONS_MAX];
    size_t used_count = 0;
    add_used(table->key.hash, table->key.hash_count, used, &used_count);
    add_used(table->key.range, table->key.range_count, used, &used_count);
    for (size_t i = 0; i < table->index_count; i++) {
        const struct key_schema *key = &table->indexes[i].key;
        add_used(key->hash, key->hash_count, used, &used_count);
        add_used(key->range, key->range_count, used, &used_count);
    }
    if (used_count == table->definition_count) {
        return true;
    }
    struct str list = STR("");
    for (size_t i = 0; i < used_count && i < NAMES_MAX; i++) {
        list =
            arena_format(arena, "%.*s%s%.*s", STR_ARG(list), i > 0 ? ", " : "", STR_ARG(used[i]));
    }
    struct str defined = list_definitions(arena, table);
    return err_set(&op->call->err, ERR_VALIDATION,
                   INVALID "Some AttributeDefinitions are not used. AttributeDefinitions: [%.*s], "
                           "keys used: [%.*s]",
                   STR_ARG(defined), STR_ARG(list));
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

static bool make_tags(struct create_table *op)
{
    const struct wire_list *tags = &op->request.tags;
    if (!tags_check(tags, &op->call->err)) {
        return false;
    }
    struct str *names = ARENA_ARRAY(op->call->arena, struct str, tags->count + 1);
    struct str *values = ARENA_ARRAY(op->call->arena, struct str, tags->count + 1);
    for (size_t i = 0; i < tags->count; i++) {
        names[i] = tags_at(tags, i)->key;
        values[i] = tags_at(tags, i)->value;
    }
    op->table.tag_names = names;
    op->table.tag_values = values;
    op->table.tag_count = tags->count;
    return true;
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
    return make_on_demand(op, request->on_demand, "table", &table->on_demand) && make_stream(op) &&
           make_tags(op);
}

static bool check(struct create_table *op)
{
    struct api_call *call = op->call;
    struct create_table_request *request = &op->request;
    if (!wire_decode(call->arena, &shape_create_table, call->body, request, &call->err)) {
        return false;
    }
    if (!table_request_check_name(call, &shape_create_table, request, request->table_name) ||
        !wire_validate(&shape_create_table, request, WORDING_OLDER, &call->err)) {
        return false;
    }
    op->table = (struct table){
        .name = request->table_name, .created_ms = clock_wall_ms(), .status = STATUS_ACTIVE};
    random_uuid(op->table.id);
    return make_billing(op) && make_definitions(op) && make_keys(op) && make_indexes(op) &&
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
