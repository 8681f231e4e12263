/* CreateTable: checks the request, builds the description of the table, and has the engine add it
 * to the catalog. Called by dispatch.c on the thread of the call. */
#include "api/access/resource_policy.h"
#include "api/tables/create_table.h"
#include "api/tables/index_request.h"
#include "api/tables/table_description.h"
#include "api/tables/tags.h"
#include "base/clock.h"
#include "base/random.h"
#include "err/messages.h"

static const struct field create_table_fields[] = {
    FIELD_REQUIRED(struct create_table_request, definitions, "AttributeDefinitions",
                   shape_definitions),
    FIELD(struct create_table_request, table_name, "TableName", shape_whole_table_name),
    FIELD(struct create_table_request, billing_mode, "BillingMode", shape_billing_mode),
    FIELD(struct create_table_request, throughput, "ProvisionedThroughput", shape_throughput),
    FIELD_REQUIRED(struct create_table_request, key_schema, "KeySchema", shape_key_schema),
    FIELD(struct create_table_request, global_indexes, "GlobalSecondaryIndexes",
          shape_global_indexes),
    FIELD(struct create_table_request, local_indexes, "LocalSecondaryIndexes", shape_local_indexes),
    FIELD(struct create_table_request, stream, "StreamSpecification", shape_stream),
    FIELD(struct create_table_request, sse, "SSESpecification", shape_sse),
    FIELD(struct create_table_request, tags, "Tags", shape_tags),
    FIELD(struct create_table_request, policy, "ResourcePolicy", shape_string),
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
    struct definer definer; /* defines `table` */
    struct table_create engine;
};

/* --- keys --- */

static bool make_keys(struct create_table *op)
{
    const struct create_table_request *request = &op->request;
    if (!index_request_check_two_keys(&op->definer, &request->key_schema, "keySchema")) {
        return false;
    }
    if (op->table.definition_count < request->key_schema.count) {
        return err_set(&op->call->err, ERR_VALIDATION,
                       "Invalid KeySchema: Some index key attribute have no definition");
    }
    if (!index_request_schema(&op->definer, &request->key_schema, INDEX_LOCAL, &op->table.key)) {
        return false;
    }
    bool indexes = request->global_indexes.given || request->local_indexes.given;
    return indexes || op->table.definition_count == request->key_schema.count ||
           err_set(&op->call->err, ERR_VALIDATION, MESSAGE_INVALID MESSAGE_KEY_DEFINITIONS);
}

/* --- indexes --- */

