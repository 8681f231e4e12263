/* BatchGetItem: reads up to 100 items of several tables, up to 16 MB. Called by dispatch.c on the
 * thread of the call. */
#include "api/api_internal.h"
#include "base/hash.h"
#include "err/messages.h"

/* The part of the request for one table. */
struct keys_request {
    struct wire_list keys; /* elements are struct wire_item */
    struct wire_list attributes_to_get;
    struct wire_bool consistent_read;
    struct str projection_expression;
    struct wire_map names;
};

struct batch_get_request {
    struct wire_map tables; /* values are struct keys_request pointers */
    struct wire_enum return_consumed_capacity;
};

static const struct shape shape_keys = {
    .kind = SHAPE_LIST,
    .java = "java.util.List<java.util.Map<java.lang.String, "
            "com.amazonaws.dynamodb.v20120810.AttributeValue>>",
    .min = 1,
    .max = BATCH_GET_KEYS_MAX,
    .terse = true,
    .element = &shape_key,
};
static const struct field keys_fields[] = {
    FIELD_REQUIRED(struct keys_request, keys, "Keys", shape_keys),
    FIELD(struct keys_request, attributes_to_get, "AttributesToGet", shape_attribute_names),
    FIELD(struct keys_request, consistent_read, "ConsistentRead", shape_bool),
    FIELD(struct keys_request, projection_expression, "ProjectionExpression", shape_string),
    FIELD(struct keys_request, names, "ExpressionAttributeNames", shape_name_map),
    FIELD_END,
};
static const struct shape shape_keys_request = {
    .kind = SHAPE_STRUCT,
    .java = "KeysAndAttributes",
    .fields = keys_fields,
    .size = sizeof(struct keys_request),
};
static const struct shape shape_tables = {
    .kind = SHAPE_MAP,
    .java = "java.util.Map<java.lang.String, com.amazonaws.dynamodb.v20120810.KeysAndAttributes>",
    .min = 1,
    .max = BATCH_GET_KEYS_MAX,
    .terse = true,
    .echo_json = true,
    .key = &shape_table_key,
    .element = &shape_keys_request,
};
static const struct field batch_get_fields[] = {
    FIELD_REQUIRED(struct batch_get_request, tables, "RequestItems", shape_tables),
    FIELD(struct batch_get_request, return_consumed_capacity, "ReturnConsumedCapacity",
          shape_return_consumed_capacity),
    FIELD_END,
};
static const struct shape shape_batch_get = {
    .kind = SHAPE_STRUCT,
    .fields = batch_get_fields,
    .size = sizeof(struct batch_get_request),
};

/* One table of the call. */
struct batch_table {
    struct str given_name; /* as in the request: a name or an ARN */
    struct str name;
    const struct keys_request *request;
    const struct table *table;
    const struct projection *projection;
    size_t first; /* index of its first key in batch_get.keys */
    size_t unprocessed;
};

struct batch_get {
    struct api_call *call;
    struct batch_get_request request;
    struct batch_table *tables;
    size_t table_count;
    struct item_key *keys;
    size_t key_count;
    bool
        *held_back; /* for each key, whether a simulated limit refused it; NULL: none was refused */
    struct items_get get;
};

static bool check_keys(struct api_call *call, const struct wire_list *keys)
{
    for (size_t i = 0; i < keys->count; i++) {
        if (!api_check_problem(call, &((const struct wire_item *)keys->elements)[i].problem)) {
            return false;
        }
    }
    return true;
}

static bool check_table(struct batch_get *op, struct batch_table *table)
{
    struct api_call *call = op->call;
    const struct keys_request *request = table->request;
    struct expression_request expressions = {
        .names = &request->names,
        .expressions = {{"ProjectionExpression", request->projection_expression}},
        .expression_count = 1,
        .legacy = {{"AttributesToGet", request->attributes_to_get.given}},
        .legacy_count = 1,
    };
    struct expr_scope scope;
    return api_check_mixing(call, &expressions) &&
           api_attributes_to_get(call, &request->attributes_to_get, &table->projection) &&
           api_scope(call, &expressions, &scope) &&
           api_projection(call, &scope, request->projection_expression, &table->projection) &&
           api_check_used(call, &scope) && check_keys(call, &request->keys);
}

