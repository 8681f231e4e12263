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