static bool check_local_schema(struct create_table *op, const struct index_request *given,
                               const struct index *index)
{
    struct err *err = &op->call->err;
    if (index->key.range_count == 0) {
        return err_set(err, ERR_VALIDATION,
                       MESSAGE_INVALID "Index KeySchema does not have a range key for index: %.*s",
                       STR_ARG(given->name));
    }
    struct str hash = index->key.hash[0].name;
    struct str table_hash = op->table.key.hash[0].name;
    if (!str_eq(hash, table_hash)) {
        return err_set(err, ERR_VALIDATION,
                       MESSAGE_INVALID
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
        return err_set(err, ERR_VALIDATION, MESSAGE_INVALID MESSAGE_THROUGHPUT_NOT_ALLOWED,
                       STR_ARG(given->name));
    }
    if (given->throughput == NULL && !on_demand) {
        return err_set(err, ERR_VALIDATION, MESSAGE_INVALID MESSAGE_THROUGHPUT_MISSING,
                       STR_ARG(given->name));
    }
    return table_request_new_index(given, &op->table, out, err);
}

static bool check_new_name(struct create_table *op, const struct index *index)
{
    for (const struct index *other = op->table.indexes; other->name.data != NULL; other++) {
        if (other != index && str_eq(other->name, index->name)) {
            return err_set(&op->call->err, ERR_VALIDATION,
                           MESSAGE_INVALID "Duplicate index name: %.*s", STR_ARG(index->name));
        }
    }
    return true;
}

static bool make_local_index(struct create_table *op, const struct index_request *given,
                             const char *path, struct index *out)
{
    *out = (struct index){.name = given->name, .kind = INDEX_LOCAL, .status = STATUS_ACTIVE};
    return index_request_check_two_keys(&op->definer, &given->key_schema, path) &&
           index_request_schema(&op->definer, &given->key_schema, INDEX_LOCAL, &out->key) &&
           check_local_schema(op, given, out) &&
           index_request_projection(&op->definer, given->projection, out) &&
           check_new_name(op, out);
}

static bool make_global_index(struct create_table *op, const struct index_request *given,
                              struct index *out)
{
    *out = (struct index){.name = given->name, .kind = INDEX_GLOBAL, .status = STATUS_ACTIVE};
    return index_request_schema(&op->definer, &given->key_schema, INDEX_GLOBAL, &out->key) &&
           index_request_projection(&op->definer, given->projection, out) &&
           make_global_settings(op, given, out) && check_new_name(op, out);
}

static bool make_local_indexes(struct create_table *op, struct index *out)
{
    struct err *err = &op->call->err;
    const struct wire_list *list = &op->request.local_indexes;
    if (!list->given) {
        return true;
    }
    if (list->count == 0) {
        return err_set(err, ERR_VALIDATION,
                       MESSAGE_INVALID "List of LocalSecondaryIndexes is empty");
    }
    if (op->table.key.range_count == 0) {
        return err_set(err, ERR_VALIDATION,
                       MESSAGE_INVALID
                       "Table KeySchema does not have a range key, which is required when "
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
                   MESSAGE_INVALID "Number of LocalSecondaryIndexes exceeds per-table limit of %d",
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
        return err_set(err, ERR_VALIDATION,
                       MESSAGE_INVALID "List of GlobalSecondaryIndexes is empty");
    }
    for (size_t i = 0; i < list->count && i <= TABLE_GSI_MAX; i++) {
        if (!make_global_index(op, ((struct index_request *const *)list->elements)[i], &out[i])) {
            return false;
        }
    }
    return list->count <= TABLE_GSI_MAX ||
           err_set(err, ERR_VALIDATION,
                   MESSAGE_INVALID "GlobalSecondaryIndex count exceeds the per-table limit of %d",
                   TABLE_GSI_MAX);
}

/* Builds the indexes. Local indexes are checked first, but come after the global ones in the table.
 * The arrays have room for one index of each kind beyond the limit, and for an empty one at the
 * end. */
static bool make_indexes(struct create_table *op)
{
    size_t global_count = MIN(op->request.global_indexes.count, (size_t)TABLE_GSI_MAX + 1);
    size_t local_count = MIN(op->request.local_indexes.count, (size_t)TABLE_LSI_MAX + 1);
    struct index *indexes =
        ARENA_ARRAY(op->call->arena, struct index, global_count + local_count + 1);
    struct index *ordered =
        ARENA_ARRAY(op->call->arena, struct index, global_count + local_count + 1);
    op->table.indexes = indexes; /* in order of checks, for check_new_name() */
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

/* Adds the names of key attributes to the list, unless the list has them. */
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

/* Checks that every attribute definition is used by a key. */
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
    struct str defined = index_request_defined_names(&op->definer);
    return err_set(&op->call->err, ERR_VALIDATION,
                   MESSAGE_INVALID
                   "Some AttributeDefinitions are not used. AttributeDefinitions: [%.*s], "
                   "keys used: [%.*s]",
                   STR_ARG(defined), STR_ARG(list));
}

/* --- settings --- */

static bool make_billing(struct create_table *op)
{
    struct err *err = &op->call->err;
    const struct create_table_request *request = &op->request;
    struct table *table = &op->table;
    bool on_demand = !str_is_null(request->billing_mode.text) &&
                     request->billing_mode.value == WIRE_BILLING_PAY_PER_REQUEST;
    table->was_on_demand = on_demand;
    table->billing = on_demand ? BILLING_PAY_PER_REQUEST : BILLING_PROVISIONED;
    if (on_demand && request->throughput != NULL) {
        return err_set(err, ERR_VALIDATION, MESSAGE_UNITS_NOT_ALLOWED);
    }
    if (!on_demand && request->throughput == NULL) {
        return err_set(err, ERR_VALIDATION,
                       MESSAGE_INVALID
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
                       MESSAGE_INVALID
                       "Table is being created with a stream disabled, UpdateViewType should "
                       "not be specified");
    }
    if (stream->enabled.value && str_is_null(stream->view.text)) {
        return err_set(&op->call->err, ERR_VALIDATION,
                       MESSAGE_INVALID
                       "Table is being created with a stream enabled, UpdateViewType is "
                       "required");
    }
    op->table.stream = table_request_stream(stream);
    return true;
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

static bool make_policy(struct create_table *op)
{
    struct str policy = op->request.policy;
    if (str_is_null(policy)) {
        return true;
    }
    op->table.policy = policy;
    op->table.policy_revision = resource_policy_revision(op->call->arena, STR_NULL);
    return resource_policy_check(op->call, ARN_TABLE, policy);
}

static bool make_settings(struct create_table *op)
{
    const struct create_table_request *request = &op->request;
    struct table *table = &op->table;
    table->class_given = !str_is_null(request->table_class.text);
    table->class = table_request_class(&request->table_class);
    table->deletion_protection = request->deletion_protection.value;
    if (!table_request_check_sse(request->sse, &op->call->err)) {
        return false;
    }
    if (request->sse != NULL) {
        table_request_set_sse(op->call, request->sse, table);
    }
    return table_request_on_demand(request->on_demand, table->billing, "table", &table->on_demand,
                                   &op->call->err) &&
           table_request_new_warm(request->warm, table, NULL, &op->call->err) && make_stream(op) &&
           make_tags(op) && make_policy(op);
}

bool create_table_define(struct api_call *call, const struct create_table_request *request,
                         struct table *out)
{
    struct create_table op = {
        .call = call,
        .request = *request,
        .table = {.name = request->table_name,
                  .created_ms = clock_wall_ms(),
                  .status = STATUS_ACTIVE},
    };
    random_uuid(op.table.id);
    op.definer = (struct definer){.arena = call->arena, .err = &call->err, .table = &op.table};
    bool ok = make_billing(&op) && index_request_definitions(&op.definer, &request->definitions) &&
              make_keys(&op) && make_indexes(&op) && check_definitions_used(&op) &&
              index_request_check_non_key_total(&op.definer) && make_settings(&op);
    *out = op.table;
    return ok;
}

static bool check_request(struct create_table *op)
{
    struct api_call *call = op->call;
    struct create_table_request *request = &op->request;
    return api_decode(call, &shape_create_table, request) &&
           table_request_check_name(call, &shape_create_table, request, request->table_name) &&
           wire_validate(&shape_create_table, request, WORDING_OLDER, &call->err) &&
           create_table_define(call, request, &op->table);
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
        describe_table(call, &(struct description){
                                 .table = op->engine.table,
                                 .sizes = &sizes,
                                 .status = STATUS_CREATING,
                                 .is_new = true,
                             });
        api_end(call);
        table_release(op->engine.table);
    }
    api_finish(call);
}

void op_create_table(struct api_call *call)
{
    struct create_table *op = ARENA_NEW(call->arena, struct create_table);
    op->call = call;
    if (!check_request(op)) {
        api_finish(call);
        return;
    }
    op->engine = (struct table_create){
        .call = api_engine_call(call, create_table_done),
        .wanted = &op->table,
    };
    engine_create_table(&op->engine);
}
