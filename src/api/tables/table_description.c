/* Writes the description of a table as JSON. Called by the operations on tables and backups and
 * DescribeStream, on the thread of the call; keeps no state. */
#include "api/tables/table_description.h"

#include "engine/stream.h"

static const char *const statuses[] = {
    [STATUS_CREATING] = "CREATING",
    [STATUS_UPDATING] = "UPDATING",
    [STATUS_DELETING] = "DELETING",
    [STATUS_ACTIVE] = "ACTIVE",
};

static void put_text(struct api_call *call, struct str name, const char *text)
{
    api_member(call, name);
    json_write_plain_string(call->out, str_from_c(text));
}

static void put_int(struct api_call *call, struct str name, int64_t value)
{
    api_member(call, name);
    buf_add_int64(call->out, value);
}

static void put_bool(struct api_call *call, struct str name, bool value)
{
    api_member(call, name);
    json_write_bool(call->out, value);
}

void describe_date(struct api_call *call, struct str name, int64_t ms)
{
    api_member(call, name);
    buf_format(call->out, "%lld.%03d", (long long)(ms / 1000), (int)(ms % 1000));
}

static void write_key_element(struct buf *out, struct str name, const char *type)
{
    JSON_PUT(out, "{\"AttributeName\":");
    json_write_string(out, name);
    buf_format(out, ",\"KeyType\":\"%s\"}", type);
}

void describe_key_schema(struct api_call *call, const struct key_schema *key)
{
    api_member(call, STR("KeySchema"));
    buf_add_char(call->out, '[');
    for (size_t i = 0; i < key->hash_count; i++) {
        buf_add(call->out, i > 0 ? STR(",") : STR(""));
        write_key_element(call->out, key->hash[i].name, "HASH");
    }
    for (size_t i = 0; i < key->range_count; i++) {
        buf_add_char(call->out, ',');
        write_key_element(call->out, key->range[i].name, "RANGE");
    }
    buf_add_char(call->out, ']');
}

static void put_definitions(struct api_call *call, const struct table *table)
{
    api_member(call, STR("AttributeDefinitions"));
    buf_add_char(call->out, '[');
    for (size_t i = 0; i < table->definition_count; i++) {
        buf_add(call->out, i > 0 ? STR(",") : STR(""));
        JSON_PUT(call->out, "{\"AttributeName\":");
        json_write_string(call->out, table->definitions[i].name);
        buf_format(call->out, ",\"AttributeType\":\"%s\"}",
                   value_type_name(table->definitions[i].type));
    }
    buf_add_char(call->out, ']');
}

static void put_throughput(struct api_call *call, const struct throughput *throughput)
{
    api_member(call, STR("ProvisionedThroughput"));
    api_begin(call);
    if (throughput->last_increase_ms > 0) {
        describe_date(call, STR("LastIncreaseDateTime"), throughput->last_increase_ms);
    }
    if (throughput->last_decrease_ms > 0) {
        describe_date(call, STR("LastDecreaseDateTime"), throughput->last_decrease_ms);
    }
    put_int(call, STR("NumberOfDecreasesToday"), throughput->decreases_today);
    put_int(call, STR("ReadCapacityUnits"), throughput->read_units);
    put_int(call, STR("WriteCapacityUnits"), throughput->write_units);
    api_end(call);
}

void describe_on_demand(struct api_call *call, const struct unit_pair *pair)
{
    if (pair->read == 0 && pair->write == 0) {
        return;
    }
    api_member(call, STR("OnDemandThroughput"));
    api_begin(call);
    if (pair->read != 0) {
        put_int(call, STR("MaxReadRequestUnits"), pair->read);
    }
    if (pair->write != 0) {
        put_int(call, STR("MaxWriteRequestUnits"), pair->write);
    }
    api_end(call);
}

/* Writes WarmThroughput of the table or of an index. The answer of CreateTable has it only if the
 * request had it. */
static void put_warm(struct api_call *call, const struct description *description,
                     const struct index *index)
{
    const struct unit_pair *asked = index != NULL ? &index->warm : &description->table->warm;
    if (description->is_new && asked->read == 0 && asked->write == 0) {
        return;
    }
    bool is_updating = description->is_new || (description->warm_is_updating && index == NULL);
    struct unit_pair warm = table_warm(description->table, index);
    api_member(call, STR("WarmThroughput"));
    api_begin(call);
    put_int(call, STR("ReadUnitsPerSecond"), warm.read);
    put_int(call, STR("WriteUnitsPerSecond"), warm.write);
    put_text(call, STR("Status"), is_updating ? "UPDATING" : "ACTIVE");
    api_end(call);
}

