/* Builds the request of each operation. Called by workloads.c once per thread and operation. */
#include "bench/ops_internal.h"

/* The service's limits, minus a reserve for what is around the items. */
static const size_t batch_get_bytes_max = (size_t)15 << 20;
static const size_t transact_bytes_max = 3500000;
static const uint64_t page_bytes = (uint64_t)1 << 20;
/* {"UnprocessedItems":{}} and the like; a longer response lists unprocessed items. */
static const uint64_t all_processed_max = 64;

enum op_items op_items(enum op op, bool last)
{
    switch (op) {
    case OP_PUT:
    case OP_PUT_CONDITIONAL:
    case OP_BATCH_WRITE:
        return ITEMS_NEW;
    case OP_TRANSACT_4:
    case OP_TRANSACT_100:
        return last ? ITEMS_SPREAD : ITEMS_NEW;
    case OP_LOAD:
        return ITEMS_CONSECUTIVE;
    default:
        return ITEMS_SPREAD;
    }
}

static int fit(int wanted, size_t bytes_max, const struct test_table *table)
{
    return (int)MAX(MIN((size_t)wanted, bytes_max / table->item_bytes), (size_t)1);
}

/* Returns the least number of items in a full page of one partition. */
static int page_items(const struct test_table *table)
{
    uint64_t in_page = MAX(page_bytes / table->item_bytes, (uint64_t)2) - 1;
    return (int)MIN(in_page, MIN(table->per_partition, table->item_count));
}

int op_item_count(enum op op, const struct test_table *table)
{
    switch (op) {
    case OP_QUERY_10:
        return (int)MIN((uint64_t)10, (table->item_count - 1) % table->per_partition + 1);
    case OP_GSI_10:
        return (int)MIN((uint64_t)10, table->item_count / table->owner_count);
    case OP_QUERY_1MB:
    case OP_SCAN:
    case OP_SCAN_ON:
        return page_items(table);
    case OP_BATCH_GET:
        return (int)MIN((uint64_t)fit(100, batch_get_bytes_max, table), table->item_count);
    case OP_BATCH_WRITE:
        return 25;
    case OP_LOAD:
        return (int)MAX(MIN((uint64_t)25, table->item_count - 1), (uint64_t)1);
    case OP_TRANSACT_4:
        return 4;
    case OP_TRANSACT_100:
        return MAX(fit(100, transact_bytes_max, table), 2);
    default:
        return 1;
    }
}

static void add_table(struct request *out, const struct test_table *table)
{
    request_add(out, "{\"TableName\":\"%.*s\"", STR_ARG(table->name));
}

static void build_get(struct request *out, const struct test_table *table)
{
    add_table(out, table);
    request_add(out, ",\"Key\":");
    request_add_key(out, 0);
    request_add(out, "}");
}

static void build_put(struct request *out, const struct test_table *table, bool conditional)
{
    add_table(out, table);
    request_add(out, ",\"Item\":");
    request_add_item(out, table, 0);
    if (conditional) {
        request_add(out, ",\"ConditionExpression\":\"attribute_not_exists(pk)\"");
    }
    request_add(out, "}");
}

static void add_increment(struct request *out, const struct test_table *table, int item)
{
    add_table(out, table);
    request_add(out, ",\"Key\":");
    request_add_key(out, item);
    request_add(out, ",\"UpdateExpression\":\"SET #c = #c + :one\","
                     "\"ExpressionAttributeNames\":{\"#c\":\"count\"},"
                     "\"ExpressionAttributeValues\":{\":one\":{\"N\":\"1\"}}}");
}

static void build_set_field(struct request *out, const struct test_table *table)
{
    add_table(out, table);
    request_add(out, ",\"Key\":");
    request_add_key(out, 0);
    request_add(out, ",\"UpdateExpression\":\"SET field0 = :v\","
                     "\"ExpressionAttributeValues\":{\":v\":{\"S\":\"");
    request_add_slot(out, SLOT_FIELD, 0, 0, table->field_bytes);
    request_add(out, "\"}}}");
}

static void build_query(struct request *out, const struct test_table *table, bool whole)
{
    add_table(out, table);
    request_add(out,
                ",\"KeyConditionExpression\":\"pk = :p%s\","
                "\"ExpressionAttributeValues\":{\":p\":{\"S\":\"",
                whole ? "" : " AND sk >= :s");
    request_add_slot(out, SLOT_PARTITION, 0, 0, KEY_WIDTH);
    if (whole) {
        request_add(out, "\"}}}");
        return;
    }
    request_add(out, "\"},\":s\":{\"S\":\"");
    request_add_slot(out, SLOT_SORT, 0, 0, KEY_WIDTH);
    request_add(out, "\"}},\"Limit\":");
    request_add_slot(out, SLOT_LIMIT, 0, 0, LIMIT_WIDTH);
    request_add(out, "}");
}

