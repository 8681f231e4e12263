/* Keeps descriptions of tables, and finds what commands name. Main thread. */
#include "shell/schema_internal.h"

#include "base/base64.h"
#include "base/clock.h"
#include "base/mem.h"
#include "mcp/description.h"
#include "shell/call_thread_internal.h"

enum {
    KEPT_US = 60 * 1000 * 1000,
    TABLES_MAX = 256,      /* descriptions kept */
    ATTRIBUTES_MAX = 2000, /* names kept for completion */
};

struct known_table {
    struct gramme_answer *answer;
    int64_t at_us;
};

static void forget_all(struct session *session)
{
    size_t at = 0;
    struct str name;
    void *value;
    while (map_next(&session->tables, &at, &name, &value)) {
        struct known_table *known = value;
        gramme_answer_destroy(known->answer);
        mem_free(known);
    }
    map_finish(&session->tables);
    map_init(&session->tables);
}

void schema_finish(struct session *session)
{
    forget_all(session);
    map_finish(&session->tables);
    map_finish(&session->attributes);
    gramme_value_destroy(session->table_names);
}

void schema_forget(struct session *session, const char *table)
{
    struct known_table *known = map_remove(&session->tables, str_from_c(table));
    if (known != NULL) {
        gramme_answer_destroy(known->answer);
        mem_free(known);
    }
}

static void see_name(struct session *session, const char *name)
{
    static int seen;
    if (session->attributes.count < ATTRIBUTES_MAX) {
        map_put(&session->attributes, str_from_c(name), &seen);
    }
}

void schema_see_item(struct session *session, const struct gramme_value *item)
{
    for (size_t i = 0; session->is_interactive && i < gramme_value_count(item); i++) {
        see_name(session, gramme_value_name(gramme_value_at(item, i)));
    }
}

static const struct gramme_value *keep(struct session *session, const char *table,
                                       struct gramme_answer *answer)
{
    if (session->tables.count >= TABLES_MAX) {
        forget_all(session);
    }
    struct known_table *known = mem_zalloc(sizeof(*known));
    known->answer = answer;
    known->at_us = clock_monotonic_us();
    map_put(&session->tables, str_from_c(table), known);
    const struct gramme_value *description = gramme_get(gramme_answer_root(answer), "Table");
    const struct gramme_value *attributes = gramme_get(description, "AttributeDefinitions");
    for (size_t i = 0; i < gramme_value_count(attributes); i++) {
        const char *name = gramme_get_string(gramme_value_at(attributes, i), "AttributeName");
        if (name != NULL) {
            see_name(session, name);
        }
    }
    return description;
}

const struct gramme_value *schema_describe(struct session *session, const char *table)
{
    struct known_table *known = map_get(&session->tables, str_from_c(table));
    if (known != NULL && clock_monotonic_us() - known->at_us < KEPT_US) {
        return gramme_get(gramme_answer_root(known->answer), "Table");
    }
    schema_forget(session, table);
    struct gramme_value *parameters = gramme_map_create();
    gramme_set_string(parameters, "TableName", table);
    struct gramme_answer *answer;
    bool good = call(session, session->db, "DescribeTable", parameters, &answer, NULL);
    gramme_value_destroy(parameters);
    return good ? keep(session, table, answer) : NULL;
}

/* --- names in commands --- */

void schema_key(const struct gramme_value *description, const struct gramme_value *of,
                struct key_names *out)
{
    *out = (struct key_names){0};
    const struct gramme_value *list = gramme_get(of, "KeySchema");
    for (size_t i = 0; i < gramme_value_count(list); i++) {
        const struct gramme_value *entry = gramme_value_at(list, i);
        const char *name = gramme_get_string(entry, "AttributeName");
        const char *kind = gramme_get_string(entry, "KeyType");
        if (name != NULL && kind != NULL) {
            int part = strcmp(kind, "HASH") == 0 ? 0 : 1;
            out->is_composite = out->is_composite || out->name[part] != NULL;
            out->name[part] = name;
            out->type[part] = description_attribute_type(description, name);
        }
    }
}

/* Takes one quoted or plain name from the start of a raw word. */
static struct str take_name(struct arena *arena, struct str *raw)
{
    if (raw->len > 0 && raw->data[0] == '"') {
        const char *end = memchr(raw->data + 1, '"', raw->len - 1);
        size_t len = end == NULL ? raw->len - 1 : (size_t)(end - raw->data) - 1;
        struct str name = arena_copy_c(arena, str_make(raw->data + 1, len));
        *raw = str_skip(*raw, MIN(len + 2, raw->len));
        return name;
    }
    const char *dot = memrchr(raw->data, '.', raw->len);
    size_t len = dot == NULL ? raw->len : (size_t)(dot - raw->data);
    struct str name = arena_copy_c(arena, str_make(raw->data, len));
    *raw = str_skip(*raw, len);
    return name;
}

static bool set_target(struct session *session, struct target *out)
{
    schema_key(out->description, out->description, &out->table_key);
    out->key = out->table_key;
    if (out->index != NULL) {
        const struct gramme_value *index = description_find_index(out->description, out->index);
        if (index == NULL) {
            return fail(session, "table %s has no index %s", out->table, out->index);
        }
        schema_key(out->description, index, &out->key);
    }
    return out->key.name[0] != NULL || fail(session, "table %s has no key", out->table);
}

