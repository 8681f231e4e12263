/* GlobalSecondaryIndexUpdates of UpdateTable: changes settings of indexes, creates and deletes
 * indexes. AWS does not document in one place which changes are allowed while an index is being
 * created or deleted; rules and messages are as observed. Called by op_update_table.c on the thread
 * of the call. */
#include "api/tables/index_request.h"
#include "api/tables/table_update.h"
#include "err/messages.h"

static const struct field index_settings_fields[] = {
    FIELD_REQUIRED(struct index_request, name, "IndexName", shape_new_index_name),
    FIELD(struct index_request, throughput, "ProvisionedThroughput", shape_throughput),
    FIELD(struct index_request, on_demand, "OnDemandThroughput", shape_on_demand),
    FIELD(struct index_request, warm, "WarmThroughput", shape_warm),
    FIELD_END,
};
static const struct shape shape_index_settings = {
    .kind = SHAPE_STRUCT,
    .java = "UpdateGlobalSecondaryIndexAction",
    .fields = index_settings_fields,
    .size = sizeof(struct index_request),
};
static const struct field index_name_fields[] = {
    FIELD_REQUIRED(struct index_request, name, "IndexName", shape_new_index_name),
    FIELD_END,
};
static const struct shape shape_index_removal = {
    .kind = SHAPE_STRUCT,
    .java = "DeleteGlobalSecondaryIndexAction",
    .fields = index_name_fields,
    .size = sizeof(struct index_request),
};
static const struct field index_update_fields[] = {
    FIELD(struct index_update_request, update, "Update", shape_index_settings),
    FIELD(struct index_update_request, create, "Create", shape_index_creation),
    FIELD(struct index_update_request, remove, "Delete", shape_index_removal),
    FIELD_END,
};
static const struct shape shape_index_update = {
    .kind = SHAPE_STRUCT,
    .java = "GlobalSecondaryIndexUpdate",
    .fields = index_update_fields,
    .size = sizeof(struct index_update_request),
};
const struct shape shape_index_updates = {
    .kind = SHAPE_LIST,
    .java = "java.util.List<com.amazonaws.dynamodb.v20120810.GlobalSecondaryIndexUpdate>",
    .element = &shape_index_update,
};

static bool refuse_second_change(struct err *err)
{
    return err_set(err, ERR_LIMIT_EXCEEDED,
                   "Subscriber limit exceeded: Only 1 online index can be created or deleted "
                   "simultaneously per table");
}

/* --- the request alone --- */

const struct index_update_request *index_update_at(const struct update_table_request *request,
                                                   size_t i)
{
    return ((struct index_update_request *const *)request->index_updates.elements)[i];
}

static const struct index_request *updated_index(const struct index_update_request *update)
{
    return update->update != NULL   ? update->update
           : update->create != NULL ? update->create
                                    : update->remove;
}

static bool check_one_action(const struct index_update_request *update, struct err *err)
{
    int actions = (update->update != NULL) + (update->create != NULL) + (update->remove != NULL);
    if (actions == 0) {
        return err_set(err, ERR_VALIDATION,
                       MESSAGE_INVALID "One of GlobalSecondaryIndexUpdate.Update, "
                                       "GlobalSecondaryIndexUpdate.Create, "
                                       "GlobalSecondaryIndexUpdate.Delete must not be null");
    }
    return actions == 1 ||
           err_set(err, ERR_VALIDATION,
                   MESSAGE_INVALID "Only one global secondary index action is allowed per "
                                   "GlobalSecondaryIndexUpdate object");
}

bool index_updates_check(const struct update_table_request *request, struct err *err)
{
    size_t added_or_removed = 0;
    if (request->index_updates.given && request->index_updates.count == 0) {
        return err_set(err, ERR_VALIDATION,
                       MESSAGE_INVALID "List of GlobalSecondaryIndexUpdates is empty");
    }
    for (size_t i = 0; i < request->index_updates.count; i++) {
        const struct index_update_request *update = index_update_at(request, i);
        if (!check_one_action(update, err)) {
            return false;
        }
        struct str name = updated_index(update)->name;
        const struct pair_request *warm = update->update != NULL ? update->update->warm : NULL;
        if (warm != NULL && !warm->read.given && !warm->write.given) {
            return err_set(err, ERR_VALIDATION,
                           MESSAGE_INVALID
                           "WarmThroughput must have at least one of ReadUnitsPerSecond or "
                           "WriteUnitsPerSecond specified for index: %.*s",
                           STR_ARG(name));
        }
        for (size_t k = 0; k < i; k++) {
            if (str_eq(updated_index(index_update_at(request, k))->name, name)) {
                return err_set(err, ERR_VALIDATION,
                               MESSAGE_INVALID
                               "Only one global secondary index update per index is "
                               "allowed simultaneously. Index: %.*s",
                               STR_ARG(name));
            }
        }
        added_or_removed += update->update == NULL;
        if (i > TABLE_GSI_MAX || added_or_removed > 1) {
            return refuse_second_change(err);
        }
    }
    return true;
}