void describe_index_projection(struct api_call *call, const struct index *index)
{
    static const char *const types[] = {
        [PROJECTION_ALL] = "ALL",
        [PROJECTION_KEYS_ONLY] = "KEYS_ONLY",
        [PROJECTION_INCLUDE] = "INCLUDE",
    };
    api_member(call, STR("Projection"));
    api_begin(call);
    put_text(call, STR("ProjectionType"), types[index->projection]);
    if (index->non_key_count > 0) {
        api_member(call, STR("NonKeyAttributes"));
        for (size_t i = 0; i < index->non_key_count; i++) {
            buf_add_char(call->out, i > 0 ? ',' : '[');
            json_write_string(call->out, index->non_key_names[i]);
        }
        buf_add_char(call->out, ']');
    }
    api_end(call);
}

static void put_arn(struct api_call *call, struct str name, const struct table *table,
                    struct str suffix)
{
    struct str region = engine_region(call->engine);
    struct str account = engine_account(call->engine);
    api_member(call, name);
    buf_format(call->out, "\"arn:aws:dynamodb:%.*s:%.*s:table/%.*s%.*s\"", STR_ARG(region),
               STR_ARG(account), STR_ARG(table->name), STR_ARG(suffix));
}

static void put_index(struct api_call *call, const struct description *description, size_t number)
{
    const struct table *table = description->table;
    const struct table_sizes *sizes = description->sizes;
    bool is_deleting = number == table->index_count;
    const struct index *index = is_deleting ? table->deleting_index : &table->indexes[number];
    api_begin(call);
    api_member(call, STR("IndexName"));
    json_write_plain_string(call->out, index->name);
    describe_key_schema(call, &index->key);
    describe_index_projection(call, index);
    if (index->kind == INDEX_GLOBAL) {
        bool with_table = description->status == STATUS_CREATING;
        if (table->restore.space == 0) { /* not of a table that is being restored */
            put_text(call, STR("IndexStatus"),
                     statuses[with_table ? STATUS_CREATING : index->status]);
        }
        if (index->status == STATUS_CREATING) { /* only for indexes that UpdateTable creates */
            put_bool(call, STR("Backfilling"), index->backfilling);
        }
        put_throughput(call, &index->throughput);
        describe_on_demand(call, &index->on_demand);
        put_warm(call, description, index);
    }
    put_int(call, STR("IndexSizeBytes"), sizes->index_bytes[number]);
    put_int(call, STR("ItemCount"), sizes->index_item_counts[number]);
    put_arn(call, STR("IndexArn"), table,
            arena_format(call->arena, "/index/%.*s", STR_ARG(index->name)));
    api_end(call);
}

static void put_indexes(struct api_call *call, const struct description *description,
                        enum index_kind kind)
{
    const struct table *table = description->table;
    bool first = true;
    size_t count = table->index_count + (table->deleting_index != NULL);
    for (size_t i = 0; i < count; i++) {
        const struct index *index =
            i == table->index_count ? table->deleting_index : &table->indexes[i];
        if (index->kind != kind) {
            continue;
        }
        if (first) {
            api_member(call, kind == INDEX_GLOBAL ? STR("GlobalSecondaryIndexes")
                                                  : STR("LocalSecondaryIndexes"));
        }
        buf_add_char(call->out, first ? '[' : ',');
        first = false;
        put_index(call, description, i);
    }
    if (!first) {
        buf_add_char(call->out, ']');
    }
}

static void put_billing(struct api_call *call, const struct table *table,
                        enum resource_status status)
{
    if (!table->was_on_demand) {
        return;
    }
    api_member(call, STR("BillingModeSummary"));
    api_begin(call);
    put_text(call, STR("BillingMode"),
             table->billing == BILLING_PAY_PER_REQUEST ? "PAY_PER_REQUEST" : "PROVISIONED");
    if (table->on_demand_since_ms > 0 && status != STATUS_CREATING) {
        describe_date(call, STR("LastUpdateToPayPerRequestDateTime"), table->on_demand_since_ms);
    }
    api_end(call);
}

const char *describe_stream_view(enum stream_view view)
{
    static const char *const views[] = {
        [STREAM_NONE] = "",
        [STREAM_NEW_IMAGE] = "NEW_IMAGE",
        [STREAM_OLD_IMAGE] = "OLD_IMAGE",
        [STREAM_NEW_AND_OLD_IMAGES] = "NEW_AND_OLD_IMAGES",
        [STREAM_KEYS_ONLY] = "KEYS_ONLY",
    };
    return views[view];
}