static void build_index_query(struct request *out, const struct test_table *table)
{
    add_table(out, table);
    request_add(out, ",\"IndexName\":\"gsi0\",\"KeyConditionExpression\":\"o0 = :o\","
                     "\"ExpressionAttributeValues\":{\":o\":{\"S\":\"");
    request_add_slot(out, SLOT_OWNER, 0, 0, OWNER_WIDTH);
    request_add(out, "\"}},\"ScanIndexForward\":false,\"Limit\":10}");
}

static void build_batch_get(struct request *out, const struct test_table *table, int count)
{
    request_add(out, "{\"RequestItems\":{\"%.*s\":{\"Keys\":[", STR_ARG(table->name));
    for (int i = 0; i < count; i++) {
        request_add(out, "%s", i == 0 ? "" : ",");
        request_add_key(out, i);
    }
    request_add(out, "]}}}");
}

static void build_batch_write(struct request *out, const struct test_table *table, int count)
{
    request_add(out, "{\"RequestItems\":{\"%.*s\":[", STR_ARG(table->name));
    for (int i = 0; i < count; i++) {
        request_add(out, "%s{\"PutRequest\":{\"Item\":", i == 0 ? "" : ",");
        request_add_item(out, table, i);
        request_add(out, "}}");
    }
    request_add(out, "]}}");
    out->answer_max = all_processed_max;
}

static void build_transact(struct request *out, const struct test_table *table, int count)
{
    request_add(out, "{\"TransactItems\":[");
    for (int i = 0; i < count - 1; i++) {
        request_add(out, "{\"Put\":");
        add_table(out, table);
        request_add(out, ",\"Item\":");
        request_add_item(out, table, i);
        request_add(out, "}},");
    }
    request_add(out, "{\"Update\":");
    add_increment(out, table, count - 1);
    request_add(out, "}]}");
}

static void build_scan(struct request *out, const struct source *source, bool on)
{
    add_table(out, source->table);
    if (source->segment_count > 1) {
        request_add(out, ",\"TotalSegments\":%d,\"Segment\":", source->segment_count);
        request_add_slot(out, SLOT_SEGMENT, 0, 0, LIMIT_WIDTH);
    }
    if (on) {
        request_add(out, ",\"ExclusiveStartKey\":{\"pk\":{\"S\":\"");
        request_add_slot(out, SLOT_START_PARTITION, 0, 0, KEY_WIDTH);
        request_add(out, "\"},\"sk\":{\"S\":\"");
        request_add_slot(out, SLOT_START_SORT, 0, 0, KEY_WIDTH);
        request_add(out, "\"}}");
    }
    request_add(out, "}");
}

/* Builds the body. Returns the name of the operation. */
static const char *build_body(struct request *out, enum op op, const struct source *source)
{
    const struct test_table *table = source->table;
    int count = op_item_count(op, table);
    switch (op) {
    case OP_GET:
    case OP_READ_MODIFY:
        build_get(out, table);
        return "GetItem";
    case OP_PUT:
    case OP_INSERT:
    case OP_PUT_CONDITIONAL:
        build_put(out, table, op == OP_PUT_CONDITIONAL);
        return "PutItem";
    case OP_UPDATE:
        add_increment(out, table, 0);
        return "UpdateItem";
    case OP_SET_FIELD:
        build_set_field(out, table);
        return "UpdateItem";
    case OP_QUERY_10:
    case OP_QUERY_SOME:
    case OP_QUERY_1MB:
        build_query(out, table, op == OP_QUERY_1MB);
        return "Query";
    case OP_GSI_10:
        build_index_query(out, table);
        return "Query";
    case OP_BATCH_GET:
        build_batch_get(out, table, count);
        return "BatchGetItem";
    case OP_BATCH_WRITE:
    case OP_LOAD:
        build_batch_write(out, table, count);
        return "BatchWriteItem";
    case OP_TRANSACT_4:
    case OP_TRANSACT_100:
        build_transact(out, table, count);
        return "TransactWriteItems";
    case OP_SCAN:
    case OP_SCAN_ON:
        build_scan(out, source, op == OP_SCAN_ON);
        return "Scan";
    case OP_RAW:
    case OP_COUNT:
        break;
    }
    return NULL;
}

/* Whether the response contains exactly op_item_count() items. Not so for YCSB's newest items,
 * which may not exist yet, and for segments, which may end anywhere. */
static bool answers_items(enum op op, const struct source *source)
{
    switch (op) {
    case OP_GET:
        return source->workload->pick != PICK_LATEST;
    case OP_QUERY_10:
    case OP_QUERY_1MB:
    case OP_GSI_10:
    case OP_BATCH_GET:
    case OP_READ_MODIFY:
        return true;
    default:
        return false;
    }
}

void op_build(struct request *out, enum op op, const struct source *source)
{
    const struct test_table *table = source->table;
    request_init(out);
    if (op == OP_RAW) {
        buf_add(&out->bytes, source->raw);
        return;
    }
    const char *operation = build_body(out, op, source);
    request_finish(out, source->target, str_from_c(operation));
    if (answers_items(op, source)) {
        out->answer_min =
            (uint64_t)op_item_count(op, table) * (uint64_t)table->field_count * table->field_bytes;
    }
}