/* --- states --- */

static bool refuse_in_use(const struct table_update *update, const char *text, struct str index)
{
    return err_set(&update->change->call.err, ERR_RESOURCE_IN_USE,
                   MESSAGE_IN_USE "%s Table: %.*s Index: %.*s", text, STR_ARG(update->before->name),
                   STR_ARG(index));
}

static bool refuse_unknown(const struct table_update *update, struct str index)
{
    return err_set(&update->change->call.err, ERR_RESOURCE_NOT_FOUND,
                   "Requested resource not found: Index %.*s for table %.*s", STR_ARG(index),
                   STR_ARG(update->before->name));
}

static bool refuse_local(const struct table_update *update, const char *verb, struct str index)
{
    return err_set(&update->change->call.err, ERR_VALIDATION,
                   "Cannot %s an index that is not a GlobalSecondaryIndex: %.*s", verb,
                   STR_ARG(index));
}

static bool check_can_update(const struct table_update *update, const struct index *index,
                             struct str name)
{
    if (index == NULL) {
        return refuse_unknown(update, name);
    }
    if (index->kind != INDEX_GLOBAL) {
        return refuse_local(update, "update", name);
    }
    return index->status != STATUS_CREATING || index->backfilling ||
           refuse_in_use(update, "Index is being created but is not backfilling yet. ", name);
}

static bool check_can_create(const struct table_update *update, const struct index *index,
                             struct str name)
{
    const struct table *before = update->before;
    struct err *err = &update->change->call.err;
    if (index != NULL) {
        return index->status == STATUS_CREATING
                   ? refuse_in_use(update, "Index is being created. ", name)
                   : err_set(err, ERR_VALIDATION,
                             "Attempting to create an index which already exists");
    }
    if (before->deleting_index != NULL || table_creating_index(before) != NULL) {
        return refuse_second_change(err);
    }
    return before->index_count - before->local_count < TABLE_GSI_MAX ||
           err_set(err, ERR_LIMIT_EXCEEDED,
                   "Subscriber limit exceeded: Number of global secondary indexes exceeds "
                   "per-table limit of %d",
                   TABLE_GSI_MAX);
}

/* Checks that an index can be deleted; it can be during its backfill. */
static bool check_can_remove(const struct table_update *update, const struct index *index,
                             struct str name)
{
    const struct index *creating = table_creating_index(update->before);
    if (index == NULL) {
        return refuse_unknown(update, name);
    }
    if (index->kind != INDEX_GLOBAL) {
        return refuse_local(update, "delete", name);
    }
    if (index == creating && !index->backfilling) {
        return refuse_in_use(update,
                             "Index creation is in resource allocation phase. Retry deletion "
                             "during backfilling phase or when the index is active.",
                             name);
    }
    return (update->before->deleting_index == NULL && (creating == NULL || creating == index)) ||
           refuse_second_change(&update->change->call.err);
}

static bool check_index_state(const struct table_update *update,
                              const struct index_update_request *given)
{
    struct str name = updated_index(given)->name;
    const struct index *deleting = update->before->deleting_index;
    const struct index *index = table_index(update->before, name);
    if (deleting != NULL && str_eq(deleting->name, name)) {
        return refuse_in_use(update, "Index is being deleted. ", name);
    }
    return given->update != NULL   ? check_can_update(update, index, name)
           : given->create != NULL ? check_can_create(update, index, name)
                                   : check_can_remove(update, index, name);
}

/* Checks that no setting of the table is changed that cannot change while an index is being
 * deleted, or created but not yet in its backfill. */
