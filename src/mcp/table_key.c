/* Finds keys of tables and indexes, and converts plain JSON to their types. Called by the tools. */
#include "mcp/table_key_internal.h"

#include "base/base64.h"
#include "base/mem.h"
#include "mcp/description.h"

/* Reads a key schema. False: a part has several attributes. */
static bool read_schema(const struct gramme_value *table, const struct gramme_value *of,
                        struct table_key *out)
{
    const struct gramme_value *list = gramme_get(of, "KeySchema");
    for (size_t i = 0; i < gramme_value_count(list); i++) {
        const struct gramme_value *entry = gramme_value_at(list, i);
        const char *name = gramme_get_string(entry, "AttributeName");
        const char *kind = gramme_get_string(entry, "KeyType");
        int part = kind != NULL && strcmp(kind, "RANGE") == 0 ? 1 : 0;
        if (name == NULL || out->name[part] != NULL) {
            return false;
        }
        out->name[part] = name;
        out->type[part] = description_attribute_type(table, name);
    }
    return out->name[0] != NULL;
}

bool key_find(struct tool_call *call, bool use_index, struct table_key *out)
{
    const char *name;
    const char *index = NULL;
    *out = (struct table_key){0};
    if (!tool_text(call, "table", true, &name) ||
        (use_index && !tool_text(call, "index", false, &index))) {
        return false;
    }
    struct gramme_request *request = gramme_request_create("DescribeTable", name);
    struct gramme_error *error = NULL;
    out->answer = gramme_send(call->server->db, request, &error);
    gramme_request_destroy(request);
    if (out->answer == NULL) {
        return tool_fail_with(call, error);
    }
    const struct gramme_value *table = gramme_get(gramme_answer_root(out->answer), "Table");
    const struct gramme_value *of = index == NULL ? table : description_find_index(table, index);
    bool good = of != NULL || tool_fail(call, "table %s has no index %s", name, index);
    if (good && !read_schema(table, of, out)) {
        good = tool_fail(call, "the key has several attributes in one part: use run_statement");
    }
    if (!good) {
        gramme_answer_destroy(out->answer);
        out->answer = NULL;
    }
    return good;
}

static bool set_binary(struct tool_call *call, struct gramme_value *map, const char *name,
                       const struct gramme_value *value)
{
    const char *text = gramme_value_string(value);
    size_t text_len = gramme_value_len(value);
    char *bytes = mem_alloc(BASE64_DECODED_MAX(text_len) + 1);
    size_t len;
    bool good = text != NULL && base64_decode(str_make(text, text_len), bytes, &len);
    if (good) {
        gramme_set_binary(map, name, bytes, len);
    }
    mem_free(bytes);
    return good || tool_fail(call, "%s is binary: give it as base64 text", name);
}

bool key_set(struct tool_call *call, struct gramme_value *map, const char *name, const char *type,
             const struct gramme_value *value)
{
    enum gramme_type given = gramme_value_type(value);
    if (strcmp(type, "B") == 0) {
        return set_binary(call, map, name, value);
    }
    if (strcmp(type, "N") == 0 && given == GRAMME_STRING) {
        gramme_set_number(map, name,
                          gramme_value_string(value)); /* more digits than a double has */
        return gramme_value_problem(map) == NULL || tool_fail(call, "%s must be a number", name);
    }
    if (given != (strcmp(type, "N") == 0 ? GRAMME_NUMBER : GRAMME_STRING)) {
        return tool_fail(call, "%s must be a %s", name,
                         strcmp(type, "N") == 0 ? "number" : "string");
    }
    gramme_set_value(map, name, value);
    return true;
}

bool key_read(struct tool_call *call, const struct table_key *key, struct gramme_value *out)
{
    const struct gramme_value *given = gramme_get(call->arguments, "key");
    size_t parts = key->name[1] == NULL ? 1 : 2;
    if (gramme_value_type(given) != GRAMME_MAP || gramme_value_count(given) != parts) {
        return tool_fail(call,
                         "key must be an object with exactly the attributes of the key: %s%s%s",
                         key->name[0], parts == 2 ? ", " : "", parts == 2 ? key->name[1] : "");
    }
    for (size_t part = 0; part < parts; part++) {
        const struct gramme_value *value = gramme_get(given, key->name[part]);
        if (value == NULL) {
            return tool_fail(call, "key has no %s", key->name[part]);
        }
        if (!key_set(call, out, key->name[part], key->type[part], value)) {
            return false;
        }
    }
    return true;
}
