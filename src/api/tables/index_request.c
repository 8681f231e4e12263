/* Converts and checks the key schemas, indexes and projections of CreateTable and UpdateTable.
 * Called by op_create_table.c and index_updates.c, on the thread of the call; keeps no state. */
#include "api/tables/index_request.h"

#include "err/messages.h"

/* --- definitions --- */

bool index_request_definitions(const struct definer *definer, const struct wire_list *list)
{
    struct attribute_definition *definitions =
        ARENA_ARRAY(definer->arena, struct attribute_definition, list->count + 1);
    if (list->count > DEFINITIONS_MAX) { /* more than the keys of all indexes */
        return err_set(definer->err, ERR_VALIDATION, MESSAGE_INVALID MESSAGE_KEY_DEFINITIONS);
    }
    for (size_t i = 0; i < list->count; i++) {
        const struct definition_request *given =
            ((struct definition_request *const *)list->elements)[i];
        for (size_t k = 0; k < i; k++) {
            if (str_eq(definitions[k].name, given->name)) {
                return err_set(definer->err, ERR_VALIDATION, "Attribute Name is duplicated: %.*s",
                               STR_ARG(given->name));
            }
        }
        definitions[i] = (struct attribute_definition){
            .name = given->name,
            .type = table_request_type(given),
        };
    }
    definer->table->definitions = definitions;
    definer->table->definition_count = list->count;
    return true;
}

struct str index_request_defined_names(const struct definer *definer)
{
    const struct table *table = definer->table;
    struct str names = STR("");
    for (size_t i = 0; i < table->definition_count && i < NAMES_MAX; i++) {
        names = arena_format(definer->arena, "%.*s%s%.*s", STR_ARG(names), i > 0 ? ", " : "",
                             STR_ARG(table->definitions[i].name));
    }
    return names;
}

/* --- keys --- */

static const struct key_element_request *element_at(const struct wire_list *list, size_t i)
{
    return ((struct key_element_request *const *)list->elements)[i];
}

/* Returns the attribute names of a KeySchema as "a, b". */
static struct str list_names(struct arena *arena, const struct wire_list *schema)
{
    struct str names = STR("");
    for (size_t i = 0; i < schema->count && i < NAMES_MAX; i++) {
        names = arena_format(arena, "%.*s%s%.*s", STR_ARG(names), i > 0 ? ", " : "",
                             STR_ARG(element_at(schema, i)->name));
    }
    return names;
}

static bool check_defined(const struct definer *definer, const struct wire_list *schema)
{
    struct arena *arena = definer->arena;
    for (size_t i = 0; i < schema->count; i++) {
        if (table_definition(definer->table, element_at(schema, i)->name) == VALUE_NONE) {
            struct str keys = list_names(arena, schema);
            struct str defined = index_request_defined_names(definer);
            return err_set(definer->err, ERR_VALIDATION,
                           MESSAGE_INVALID
                           "Some index key attributes are not defined in "
                           "AttributeDefinitions. Keys: [%.*s], AttributeDefinitions: "
                           "[%.*s]",
                           STR_ARG(keys), STR_ARG(defined));
        }
    }
    return true;
}

static bool check_different(const struct wire_list *schema, struct err *err)
{
    for (size_t i = 0; i < schema->count; i++) {
        for (size_t k = 0; k < i; k++) {
            if (str_eq(element_at(schema, i)->name, element_at(schema, k)->name)) {
                return err_set(err, ERR_VALIDATION, "%s",
                               schema->count == 2
                                   ? "Both the Hash Key and the Range Key element in the KeySchema "
                                     "have the same name"
                                   : "The KeySchema contains multiple key attributes with the same "
                                     "name");
            }
        }
    }
    return true;
}

static bool is_hash(const struct wire_list *schema, size_t i)
{
    return element_at(schema, i)->type.value == 0;
}

/* Checks the key types: HASH, then optionally RANGE; a global index may have several of each. */
static bool check_types(const struct wire_list *schema, bool global, struct err *err)
{
    if (!is_hash(schema, 0)) {
        return err_set(err, ERR_VALIDATION,
                       "Invalid KeySchema: The first KeySchemaElement is not a HASH key type");
    }
    if (!global && schema->count > 1 && is_hash(schema, 1)) {
        return err_set(err, ERR_VALIDATION,
                       "Invalid KeySchema: The second KeySchemaElement is not a RANGE key type");
    }
    for (size_t i = 1; i < schema->count; i++) {
        if (is_hash(schema, i) && !is_hash(schema, i - 1)) {
            return err_set(
                err, ERR_VALIDATION,
                MESSAGE_INVALID
                "All HASH key attributes must precede RANGE key attributes in the KeySchema");
        }
    }
    return true;
}

