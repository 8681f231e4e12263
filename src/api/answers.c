/* Writes the parts that several answers have: ConsumedCapacity, ItemCollectionMetrics, plans.
 * Called by the operations on the thread of the call; keeps no state. */
#include "api/api_internal.h"
#include "plan/plan.h"

static void write_units(struct buf *out, double units, bool transactional, enum capacity_kind kind)
{
    JSON_PUT(out, "\"CapacityUnits\":");
    json_write_double(out, units);
    if (transactional) {
        buf_add(out, kind == CAPACITY_READ ? STR(",\"ReadCapacityUnits\":")
                                           : STR(",\"WriteCapacityUnits\":"));
        json_write_double(out, units);
    }
}

static void write_index_units(struct buf *out, const struct table *table,
                              const struct capacity *capacity, enum index_kind index_kind,
                              bool transactional, enum capacity_kind kind)
{
    bool first = true;
    for (size_t i = 0; i < table->index_count; i++) {
        if (table->indexes[i].kind != index_kind || !capacity->index_used[i]) {
            continue;
        }
        if (!first) {
            JSON_PUT(out, ",");
        } else if (index_kind == INDEX_GLOBAL) {
            JSON_PUT(out, ",\"GlobalSecondaryIndexes\":{");
        } else {
            JSON_PUT(out, ",\"LocalSecondaryIndexes\":{");
        }
        first = false;
        json_write_plain_string(out, table->indexes[i].name);
        JSON_PUT(out, ":{");
        write_units(out, capacity->indexes[i], transactional, kind);
        JSON_PUT(out, "}");
    }
    if (!first) {
        JSON_PUT(out, "}");
    }
}

void api_write_capacity(struct buf *out, const struct table *table, const struct capacity *capacity,
                        bool indexes, bool transactional, enum capacity_kind kind)
{
    JSON_PUT(out, "{\"TableName\":");
    json_write_plain_string(out, table->name);
    JSON_PUT(out, ",");
    write_units(out, capacity_total(capacity), transactional, kind);
    if (indexes) {
        JSON_PUT(out, ",\"Table\":{");
        write_units(out, capacity->table, transactional, kind);
        JSON_PUT(out, "}");
        write_index_units(out, table, capacity, INDEX_GLOBAL, transactional, kind);
        write_index_units(out, table, capacity, INDEX_LOCAL, transactional, kind);
    }
    JSON_PUT(out, "}");
}

void api_write_collection_metrics(struct buf *out, const struct table *table, struct value hash,
                                  int64_t bytes)
{
    /* The service reports a range: the size rounded down to whole GB, and one GB more. */
    int64_t gigabytes = bytes >> 30;
    JSON_PUT(out, "{\"ItemCollectionKey\":{");
    json_write_string(out, table->key.hash[0].name);
    JSON_PUT(out, ":");
    value_json_write(out, hash);
    JSON_PUT(out, "},\"SizeEstimateRangeGB\":[");
    json_write_double(out, (double)gigabytes);
    JSON_PUT(out, ",");
    json_write_double(out, (double)gigabytes + 1);
    JSON_PUT(out, "]}");
}

/* Returns whether an earlier write is in the same item collection. */
static bool seen_before(const struct item_write *const *writes, size_t i)
{
    for (size_t k = 0; k < i; k++) {
        if (writes[k]->table == writes[i]->table &&
            value_eq(writes[k]->key.hash, writes[i]->key.hash)) {
            return true;
        }
    }
    return false;
}

/* Writes the item collections of the table of writes[first], which is the first write on that
 * table. */
static void write_collections(struct buf *out, const struct item_write *const *writes, size_t first,
                              size_t count)
{
    const struct table *table = writes[first]->table;
    json_write_plain_string(out, table->name);
    JSON_PUT(out, ":[");
    for (size_t i = first; i < count; i++) {
        if (writes[i]->table == table && !seen_before(writes, i)) {
            buf_add(out, i > first ? STR(",") : STR(""));
            api_write_collection_metrics(out, table, writes[i]->key.hash,
                                         writes[i]->collection_bytes);
        }
    }
    JSON_PUT(out, "]");
}

static bool is_first_on_table(const struct item_write *const *writes, size_t i)
{
    for (size_t k = 0; k < i; k++) {
        if (writes[k]->table == writes[i]->table) {
            return false;
        }
    }
    return true;
}