/* Checks that not one table has ProjectionExpression and another AttributesToGet. */
static bool check_mixture(struct batch_get *op)
{
    bool legacy = false;
    bool expressions = false;
    for (size_t i = 0; i < op->table_count; i++) {
        legacy = legacy || op->tables[i].request->attributes_to_get.given;
        expressions = expressions || !str_is_null(op->tables[i].request->projection_expression);
    }
    if (legacy && expressions) {
        return err_set(&op->call->err, ERR_VALIDATION,
                       "Can not use both expression and non-expression parameters in the same "
                       "request: Non-expression parameters: {AttributesToGet} Expression "
                       "parameters: {ProjectionExpression}");
    }
    return true;
}

static bool count_keys(struct batch_get *op)
{
    for (size_t i = 0; i < op->table_count; i++) {
        op->key_count += op->tables[i].request->keys.count;
    }
    return op->key_count <= BATCH_GET_KEYS_MAX ||
           err_set(&op->call->err, ERR_VALIDATION,
                   "Too many items requested for the BatchGetItem call");
}

/* The keys that were seen, a hash table with open addressing. Equal keys have equal bytes: their
 * attributes are sorted and their numbers normalized. A table may occur twice, by name and by ARN.
 */
enum { SEEN_SLOTS = 256 };
static_assert(SEEN_SLOTS / 2 >= BATCH_GET_KEYS_MAX, "some slots stay free");
struct seen_keys {
    struct {
        const struct batch_table *table; /* NULL: free */
        struct value key;
    } slots[SEEN_SLOTS];
};

/* Adds a key; returns false if it is there already. */
static bool add_key(struct seen_keys *seen, const struct batch_table *table, struct value key)
{
    size_t at = hash_64(str_make(key.data, key.len)) % SEEN_SLOTS;
    while (seen->slots[at].table != NULL) {
        if (value_eq(seen->slots[at].key, key) &&
            str_eq(seen->slots[at].table->name, table->name)) {
            return false;
        }
        at = (at + 1) % SEEN_SLOTS;
    }
    seen->slots[at].table = table;
    seen->slots[at].key = key;
    return true;
}

/* Checks that no key occurs twice; done before the tables are looked up. */
static bool check_duplicates(struct batch_get *op)
{
    struct seen_keys seen = {0};
    for (size_t i = 0; i < op->table_count; i++) {
        const struct wire_list *keys = &op->tables[i].request->keys;
        for (size_t k = 0; k < keys->count; k++) {
            if (!add_key(&seen, &op->tables[i],
                         ((const struct wire_item *)keys->elements)[k].value)) {
                return err_set(&op->call->err, ERR_VALIDATION, MESSAGE_DUPLICATE_KEYS);
            }
        }
    }
    return true;
}

/* Fills in op->tables from the request. */
static void list_tables(struct batch_get *op)
{
    const struct wire_map *tables = &op->request.tables;
    op->table_count = tables->count;
    op->tables = ARENA_ARRAY(op->call->arena, struct batch_table, op->table_count);
    for (size_t i = 0; i < op->table_count; i++) {
        struct str given_name = tables->names[i];
        op->tables[i] = (struct batch_table){
            .given_name = given_name,
            .name = api_table_of_key(op->call, given_name),
            .request = ((struct keys_request *const *)tables->values)[i],
        };
    }
}

static bool check_request(struct batch_get *op)
{
    struct api_call *call = op->call;
    struct batch_get_request *request = &op->request;
    call->layer = LAYER_CURRENT;
    if (!api_decode(call, &shape_batch_get, request) ||
        !wire_validate(&shape_batch_get, request, WORDING_CURRENT, &call->err)) {
        return false;
    }
    list_tables(op);
    if (!api_check_table_arns(call) || !count_keys(op) || !check_mixture(op)) {
        return false;
    }
    for (size_t i = 0; i < op->table_count; i++) {
        if (!check_table(op, &op->tables[i])) {
            return false;
        }
    }
    return check_duplicates(op);
}

