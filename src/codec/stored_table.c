/* Encodes and decodes table descriptions as maps of named fields. Called by the catalog of
 * src/engine. */
#include "codec/stored_table.h"

#include "model/builder.h"

enum { TABLE_VERSION = 2 };

/* --- writing: entries may come in any order, closing a map sorts them --- */

/* The stored name of table->deleting_index: what the field was called when it was first stored. */
#define DELETING_INDEX "leaving"

struct map_writer {
    struct builder *builder;
    size_t open;
    uint32_t count;
};

static struct map_writer open_map(struct builder *builder)
{
    return (struct map_writer){.builder = builder, .open = builder_open(builder, VALUE_M)};
}

static void close_map(struct map_writer *map)
{
    builder_close_map(map->builder, map->open, map->count);
}

static struct builder *entry(struct map_writer *map, struct str name)
{
    map->count++;
    builder_add_key(map->builder, name);
    return map->builder;
}

static void put_int(struct map_writer *map, struct str name, int64_t value)
{
    if (value != 0) { /* absent reads as 0 */
        builder_add_int64(entry(map, name), value);
    }
}

static void put_string(struct map_writer *map, struct str name, struct str value)
{
    if (!str_is_null(value)) {
        builder_add_string(entry(map, name), value);
    }
}

static void put_strings(struct map_writer *map, struct str name, const struct str *values,
                        size_t count)
{
    struct builder *builder = entry(map, name);
    size_t open = builder_open(builder, VALUE_L);
    for (size_t i = 0; i < count; i++) {
        builder_add_string(builder, values[i]);
    }
    builder_close_list(builder, open, (uint32_t)count);
}

static void put_attributes(struct map_writer *map, struct str name,
                           const struct key_attribute *attributes, size_t count)
{
    struct builder *builder = entry(map, name);
    size_t open = builder_open(builder, VALUE_L);
    for (size_t i = 0; i < count; i++) {
        struct map_writer one = open_map(builder);
        put_string(&one, STR("name"), attributes[i].name);
        put_int(&one, STR("type"), attributes[i].type);
        close_map(&one);
    }
    builder_close_list(builder, open, (uint32_t)count);
}

static void put_throughput(struct map_writer *map, struct str name, const struct throughput *t)
{
    struct map_writer inner = open_map(entry(map, name));
    put_int(&inner, STR("read"), t->read_units);
    put_int(&inner, STR("write"), t->write_units);
    put_int(&inner, STR("increased"), t->last_increase_ms);
    put_int(&inner, STR("decreased"), t->last_decrease_ms);
    put_int(&inner, STR("decreases"), t->decreases_today);
    close_map(&inner);
}

static void put_pair(struct map_writer *map, struct str name, const struct unit_pair *pair)
{
    struct map_writer inner = open_map(entry(map, name));
    put_int(&inner, STR("read"), pair->read);
    put_int(&inner, STR("write"), pair->write);
    close_map(&inner);
}

static void put_insights(struct map_writer *map, const struct insights *insights)
{
    if (insights->changed_ms == 0) {
        return;
    }
    struct map_writer inner = open_map(entry(map, STR("insights")));
    put_int(&inner, STR("enabled"), insights->enabled);
    put_int(&inner, STR("mode"), insights->mode);
    put_int(&inner, STR("changed"), insights->changed_ms);
    put_int(&inner, STR("rules"), insights->rules_ms);
    close_map(&inner);
}

static void put_index(struct builder *builder, const struct index *index)
{
    struct map_writer map = open_map(builder);
    put_string(&map, STR("name"), index->name);
    put_int(&map, STR("kind"), index->kind);
    put_attributes(&map, STR("hash"), index->key.hash, index->key.hash_count);
    put_attributes(&map, STR("range"), index->key.range, index->key.range_count);
    put_int(&map, STR("projection"), index->projection);
    put_strings(&map, STR("non_key"), index->non_key_names, index->non_key_count);
    put_int(&map, STR("status"), index->status);
    put_int(&map, STR("changed"), index->changed_ms);
    put_throughput(&map, STR("throughput"), &index->throughput);
    put_pair(&map, STR("on_demand"), &index->on_demand);
    put_pair(&map, STR("warm"), &index->warm);
    put_insights(&map, &index->insights);
    put_int(&map, STR("space"), index->space);
    put_int(&map, STR("since"), index->since_version);
    put_int(&map, STR("backfilling"), index->backfilling);
    close_map(&map);
}

