/* Finds indexes and types in descriptions of tables. Called by the tools of the MCP server and by
 * the commands of the shell. */
#include "mcp/description.h"

#include <string.h>

#include "base/base.h"

const struct gramme_value *description_find_index(const struct gramme_value *table,
                                                  const char *name)
{
    static const char *const kinds[] = {"GlobalSecondaryIndexes", "LocalSecondaryIndexes"};
    for (size_t k = 0; k < COUNT_OF(kinds); k++) {
        const struct gramme_value *list = gramme_get(table, kinds[k]);
        for (size_t i = 0; i < gramme_value_count(list); i++) {
            const char *index = gramme_get_string(gramme_value_at(list, i), "IndexName");
            if (index != NULL && strcmp(index, name) == 0) {
                return gramme_value_at(list, i);
            }
        }
    }
    return NULL;
}

const char *description_attribute_type(const struct gramme_value *table, const char *name)
{
    const struct gramme_value *list = gramme_get(table, "AttributeDefinitions");
    for (size_t i = 0; i < gramme_value_count(list); i++) {
        const struct gramme_value *entry = gramme_value_at(list, i);
        const char *entry_name = gramme_get_string(entry, "AttributeName");
        const char *type = gramme_get_string(entry, "AttributeType");
        if (entry_name != NULL && type != NULL && strcmp(entry_name, name) == 0) {
            return type;
        }
    }
    return "S";
}