bool schema_find(struct session *session, struct arena *arena, const struct words *words,
                 size_t word, struct target *out)
{
    *out = (struct target){0};
    if (word >= words->count) {
        return fail(session, "a table is missing");
    }
    struct str raw = words->raw[word];
    bool is_quoted = raw.data[0] == '"' || raw.data[0] == '\'';
    const char *dot = memrchr(raw.data, '.', raw.len);
    if (!is_quoted || dot == NULL || words->text[word].len != raw.len) {
        out->table = words->text[word].data;
        out->description = schema_describe(session, out->table);
        if (out->description != NULL || is_quoted || dot == NULL || session->was_interrupted ||
            !gramme_error_is(session->error, GRAMME_NOT_FOUND)) {
            return out->description != NULL && set_target(session, out);
        }
    }
    struct str rest = raw;
    out->table = take_name(arena, &rest).data;
    rest = str_starts_with(rest, STR(".")) ? str_skip(rest, 1) : rest;
    out->index = take_name(arena, &rest).data;
    out->description = schema_describe(session, out->table);
    return out->description != NULL && set_target(session, out);
}

/* --- keys --- */

bool schema_set_typed(struct session *session, struct gramme_value *map, const char *name,
                      const char *type, struct str text)
{
    if (strcmp(type, "N") == 0) {
        gramme_set_number(map, name, text.data);
        const char *problem = gramme_value_problem(map);
        return problem == NULL ||
               fail(session, "%s is a number, and '%s' is none", name, text.data);
    }
    if (strcmp(type, "B") == 0) {
        char *bytes = mem_alloc(BASE64_DECODED_MAX(text.len) + 1);
        size_t len;
        bool good = base64_decode(text, bytes, &len);
        if (good) {
            gramme_set_binary(map, name, bytes, len);
        }
        mem_free(bytes);
        return good || fail(session, "%s is binary: write it as base64", name);
    }
    gramme_set_text(map, name, text.data, text.len);
    return true;
}

bool schema_set_key(struct session *session, struct gramme_value *out, const struct key_names *key,
                    struct str partition, struct str sort)
{
    if (str_is_null(partition)) {
        return fail(session, "a value for the partition key %s is missing", key->name[0]);
    }
    if (key->name[1] != NULL && str_is_null(sort)) {
        return fail(session, "a value for the sort key %s is missing", key->name[1]);
    }
    if (key->name[1] == NULL && !str_is_null(sort)) {
        return fail(session, "the key has one part only: %s", key->name[0]);
    }
    return schema_set_typed(session, out, key->name[0], key->type[0], partition) &&
           (key->name[1] == NULL ||
            schema_set_typed(session, out, key->name[1], key->type[1], sort));
}

/* --- completion --- */

/* Reads the names of tables, at most 1,000. */
static void fetch_names(struct session *session)
{
    enum { PAGES_MAX = 10 };
    gramme_value_destroy(session->table_names);
    session->table_names = gramme_list_create();
    session->table_names_us = clock_monotonic_us();
    struct gramme_value *parameters = gramme_map_create();
    struct gramme_answer *answer = NULL;
    const char *last = "";
    for (int page = 0; page < PAGES_MAX && last != NULL; page++) {
        if (!call(session, session->db, "ListTables", parameters, &answer, NULL)) {
            break;
        }
        const struct gramme_value *names = gramme_get(gramme_answer_root(answer), "TableNames");
        for (size_t i = 0; i < gramme_value_count(names); i++) {
            gramme_add_value(session->table_names, gramme_value_at(names, i));
        }
        last = gramme_get_string(gramme_answer_root(answer), "LastEvaluatedTableName");
        if (last != NULL) {
            gramme_set_string(parameters, "ExclusiveStartTableName", last);
        }
        gramme_answer_destroy(answer);
    }
    gramme_value_destroy(parameters);
}

void schema_each_table(struct session *session, void (*visit)(void *context, const char *name),
                       void *context)
{
    enum { FRESH_US = 5 * 1000 * 1000 };
    if (session->table_names == NULL || clock_monotonic_us() - session->table_names_us > FRESH_US) {
        fetch_names(session);
    }
    for (size_t i = 0; i < gramme_value_count(session->table_names); i++) {
        const char *name = gramme_value_string(gramme_value_at(session->table_names, i));
        if (name != NULL) {
            visit(context, name);
        }
    }
}

void schema_each_index(struct session *session, const char *table,
                       void (*visit)(void *context, const char *name), void *context)
{
    static const char *const kinds[] = {"GlobalSecondaryIndexes", "LocalSecondaryIndexes"};
    const struct gramme_value *description = schema_describe(session, table);
    for (size_t k = 0; k < COUNT_OF(kinds); k++) {
        const struct gramme_value *list = gramme_get(description, kinds[k]);
        for (size_t i = 0; i < gramme_value_count(list); i++) {
            const char *name = gramme_get_string(gramme_value_at(list, i), "IndexName");
            if (name != NULL) {
                visit(context, name);
            }
        }
    }
}

void schema_each_attribute(struct session *session, void (*visit)(void *context, const char *name),
                           void *context)
{
    size_t at = 0;
    struct str name;
    void *value;
    while (map_next(&session->attributes, &at, &name, &value)) {
        char text[256];
        if (name.len < sizeof(text)) {
            memcpy(text, name.data, name.len);
            text[name.len] = '\0';
            visit(context, text);
        }
    }
}
