/* Looks things up in a table's description. Called by src/engine and src/api on any thread:
 * descriptions do not change. */
#include "model/table.h"

const struct index *table_index(const struct table *table, struct str name)
{
    for (size_t i = 0; i < table->index_count; i++) {
        if (str_eq(table->indexes[i].name, name)) {
            return &table->indexes[i];
        }
    }
    return NULL;
}

const struct index *table_creating_index(const struct table *table)
{
    for (size_t i = 0; i < table->index_count; i++) {
        if (table->indexes[i].status == STATUS_CREATING) {
            return &table->indexes[i];
        }
    }
    return NULL;
}

struct unit_pair table_warm(const struct table *table, const struct index *index)
{
    const struct unit_pair *set = index != NULL ? &index->warm : &table->warm;
    const struct throughput *units = index != NULL ? &index->throughput : &table->throughput;
    bool on_demand = table->billing == BILLING_PAY_PER_REQUEST;
    return (struct unit_pair){
        .read = MAX(on_demand ? WARM_ON_DEMAND_READ : units->read_units, set->read),
        .write = MAX(on_demand ? WARM_ON_DEMAND_WRITE : units->write_units, set->write),
    };
}

enum value_type table_definition(const struct table *table, struct str name)
{
    for (size_t i = 0; i < table->definition_count; i++) {
        if (str_eq(table->definitions[i].name, name)) {
            return table->definitions[i].type;
        }
    }
    return VALUE_NONE;
}

bool key_schema_has(const struct key_schema *key, struct str name)
{
    for (size_t i = 0; i < key->hash_count; i++) {
        if (str_eq(key->hash[i].name, name)) {
            return true;
        }
    }
    for (size_t i = 0; i < key->range_count; i++) {
        if (str_eq(key->range[i].name, name)) {
            return true;
        }
    }
    return false;
}

bool key_schema_is_in(const struct key_schema *key, struct value item)
{
    bool is_in = true;
    for (size_t i = 0; i < key->hash_count; i++) {
        is_in = is_in && !value_is_absent(value_map_get(item, key->hash[i].name));
    }
    for (size_t i = 0; i < key->range_count; i++) {
        is_in = is_in && !value_is_absent(value_map_get(item, key->range[i].name));
    }
    return is_in;
}

static bool is_key(const struct table *table, struct str name)
{
    bool is = key_schema_has(&table->key, name) ||
              (table->deleting_index != NULL && key_schema_has(&table->deleting_index->key, name));
    for (size_t i = 0; i < table->index_count && !is; i++) {
        is = key_schema_has(&table->indexes[i].key, name);
    }
    return is;
}

void table_prune_definitions(struct arena *arena, struct table *table)
{
    struct attribute_definition *kept =
        ARENA_ARRAY(arena, struct attribute_definition, table->definition_count + 1);
    size_t count = 0;
    for (size_t i = 0; i < table->definition_count; i++) {
        if (is_key(table, table->definitions[i].name)) {
            kept[count++] = table->definitions[i];
        }
    }
    table->definitions = kept;
    table->definition_count = count;
}

bool index_projects(const struct table *table, const struct index *index, struct str name)
{
    if (index->projection == PROJECTION_ALL || key_schema_has(&index->key, name) ||
        key_schema_has(&table->key, name)) {
        return true;
    }
    for (size_t i = 0; i < index->non_key_count; i++) {
        if (str_eq(index->non_key_names[i], name)) {
            return true;
        }
    }
    return false;
}