static bool check_table_state(const struct table_update *update)
{
    const struct update_table_request *request = update->request;
    const struct table *before = update->before;
    struct err *err = &update->change->call.err;
    const struct index *creating = table_creating_index(before);
    const struct index *blocking = before->deleting_index;
    if (blocking == NULL && creating != NULL && !creating->backfilling) {
        blocking = creating;
    }
    if (blocking == NULL) {
        return true;
    }
    const char *state = blocking == creating ? "created" : "deleted";
    bool was_on_demand = before->billing == BILLING_PAY_PER_REQUEST;
    bool switches = !str_is_null(request->billing_mode.text) &&
                    was_on_demand != (request->billing_mode.value == WIRE_BILLING_PAY_PER_REQUEST);
    if (request->throughput != NULL || switches || request->stream != NULL) {
        return err_set(err, ERR_RESOURCE_IN_USE,
                       MESSAGE_IN_USE
                       "Can't change %s when an index is being %s. Table: %.*s Indexes: [%.*s]",
                       request->throughput != NULL || switches ? "table IOPS" : "stream status",
                       state, STR_ARG(before->name), STR_ARG(blocking->name));
    }
    return request->on_demand == NULL ||
           err_set(err, ERR_RESOURCE_IN_USE,
                   MESSAGE_IN_USE
                   "OnDemandThroughput cannot be updated while index %s is in progress "
                   "for indexes: [%.*s]",
                   blocking == creating ? "creation" : "deletion", STR_ARG(blocking->name));
}

bool index_updates_check_states(const struct table_update *update)
{
    for (size_t i = 0; i < update->request->index_updates.count; i++) {
        if (!check_index_state(update, index_update_at(update->request, i))) {
            return false;
        }
    }
    return check_table_state(update);
}

/* --- settings --- */

static bool change_throughput(const struct table_update *update, const struct index_request *given,
                              struct index *index)
{
    struct err *err = &update->change->call.err;
    if (given->throughput == NULL) {
        return true;
    }
    if (update->table->billing == BILLING_PAY_PER_REQUEST) {
        return err_set(err, ERR_VALIDATION, MESSAGE_INVALID MESSAGE_THROUGHPUT_NOT_ALLOWED,
                       STR_ARG(given->name));
    }
    struct throughput checked;
    struct err ignored = ERR_INIT(update->change->call.arena);
    if (!table_request_throughput(given->throughput, &checked, &ignored)) {
        return err_set(err, ERR_VALIDATION,
                       "This operation cannot be performed with given input values. Please contact "
                       "DynamoDB service team for more info: Action Blocked: IndexUpdate");
    }
    return table_update_units(update, given->throughput, given->name, &index->throughput);
}

static bool change_settings(const struct table_update *update, const struct index_request *given)
{
    const struct index *known = table_index(update->table, given->name);
    struct index *index = &update->indexes[known - update->table->indexes];
    struct err *err = &update->change->call.err;
    const struct pair_request *ceiling = given->on_demand;
    bool has_ceiling = ceiling != NULL && (ceiling->read.given || ceiling->write.given);
    if (given->throughput == NULL && !has_ceiling && given->warm == NULL &&
        update->table->billing == BILLING_PAY_PER_REQUEST) {
        return err_set(err, ERR_VALIDATION,
                       MESSAGE_INVALID
                       "The only Updates for index: %.*s when TableThroughputMode is "
                       "PAY_PER_REQUEST can be to OnDemandThroughput, WarmThroughput",
                       STR_ARG(given->name));
    }
    return table_request_raise_warm(given->warm, update->table, index, err) &&
           change_throughput(update, given, index) &&
           table_update_ceiling(update, ceiling, &index->on_demand);
}

/* --- indexes that are created and deleted --- */

/* "SchemaElement: key{a:S:HASH}, SchemaElement: key{b:N:RANGE}", with the types of `table`'s
 * definitions. */
static struct str print_schema(struct arena *arena, const struct key_schema *key,
                               const struct table *table)
{
    struct str text = STR("");
    for (size_t i = 0; i < key->hash_count + key->range_count; i++) {
        bool is_hash = i < key->hash_count;
        struct str name = is_hash ? key->hash[i].name : key->range[i - key->hash_count].name;
        text = arena_format(arena, "%.*s%sSchemaElement: key{%.*s:%s:%s}", STR_ARG(text),
                            i > 0 ? ", " : "", STR_ARG(name),
                            value_type_name(table_definition(table, name)),
                            is_hash ? "HASH" : "RANGE");
    }
    return text;
}

/* Returns the first key schema that has the attribute: that of the table or of an index. */
static const struct key_schema *schema_with(const struct table *table, struct str name)
{
    for (size_t i = 0; i < table->index_count; i++) {
        if (!key_schema_has(&table->key, name) && key_schema_has(&table->indexes[i].key, name)) {
            return &table->indexes[i].key;
        }
    }
    return &table->key;
}

/* Checks that the key attributes of a new index have the same types as in the table. `defined` has
 * the definitions of the request. */