static void put_definitions(struct map_writer *map, const struct table *table)
{
    struct builder *builder = entry(map, STR("definitions"));
    size_t open = builder_open(builder, VALUE_L);
    for (size_t i = 0; i < table->definition_count; i++) {
        struct map_writer one = open_map(builder);
        put_string(&one, STR("name"), table->definitions[i].name);
        put_int(&one, STR("type"), table->definitions[i].type);
        close_map(&one);
    }
    builder_close_list(builder, open, (uint32_t)table->definition_count);
}

static void put_settings(struct map_writer *map, const struct table *table)
{
    put_int(map, STR("billing"), table->billing);
    put_int(map, STR("billing_given"), table->was_on_demand);
    put_int(map, STR("on_demand_since"), table->on_demand_since_ms);
    put_throughput(map, STR("throughput"), &table->throughput);
    put_pair(map, STR("on_demand"), &table->on_demand);
    put_pair(map, STR("warm"), &table->warm);
    put_int(map, STR("class"), table->class);
    put_int(map, STR("class_given"), table->class_given);
    put_int(map, STR("class_changed"), table->class_changed_ms);
    put_int(map, STR("protected"), table->deletion_protection);
    put_int(map, STR("stream"), table->stream);
    put_int(map, STR("stream_since"), table->stream_since_ms);
    put_int(map, STR("stream_space"), table->stream_space);
    put_int(map, STR("stream_shards"), table->stream_shards);
    put_int(map, STR("stream_shard"), table->stream_shard_ms);
    put_int(map, STR("ttl"), table->ttl);
    put_string(map, STR("ttl_attribute"), table->ttl_attribute);
    put_int(map, STR("ttl_changed"), table->ttl_changed_ms);
    put_int(map, STR("ttl_space"), table->ttl_space);
    put_int(map, STR("ttl_since"), table->ttl_since_version);
    put_int(map, STR("sse_kms"), table->sse_kms);
    put_string(map, STR("sse_key_arn"), table->sse_key_arn);
    put_string(map, STR("policy"), table->policy);
    put_string(map, STR("policy_revision"), table->policy_revision);
    put_string(map, STR("stream_policy"), table->stream_policy);
    put_string(map, STR("stream_policy_revision"), table->stream_policy_revision);
    put_int(map, STR("stream_policy_since"), table->stream_policy_since_ms);
    put_strings(map, STR("tag_names"), table->tag_names, table->tag_count);
    put_strings(map, STR("tag_values"), table->tag_values, table->tag_count);
    put_insights(map, &table->insights);
}

static void put_restore(struct map_writer *map, const struct restore_source *restore)
{
    struct map_writer inner = open_map(entry(map, STR("restore")));
    put_string(&inner, STR("backup_row"), restore->backup_row);
    put_string(&inner, STR("backup_arn"), restore->backup_arn);
    put_string(&inner, STR("table_arn"), restore->table_arn);
    put_int(&inner, STR("time"), restore->time_ms);
    put_int(&inner, STR("instant"), restore->instant_ns);
    put_int(&inner, STR("space"), restore->space);
    put_int(&inner, STR("history_space"), restore->history_space);
    close_map(&inner);
}

static void put_destinations(struct map_writer *map, const struct table *table)
{
    if (table->destination_count == 0) {
        return;
    }
    struct builder *builder = entry(map, STR("destinations"));
    size_t open = builder_open(builder, VALUE_L);
    for (size_t i = 0; i < table->destination_count; i++) {
        const struct kinesis_destination *destination = &table->destinations[i];
        struct map_writer one = open_map(builder);
        put_string(&one, STR("arn"), destination->stream_arn);
        put_int(&one, STR("state"), destination->state);
        put_int(&one, STR("precision"), destination->precision);
        put_int(&one, STR("changed"), destination->changed_ms);
        put_int(&one, STR("updated"), destination->updated_ms);
        put_string(&one, STR("problem"), destination->problem);
        close_map(&one);
    }
    builder_close_list(builder, open, (uint32_t)table->destination_count);
    put_int(map, STR("feed_space"), table->feed_space);
    put_int(map, STR("feed_slots"), table->feed_slots);
    put_int(map, STR("feed_version"), (int64_t)table->feed_version);
}

static void put_recovery(struct map_writer *map, const struct table *table)
{
    put_int(map, STR("history_space"), table->history_space);
    put_int(map, STR("history_since"), (int64_t)table->history_since);
    put_int(map, STR("history_holds"), table->history_holds);
    put_int(map, STR("recovery"), table->recovery);
    put_int(map, STR("recovery_enabled"), table->recovery_enabled_ms);
    put_int(map, STR("recovery_since"), table->recovery_since_ns);
    put_int(map, STR("recovery_days"), table->recovery_days);
    if (table->restore.space != 0) {
        put_restore(map, &table->restore);
    }
}