static void put_stream(struct api_call *call, const struct table *table)
{
    if (table->stream != STREAM_NONE) {
        api_member(call, STR("StreamSpecification"));
        buf_format(call->out, "{\"StreamEnabled\":true,\"StreamViewType\":\"%s\"}",
                   describe_stream_view(table->stream));
    }
    if (table->stream_since_ms > 0) {
        struct str label = stream_label(call->arena, table->stream_since_ms);
        api_member(call, STR("LatestStreamLabel"));
        json_write_plain_string(call->out, label);
        put_arn(call, STR("LatestStreamArn"), table,
                arena_format(call->arena, "/stream/%.*s", STR_ARG(label)));
    }
}

static void put_class(struct api_call *call, const struct table *table)
{
    if (!table->class_given) {
        return;
    }
    api_member(call, STR("TableClassSummary"));
    api_begin(call);
    put_text(call, STR("TableClass"),
             table->class == TABLE_CLASS_STANDARD ? "STANDARD" : "STANDARD_INFREQUENT_ACCESS");
    if (table->class_changed_ms > 0) {
        describe_date(call, STR("LastUpdateDateTime"), table->class_changed_ms);
    }
    api_end(call);
}

void describe_sse(struct api_call *call, const struct table *table, bool is_updating)
{
    if (!table->sse_kms && !is_updating) {
        return;
    }
    api_member(call, STR("SSEDescription"));
    api_begin(call);
    put_text(call, STR("Status"), is_updating ? "UPDATING" : "ENABLED");
    if (table->sse_kms) {
        put_text(call, STR("SSEType"), "KMS");
        api_member(call, STR("KMSMasterKeyArn"));
        json_write_string(call->out, table->sse_key_arn);
    }
    api_end(call);
}

/* Writes the members before the indexes that every description has. */
static void put_identity(struct api_call *call, const struct description *description)
{
    const struct table *table = description->table;
    put_throughput(call, &table->throughput);
    put_int(call, STR("TableSizeBytes"), description->sizes->bytes);
    put_int(call, STR("ItemCount"), description->sizes->item_count);
    put_arn(call, STR("TableArn"), table, STR(""));
    api_member(call, STR("TableId"));
    json_write_plain_string(call->out, str_make(table->id, sizeof(table->id)));
    put_billing(call, table, description->status);
}

static void put_restore(struct api_call *call, const struct restore_source *restore)
{
    if (restore->space == 0) {
        return;
    }
    api_member(call, STR("RestoreSummary"));
    api_begin(call);
    if (!str_is_null(restore->backup_arn)) {
        api_member(call, STR("SourceBackupArn"));
        json_write_plain_string(call->out, restore->backup_arn);
    }
    api_member(call, STR("SourceTableArn"));
    json_write_plain_string(call->out, restore->table_arn);
    describe_date(call, STR("RestoreDateTime"), restore->time_ms);
    put_bool(call, STR("RestoreInProgress"), true);
    api_end(call);
}

/* Writes the members after the indexes that every description has. */
static void put_settings(struct api_call *call, const struct description *description)
{
    const struct table *table = description->table;
    put_stream(call, table);
    put_restore(call, &table->restore);
    describe_sse(call, table, description->sse_is_updating);
    put_class(call, table);
    put_bool(call, STR("DeletionProtectionEnabled"), table->deletion_protection);
    describe_on_demand(call, &table->on_demand);
    put_warm(call, description, NULL);
}

void describe_table(struct api_call *call, const struct description *description)
{
    const struct table *table = description->table;
    api_begin(call);
    put_definitions(call, table);
    api_member(call, STR("TableName"));
    json_write_plain_string(call->out, table->name);
    describe_key_schema(call, &table->key);
    put_text(call, STR("TableStatus"), statuses[description->status]);
    describe_date(call, STR("CreationDateTime"), table->created_ms);
    put_identity(call, description);
    put_indexes(call, description, INDEX_LOCAL);
    put_indexes(call, description, INDEX_GLOBAL);
    put_settings(call, description);
    api_end(call);
}

void describe_deleted_table(struct api_call *call, const struct table *table)
{
    const struct table_sizes sizes = {0};
    const struct description description = {
        .table = table,
        .sizes = &sizes,
        .status = STATUS_DELETING,
    };
    api_begin(call);
    api_member(call, STR("TableName"));
    json_write_plain_string(call->out, table->name);
    put_text(call, STR("TableStatus"), statuses[STATUS_DELETING]);
    put_identity(call, &description);
    put_settings(call, &description);
    api_end(call);
}