void api_member_collections(struct api_call *call, const struct wire_enum *wanted,
                            const struct item_write *const *writes, size_t count)
{
    bool any = false;
    if (str_is_null(wanted->text) || wanted->value != METRICS_SIZE) {
        return;
    }
    for (size_t i = 0; i < count; i++) {
        if (writes[i]->table->local_count == 0 || !is_first_on_table(writes, i)) {
            continue;
        }
        if (any) {
            JSON_PUT(call->out, ",");
        } else {
            api_member(call, STR("ItemCollectionMetrics"));
            JSON_PUT(call->out, "{");
        }
        write_collections(call->out, writes, i, count);
        any = true;
    }
    buf_add(call->out, any ? STR("}") : STR(""));
}

void api_member_capacity(struct api_call *call, const struct wire_enum *wanted,
                         const struct table *table, const struct capacity *capacity,
                         enum capacity_kind kind)
{
    if (api_wants_capacity(wanted)) {
        api_member(call, STR("ConsumedCapacity"));
        api_write_capacity(call->out, table, capacity, wanted->value == CAPACITY_INDEXES, false,
                           kind);
    }
}

struct capacity *capacity_list_at(struct capacity_list *list, struct arena *arena,
                                  const struct table *table, size_t tables_max)
{
    for (size_t i = 0; i < list->count; i++) {
        if (list->tables[i] == table) {
            return &list->capacities[i];
        }
    }
    if (list->count == 0) {
        list->tables = ARENA_ARRAY(arena, const struct table *, tables_max);
        list->capacities = ARENA_ARRAY(arena, struct capacity, tables_max);
    }
    assert(list->count < tables_max);
    list->tables[list->count] = table;
    return &list->capacities[list->count++];
}

void capacity_add(struct capacity *to, const struct capacity *from, double table_factor)
{
    to->table += from->table * table_factor;
    for (size_t i = 0; i < CAPACITY_INDEX_MAX; i++) {
        to->indexes[i] += from->indexes[i];
        to->index_used[i] = to->index_used[i] || from->index_used[i];
    }
}

void api_member_capacities(struct api_call *call, const struct wire_enum *wanted,
                           const struct capacity_list *list, bool transactional,
                           enum capacity_kind kind)
{
    if (!api_wants_capacity(wanted)) {
        return;
    }
    api_member(call, STR("ConsumedCapacity"));
    buf_add_char(call->out, '[');
    for (size_t i = 0; i < list->count; i++) {
        if (i > 0) {
            buf_add_char(call->out, ',');
        }
        api_write_capacity(call->out, list->tables[i], &list->capacities[i],
                           wanted->value == CAPACITY_INDEXES, transactional, kind);
    }
    buf_add_char(call->out, ']');
}

void api_write_failed_item(struct buf *out, struct value item)
{
    if (!value_is_absent(item)) {
        JSON_PUT(out, ",\"Item\":");
        value_json_write_item(out, item);
    }
}

const char *api_short_code(enum err_code code)
{
    switch (code) {
    case ERR_NONE:
        return "None";
    case ERR_ACCESS_DENIED:
        return "AccessDenied";
    case ERR_CONDITIONAL_CHECK_FAILED:
        return "ConditionalCheckFailed";
    case ERR_DUPLICATE_ITEM:
        return "DuplicateItem";
    case ERR_RESOURCE_NOT_FOUND:
        return "ResourceNotFound";
    case ERR_ITEM_COLLECTION_SIZE_LIMIT_EXCEEDED:
        return "ItemCollectionSizeLimitExceeded";
    case ERR_OVER_THROUGHPUT:
        return "ProvisionedThroughputExceeded";
    case ERR_THROTTLING:
        return "ThrottlingError";
    case ERR_TRANSACTION_CONFLICT:
        return "TransactionConflict";
    case ERR_VALIDATION:
        return "ValidationError";
    default:
        return "InternalServerError";
    }
}

void api_finish_with_plan(struct api_call *call, const struct plan *plan)
{
    struct buf text = {0};
    plan_explain(&text, plan);
    api_begin(call);
    api_member(call, STR("Plan"));
    json_write_string(call->out, buf_str(&text));
    api_end(call);
    buf_finish(&text);
    api_finish(call);
}