/* Adds the elements of one key type, which are adjacent. */
static bool add_elements(const struct definer *definer, const struct wire_list *schema, bool hash,
                         struct key_attribute *out, size_t *out_count)
{
    for (size_t i = 0; i < schema->count; i++) {
        if (is_hash(schema, i) != hash) {
            continue;
        }
        if (*out_count == KEY_ATTRIBUTES_MAX) {
            return err_set(definer->err, ERR_VALIDATION,
                           MESSAGE_INVALID
                           "The KeySchema exceeds the maximum allowed number of %s key attributes",
                           hash ? "HASH" : "RANGE");
        }
        struct str name = element_at(schema, i)->name;
        out[(*out_count)++] = (struct key_attribute){
            .name = name,
            .type = table_definition(definer->table, name),
        };
    }
    return true;
}

bool index_request_schema(const struct definer *definer, const struct wire_list *schema,
                          enum index_kind kind, struct key_schema *out)
{
    return check_defined(definer, schema) && check_different(schema, definer->err) &&
           check_types(schema, kind == INDEX_GLOBAL, definer->err) &&
           add_elements(definer, schema, true, out->hash, &out->hash_count) &&
           add_elements(definer, schema, false, out->range, &out->range_count);
}

bool index_request_check_two_keys(const struct definer *definer, const struct wire_list *schema,
                                  const char *path)
{
    struct arena *arena = definer->arena;
    struct str list = STR("");
    for (size_t i = 0; schema->count > 2 && i < schema->count && i < NAMES_MAX; i++) {
        list = arena_format(arena, "%.*s%sKeySchemaElement(attributeName=%.*s, keyType=%.*s)",
                            STR_ARG(list), i > 0 ? ", " : "", STR_ARG(element_at(schema, i)->name),
                            STR_ARG(element_at(schema, i)->type.text));
    }
    return schema->count <= 2 ||
           err_set(definer->err, ERR_VALIDATION,
                   "1 validation error detected: Value '[%.*s]' at '%s' failed to satisfy "
                   "constraint: Member must have length less than or equal to 2",
                   STR_ARG(list), path);
}

/* --- projections --- */

static bool check_non_key_names(const struct index *index, struct err *err)
{
    for (size_t i = 0; i < index->non_key_count; i++) {
        for (size_t k = 0; k < i; k++) {
            if (str_eq(index->non_key_names[k], index->non_key_names[i])) {
                return err_set(err, ERR_VALIDATION,
                               MESSAGE_INVALID "Duplicate element in NonKeyAttributes: %.*s",
                               STR_ARG(index->non_key_names[i]));
            }
        }
    }
    return true;
}

bool index_request_projection(const struct definer *definer,
                              const struct projection_request *projection, struct index *out)
{
    struct err *err = definer->err;
    static const enum projection_type types[] = {PROJECTION_ALL, PROJECTION_INCLUDE,
                                                 PROJECTION_KEYS_ONLY};
    if (str_is_null(projection->type.text)) {
        return err_set(err, ERR_VALIDATION, MESSAGE_INVALID "Unknown ProjectionType: null");
    }
    out->projection = types[projection->type.value];
    if (out->projection == PROJECTION_INCLUDE && !projection->non_key.given) {
        return err_set(err, ERR_VALIDATION,
                       MESSAGE_INVALID
                       "ProjectionType is INCLUDE, but NonKeyAttributes is not specified");
    }
    if (out->projection != PROJECTION_INCLUDE && projection->non_key.given) {
        return err_set(err, ERR_VALIDATION,
                       MESSAGE_INVALID "ProjectionType is %.*s, but NonKeyAttributes is specified",
                       STR_ARG(projection->type.text));
    }
    out->non_key_names = projection->non_key.elements;
    out->non_key_count = projection->non_key.count;
    return check_non_key_names(out, err);
}

bool index_request_check_non_key_total(const struct definer *definer)
{
    size_t total = 0;
    for (size_t i = 0; i < definer->table->index_count; i++) {
        total += definer->table->indexes[i].non_key_count;
    }
    if (total > NON_KEY_NAMES_PER_TABLE_MAX) {
        return err_set(definer->err, ERR_VALIDATION,
                       MESSAGE_INVALID "Number of NonKeyAttributes exceeds per-table limit of %d",
                       NON_KEY_NAMES_PER_TABLE_MAX);
    }
    return true;
}