static bool find_keys(struct batch_get *op)
{
    struct api_call *call = op->call;
    op->keys = ARENA_ARRAY(call->arena, struct item_key, op->key_count);
    size_t count = 0;
    for (size_t i = 0; i < op->table_count; i++) {
        struct batch_table *table = &op->tables[i];
        table->table = api_table(call, table->name);
        if (table->table == NULL ||
            !api_check_key_paths(table->table, table->projection, NULL, &call->err)) {
            return false;
        }
        table->first = count;
        const struct wire_item *given = table->request->keys.elements;
        for (size_t k = 0; k < table->request->keys.count; k++, count++) {
            if (!item_key_from_key(call->engine, table->table, given[k].value, call->arena,
                                   &op->keys[count], &call->err)) {
                return false;
            }
        }
    }
    return true;
}

static void write_item(struct batch_get *op, const struct batch_table *table, struct value item)
{
    struct arena *arena = op->call->arena;
    if (table->projection == NULL) {
        value_json_write_item(op->call->out, item);
        return;
    }
    struct builder builder;
    builder_init(&builder, arena, 256);
    projection_apply(table->projection, item, &builder);
    value_json_write_item(op->call->out, builder_finish(&builder));
}

static bool is_held_back(const struct batch_get *op, size_t number)
{
    return UNLIKELY(op->held_back != NULL) && op->held_back[number];
}

static bool any_is_held_back(const struct batch_get *op, const struct batch_table *table)
{
    for (size_t k = 0; op->held_back != NULL && k < table->request->keys.count; k++) {
        if (op->held_back[table->first + k]) {
            return true;
        }
    }
    return false;
}

/* Checks each key against the simulated limits. Returns false, with call->err set, if they refuse
 * all keys. */
static bool admit_keys(struct batch_get *op)
{
    struct api_call *call = op->call;
    struct err refused = ERR_INIT(call->arena);
    size_t count = 0;
    if (LIKELY(!simulation_is_on(call->meter))) {
        return true;
    }
    op->held_back = ARENA_ARRAY(call->arena, bool, op->key_count);
    for (size_t i = 0; i < op->table_count; i++) {
        const struct batch_table *table = &op->tables[i];
        for (size_t k = table->first; k < table->first + table->request->keys.count; k++) {
            struct meter_access access = {.table = table->table, .partition = op->keys[k].hash};
            op->held_back[k] = !api_admit(call, &access);
            if (op->held_back[k]) {
                refused = call->err;
                call->err = ERR_INIT(call->arena);
                count++;
            }
        }
    }
    if (count == op->key_count) {
        call->err = refused;
        return false;
    }
    call->throttling = (struct throttling){0};
    return true;
}

static void meter_item(struct batch_get *op, const struct batch_table *table, size_t number)
{
    if (!api_is_metered(op->call)) {
        return;
    }
    const struct row *row = &op->get.rows[number];
    bool consistent = table->request->consistent_read.value;
    struct meter_access *access = arena_alloc(op->call->arena, sizeof(*access));
    *access = (struct meter_access){
        .operation = "BatchGetItem",
        .flags = METER_BY_KEY | (consistent ? METER_CONSISTENT : 0u),
        .table = table->table,
        .projection = table->projection,
        .partition = op->keys[number].hash,
        .table_units = capacity_read_units(row->size, consistent),
        .items_read = !value_is_absent(row->item),
        .items_returned = !value_is_absent(row->item),
        .bytes_read = row->size,
        .item_bytes = row->size,
    };
    api_meter(op->call, access);
}

/* Writes the items of one table. Items beyond 16 MB in total are left unprocessed. */
static void write_table(struct batch_get *op, struct batch_table *table, size_t *bytes,
                        struct capacity *capacity)
{
    struct buf *out = op->call->out;
    json_write_string(out, table->given_name);
    JSON_PUT(out, ":[");
    bool first = true;
    for (size_t k = 0; k < table->request->keys.count && !api_is_over_budget(op->call); k++) {
        struct row *row = &op->get.rows[table->first + k];
        if (is_held_back(op, table->first + k)) {
            continue;
        }
        if (!table->request->consistent_read.value) {
            api_see_past_item(op->call, table->table, op->keys[table->first + k].row, row);
        }
        if (*bytes + row->size > BATCH_BYTES_MAX) {
            table->unprocessed = table->request->keys.count - k;
            break;
        }
        *bytes += row->size;
        meter_item(op, table, table->first + k);
        capacity->table += capacity_read_units(row->size, table->request->consistent_read.value);
        if (!value_is_absent(row->item)) {
            if (!first) {
                buf_add_char(out, ',');
            }
            write_item(op, table, row->item);
            first = false;
        }
    }
    JSON_PUT(out, "]");
}