struct str table_encode(struct arena *arena, const struct table *table)
{
    struct builder builder;
    builder_init(&builder, arena, 1024);
    struct map_writer map = open_map(&builder);
    put_string(&map, STR("name"), table->name);
    put_int(&map, STR("version"), table->version);
    put_string(&map, STR("id"), str_make(table->id, sizeof(table->id)));
    put_int(&map, STR("created"), table->created_ms);
    put_int(&map, STR("status"), table->status);
    put_attributes(&map, STR("hash"), table->key.hash, table->key.hash_count);
    put_attributes(&map, STR("range"), table->key.range, table->key.range_count);
    put_definitions(&map, table);
    size_t open = builder_open(entry(&map, STR("indexes")), VALUE_L);
    for (size_t i = 0; i < table->index_count; i++) {
        put_index(&builder, &table->indexes[i]);
    }
    builder_close_list(&builder, open, (uint32_t)table->index_count);
    if (table->deleting_index != NULL) {
        put_index(entry(&map, STR(DELETING_INDEX)), table->deleting_index);
    }
    put_settings(&map, table);
    put_destinations(&map, table);
    put_recovery(&map, table);
    put_int(&map, STR("space"), table->space);
    put_int(&map, STR("collection_space"), table->collection_space);
    close_map(&map);
    struct value value = builder_finish(&builder);
    char *bytes = arena_bytes(arena, value.len + 1);
    bytes[0] = TABLE_VERSION;
    memcpy(bytes + 1, value.data, value.len);
    return str_make(bytes, value.len + 1);
}

/* --- reading --- */

static int64_t get_int(struct value map, struct str name)
{
    struct value value = value_map_get(map, name);
    int64_t number = 0;
    if (value_type(value) == VALUE_N && !number_to_int64(value_bytes(value), &number)) {
        return 0;
    }
    return number;
}

static struct str get_string(struct arena *arena, struct value map, struct str name)
{
    struct value value = value_map_get(map, name);
    return value_type(value) == VALUE_S ? arena_copy(arena, value_bytes(value)) : STR_NULL;
}

static size_t get_strings(struct arena *arena, struct value map, struct str name,
                          const struct str **out)
{
    struct value list = value_map_get(map, name);
    if (value_type(list) != VALUE_L) {
        return 0;
    }
    size_t count = value_count(list);
    struct str *strings = ARENA_ARRAY(arena, struct str, count + 1);
    struct value_iter iter = value_iter(list);
    struct value element;
    for (size_t i = 0; value_next(&iter, &element); i++) {
        strings[i] = arena_copy(arena, value_bytes(element));
    }
    *out = strings;
    return count;
}

static size_t get_attributes(struct arena *arena, struct value map, struct str name,
                             struct key_attribute out[KEY_ATTRIBUTES_MAX])
{
    struct value list = value_map_get(map, name);
    size_t count = 0;
    if (value_type(list) != VALUE_L) {
        return 0;
    }
    struct value_iter iter = value_iter(list);
    struct value one;
    while (count < KEY_ATTRIBUTES_MAX && value_next(&iter, &one)) {
        out[count].name = get_string(arena, one, STR("name"));
        out[count++].type = (enum value_type)get_int(one, STR("type"));
    }
    return count;
}

static struct throughput get_throughput(struct value map, struct str name)
{
    struct value inner = value_map_get(map, name);
    if (value_type(inner) != VALUE_M) {
        return (struct throughput){0};
    }
    return (struct throughput){
        .read_units = get_int(inner, STR("read")),
        .write_units = get_int(inner, STR("write")),
        .last_increase_ms = get_int(inner, STR("increased")),
        .last_decrease_ms = get_int(inner, STR("decreased")),
        .decreases_today = get_int(inner, STR("decreases")),
    };
}

static struct unit_pair get_pair(struct value map, struct str name)
{
    struct value inner = value_map_get(map, name);
    if (value_type(inner) != VALUE_M) {
        return (struct unit_pair){0};
    }
    return (struct unit_pair){.read = get_int(inner, STR("read")),
                              .write = get_int(inner, STR("write"))};
}