static bool check_same_types(const struct table_update *update, const struct key_schema *key,
                             const struct table *defined)
{
    for (size_t i = 0; i < key->hash_count + key->range_count; i++) {
        struct str name =
            i < key->hash_count ? key->hash[i].name : key->range[i - key->hash_count].name;
        enum value_type known = table_definition(update->before, name);
        if (known == VALUE_NONE || known == table_definition(defined, name)) {
            continue;
        }
        struct arena *arena = update->change->call.arena;
        struct str existing =
            print_schema(arena, schema_with(update->before, name), update->before);
        struct str wanted = print_schema(arena, key, defined);
        return err_set(&update->change->call.err, ERR_VALIDATION,
                       MESSAGE_INVALID
                       "Attributes cannot be redefined. Please check that your attribute "
                       "has the same type as previously defined. Existing schema: "
                       "Schema:[%.*s] New schema: Schema:[%.*s]",
                       STR_ARG(existing), STR_ARG(wanted));
    }
    return true;
}

/* Reads the definitions of the request, which must include all key attributes of the new index. */
static bool define_attributes(const struct table_update *update, const struct definer *definer,
                              struct str index)
{
    const struct wire_list *list = &update->request->definitions;
    if (list->count == 0) {
        return err_set(definer->err, ERR_VALIDATION,
                       MESSAGE_INVALID "AttributeDefinitions is not specified for index: %.*s",
                       STR_ARG(index));
    }
    return index_request_definitions(definer, list);
}

static bool make_throughput(const struct table_update *update, const struct index_request *given,
                            struct index *index)
{
    struct err *err = &update->change->call.err;
    bool on_demand = update->table->billing == BILLING_PAY_PER_REQUEST;
    if (on_demand && given->throughput != NULL) {
        return err_set(err, ERR_VALIDATION,
                       MESSAGE_INVALID
                       "Neither ReadCapacityUnits nor WriteCapacityUnits can be specified "
                       "for index: %.*s when BillingMode is PAY_PER_REQUEST",
                       STR_ARG(given->name));
    }
    if (!on_demand && given->throughput == NULL) {
        return err_set(err, ERR_VALIDATION,
                       MESSAGE_INVALID
                       "Both ReadCapacityUnits and WriteCapacityUnits must be specified "
                       "for index: %.*s",
                       STR_ARG(given->name));
    }
    return table_request_new_index(given, update->table, index, err);
}

/* Merges the definitions of the table and of the request, and drops those that no key uses. */
static void add_definitions(const struct table_update *update, const struct table *defined)
{
    struct arena *arena = update->change->call.arena;
    struct table *table = update->table;
    size_t count = table->definition_count;
    struct attribute_definition *all =
        ARENA_ARRAY(arena, struct attribute_definition, count + defined->definition_count);
    memcpy(all, table->definitions, count * sizeof(*all));
    for (size_t i = 0; i < defined->definition_count; i++) {
        if (table_definition(table, defined->definitions[i].name) == VALUE_NONE) {
            all[count++] = defined->definitions[i];
        }
    }
    table->definitions = all;
    table->definition_count = count;
    table_prune_definitions(arena, table);
}

static bool create_index(const struct table_update *update, const struct index_request *given)
{
    struct table defined = *update->table;
    struct definer definer = {
        .arena = update->change->call.arena, .err = &update->change->call.err, .table = &defined};
    struct index index = {.name = given->name, .kind = INDEX_GLOBAL};
    if (!define_attributes(update, &definer, given->name) ||
        !index_request_schema(&definer, &given->key_schema, INDEX_GLOBAL, &index.key) ||
        !check_same_types(update, &index.key, &defined) ||
        !index_request_projection(&definer, given->projection, &index) ||
        !make_throughput(update, given, &index)) {
        return false;
    }
    table_add_index(update->change, update->table, &index);
    add_definitions(update, &defined);
    definer.table = update->table;
    return index_request_check_non_key_total(&definer);
}

bool index_updates_change(struct table_update *update)
{
    const struct update_table_request *request = update->request;
    const struct index_update_request *added_or_removed = NULL;
    for (size_t i = 0; i < request->index_updates.count; i++) {
        const struct index_update_request *given = index_update_at(request, i);
        if (given->update == NULL) {
            added_or_removed = given;
        } else if (!change_settings(update, given->update)) {
            return false;
        }
    }
    if (added_or_removed != NULL && added_or_removed->create != NULL) {
        return create_index(update, added_or_removed->create);
    }
    if (added_or_removed != NULL) {
        const struct index *index = table_index(update->table, added_or_removed->remove->name);
        table_remove_index(update->change, update->table, (size_t)(index - update->table->indexes));
    }
    return true;
}