/* What a table of the request has besides its keys, so that the client can send it again. */
static void write_options(struct buf *out, const struct keys_request *request)
{
    if (request->consistent_read.given) {
        JSON_PUT(out, ",\"ConsistentRead\":");
        json_write_bool(out, request->consistent_read.value);
    }
    if (!str_is_null(request->projection_expression)) {
        JSON_PUT(out, ",\"ProjectionExpression\":");
        json_write_string(out, request->projection_expression);
    }
    for (size_t i = 0; i < request->names.count; i++) {
        buf_add(out, i == 0 ? STR(",\"ExpressionAttributeNames\":{") : STR(","));
        json_write_string(out, request->names.names[i]);
        JSON_PUT(out, ":");
        json_write_string(out, ((const struct str *)request->names.values)[i]);
        buf_add(out, i + 1 == request->names.count ? STR("}") : STR(""));
    }
    for (size_t i = 0; i < request->attributes_to_get.count; i++) {
        buf_add(out, i == 0 ? STR(",\"AttributesToGet\":[") : STR(","));
        json_write_string(out, ((const struct str *)request->attributes_to_get.elements)[i]);
        buf_add(out, i + 1 == request->attributes_to_get.count ? STR("]") : STR(""));
    }
}

/* Writes a table's entry of UnprocessedKeys: the remaining keys with the request's settings, so
 * that the client can send it again unchanged. */
static void write_unprocessed(struct batch_get *op, const struct batch_table *table)
{
    struct buf *out = op->call->out;
    const struct keys_request *request = table->request;
    json_write_string(out, table->given_name);
    JSON_PUT(out, ":{\"Keys\":[");
    const struct wire_item *keys = request->keys.elements;
    size_t first = request->keys.count - table->unprocessed;
    bool any = false;
    for (size_t k = 0; k < request->keys.count; k++) {
        if (k >= first || is_held_back(op, table->first + k)) {
            buf_add(out, any ? STR(",") : STR(""));
            value_json_write_item(out, keys[k].value);
            any = true;
        }
    }
    JSON_PUT(out, "]");
    write_options(out, request);
    JSON_PUT(out, "}");
}

static void write_all_unprocessed(struct batch_get *op)
{
    struct buf *out = op->call->out;
    bool first = true;
    JSON_PUT(out, ",\"UnprocessedKeys\":{");
    for (size_t i = 0; i < op->table_count; i++) {
        if (op->tables[i].unprocessed > 0 || any_is_held_back(op, &op->tables[i])) {
            buf_add(out, first ? STR("") : STR(","));
            write_unprocessed(op, &op->tables[i]);
            first = false;
        }
    }
    JSON_PUT(out, "}");
}

static void batch_get_done(struct engine_call *engine_call)
{
    struct batch_get *op = CONTAINER_OF(engine_call, struct batch_get, get.call);
    struct api_call *call = op->call;
    call->err = engine_call->err;
    if (call->err.code != ERR_NONE) {
        api_finish(call);
        return;
    }
    struct capacity_list capacities = {0};
    size_t bytes = 0;
    JSON_PUT(call->out, "{\"Responses\":{");
    for (size_t i = 0; i < op->table_count; i++) {
        buf_add(call->out, i > 0 ? STR(",") : STR(""));
        struct batch_table *table = &op->tables[i];
        write_table(op, table, &bytes,
                    capacity_list_at(&capacities, call->arena, table->table, op->table_count));
    }
    JSON_PUT(call->out, "}");
    write_all_unprocessed(op);
    api_member_capacities(call, &op->request.return_consumed_capacity, &capacities, false,
                          CAPACITY_READ);
    api_end(call);
    api_finish(call);
}

void op_batch_get_item(struct api_call *call)
{
    struct batch_get *op = ARENA_NEW(call->arena, struct batch_get);
    op->call = call;
    if (!check_request(op) || !find_keys(op) || !admit_keys(op)) {
        api_finish(call);
        return;
    }
    op->get = (struct items_get){
        .call = api_engine_call(call, batch_get_done),
        .keys = op->keys,
        .key_count = op->key_count,
    };
    engine_get_items(&op->get);
}