static struct insights get_insights(struct value map)
{
    struct value inner = value_map_get(map, STR("insights"));
    if (value_type(inner) != VALUE_M) {
        return (struct insights){0};
    }
    return (struct insights){
        .enabled = get_int(inner, STR("enabled")) != 0,
        .mode = (enum insights_mode)get_int(inner, STR("mode")),
        .changed_ms = get_int(inner, STR("changed")),
        .rules_ms = get_int(inner, STR("rules")),
    };
}

static void get_index(struct arena *arena, struct value map, struct index *out)
{
    out->name = get_string(arena, map, STR("name"));
    out->kind = (enum index_kind)get_int(map, STR("kind"));
    out->key.hash_count = get_attributes(arena, map, STR("hash"), out->key.hash);
    out->key.range_count = get_attributes(arena, map, STR("range"), out->key.range);
    out->projection = (enum projection_type)get_int(map, STR("projection"));
    out->non_key_count = get_strings(arena, map, STR("non_key"), &out->non_key_names);
    out->status = (enum resource_status)get_int(map, STR("status"));
    out->changed_ms = get_int(map, STR("changed"));
    out->throughput = get_throughput(map, STR("throughput"));
    out->on_demand = get_pair(map, STR("on_demand"));
    out->warm = get_pair(map, STR("warm"));
    out->insights = get_insights(map);
    out->space = (uint32_t)get_int(map, STR("space"));
    out->since_version = (uint32_t)get_int(map, STR("since"));
    out->backfilling = get_int(map, STR("backfilling")) != 0;
}

static void get_indexes(struct arena *arena, struct value map, struct table *out)
{
    struct value list = value_map_get(map, STR("indexes"));
    if (value_type(list) != VALUE_L) {
        return;
    }
    struct index *indexes = ARENA_ARRAY(arena, struct index, value_count(list) + 1);
    struct value_iter iter = value_iter(list);
    struct value one;
    while (value_next(&iter, &one)) {
        get_index(arena, one, &indexes[out->index_count]);
        out->local_count += indexes[out->index_count].kind == INDEX_LOCAL;
        out->index_count++;
    }
    out->indexes = indexes;
}

static void get_deleting_index(struct arena *arena, struct value map, struct table *out)
{
    struct value deleting = value_map_get(map, STR(DELETING_INDEX));
    if (value_type(deleting) == VALUE_M) {
        struct index *index = ARENA_NEW(arena, struct index);
        get_index(arena, deleting, index);
        out->deleting_index = index;
    }
}

static void get_definitions(struct arena *arena, struct value map, struct table *out)
{
    struct value list = value_map_get(map, STR("definitions"));
    if (value_type(list) != VALUE_L) {
        return;
    }
    struct attribute_definition *definitions =
        ARENA_ARRAY(arena, struct attribute_definition, value_count(list) + 1);
    struct value_iter iter = value_iter(list);
    struct value one;
    while (value_next(&iter, &one)) {
        definitions[out->definition_count].name = get_string(arena, one, STR("name"));
        definitions[out->definition_count++].type = (enum value_type)get_int(one, STR("type"));
    }
    out->definitions = definitions;
}

static void get_settings(struct arena *arena, struct value map, struct table *out)
{
    out->billing = (enum billing_mode)get_int(map, STR("billing"));
    out->was_on_demand = get_int(map, STR("billing_given")) != 0;
    out->on_demand_since_ms = get_int(map, STR("on_demand_since"));
    out->throughput = get_throughput(map, STR("throughput"));
    out->on_demand = get_pair(map, STR("on_demand"));
    out->warm = get_pair(map, STR("warm"));
    out->class = (enum table_class)get_int(map, STR("class"));
    out->class_given = get_int(map, STR("class_given")) != 0;
    out->class_changed_ms = get_int(map, STR("class_changed"));
    out->deletion_protection = get_int(map, STR("protected")) != 0;
    out->stream = (enum stream_view)get_int(map, STR("stream"));
    out->stream_since_ms = get_int(map, STR("stream_since"));
    out->stream_space = (uint32_t)get_int(map, STR("stream_space"));
    out->stream_shards = (uint32_t)get_int(map, STR("stream_shards"));
    out->stream_shard_ms = get_int(map, STR("stream_shard"));
    out->ttl = (enum ttl_status)get_int(map, STR("ttl"));
    out->ttl_attribute = get_string(arena, map, STR("ttl_attribute"));
    out->ttl_changed_ms = get_int(map, STR("ttl_changed"));
    out->ttl_space = (uint32_t)get_int(map, STR("ttl_space"));
    out->ttl_since_version = (uint32_t)get_int(map, STR("ttl_since"));
    out->sse_kms = get_int(map, STR("sse_kms")) != 0;
    out->sse_key_arn = get_string(arena, map, STR("sse_key_arn"));
    out->policy = get_string(arena, map, STR("policy"));
    out->policy_revision = get_string(arena, map, STR("policy_revision"));
    out->stream_policy = get_string(arena, map, STR("stream_policy"));
    out->stream_policy_revision = get_string(arena, map, STR("stream_policy_revision"));
    out->stream_policy_since_ms = get_int(map, STR("stream_policy_since"));
    out->tag_count = get_strings(arena, map, STR("tag_names"), &out->tag_names);
    get_strings(arena, map, STR("tag_values"), &out->tag_values);
    out->insights = get_insights(map);
}

static void get_destinations(struct arena *arena, struct value map, struct table *out)
{
    struct value list = value_map_get(map, STR("destinations"));
    if (value_type(list) != VALUE_L) {
        return;
    }
    struct kinesis_destination *destinations =
        ARENA_ARRAY(arena, struct kinesis_destination, value_count(list) + 1);
    struct value_iter iter = value_iter(list);
    struct value one;
    while (value_next(&iter, &one)) {
        destinations[out->destination_count++] = (struct kinesis_destination){
            .stream_arn = get_string(arena, one, STR("arn")),
            .state = (enum destination_state)get_int(one, STR("state")),
            .precision = (enum time_precision)get_int(one, STR("precision")),
            .changed_ms = get_int(one, STR("changed")),
            .updated_ms = get_int(one, STR("updated")),
            .problem = get_string(arena, one, STR("problem")),
        };
    }
    out->destinations = destinations;
    out->feed_space = (uint32_t)get_int(map, STR("feed_space"));
    out->feed_slots = (uint32_t)get_int(map, STR("feed_slots"));
    out->feed_version = (uint64_t)get_int(map, STR("feed_version"));
}

static void get_recovery(struct arena *arena, struct value map, struct table *out)
{
    out->history_space = (uint32_t)get_int(map, STR("history_space"));
    out->history_since = (uint64_t)get_int(map, STR("history_since"));
    out->history_holds = (uint32_t)get_int(map, STR("history_holds"));
    out->recovery = get_int(map, STR("recovery")) != 0;
    out->recovery_enabled_ms = get_int(map, STR("recovery_enabled"));
    out->recovery_since_ns = get_int(map, STR("recovery_since"));
    out->recovery_days = (uint32_t)get_int(map, STR("recovery_days"));
    struct value inner = value_map_get(map, STR("restore"));
    if (value_type(inner) == VALUE_M) {
        out->restore = (struct restore_source){
            .backup_row = get_string(arena, inner, STR("backup_row")),
            .backup_arn = get_string(arena, inner, STR("backup_arn")),
            .table_arn = get_string(arena, inner, STR("table_arn")),
            .time_ms = get_int(inner, STR("time")),
            .instant_ns = get_int(inner, STR("instant")),
            .space = (uint32_t)get_int(inner, STR("space")),
            .history_space = (uint32_t)get_int(inner, STR("history_space")),
        };
    }
}

bool table_decode(struct arena *arena, struct str bytes, struct table *out, struct err *err)
{
    if (bytes.len < 2 || bytes.data[0] != TABLE_VERSION || !value_is_valid(str_skip(bytes, 1))) {
        return err_set(err, ERR_INTERNAL,
                       "a table's description in the store cannot be read: another version of "
                       "Gramme wrote it, or it is damaged");
    }
    struct value map = {(const uint8_t *)bytes.data + 1, bytes.len - 1};
    *out = (struct table){0};
    out->name = get_string(arena, map, STR("name"));
    out->version = (uint32_t)get_int(map, STR("version"));
    struct str id = get_string(arena, map, STR("id"));
    memcpy(out->id, id.data, MIN(id.len, sizeof(out->id)));
    out->created_ms = get_int(map, STR("created"));
    out->status = (enum resource_status)get_int(map, STR("status"));
    out->key.hash_count = get_attributes(arena, map, STR("hash"), out->key.hash);
    out->key.range_count = get_attributes(arena, map, STR("range"), out->key.range);
    get_definitions(arena, map, out);
    get_indexes(arena, map, out);
    get_deleting_index(arena, map, out);
    get_settings(arena, map, out);
    get_destinations(arena, map, out);
    get_recovery(arena, map, out);
    out->space = (uint32_t)get_int(map, STR("space"));
    out->collection_space = (uint32_t)get_int(map, STR("collection_space"));
    return true;
}
