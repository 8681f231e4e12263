/* The tools about tables, and those that write: list_tables, describe_table, put_item, delete_item.
 * Main thread. */
#include "mcp/table_key_internal.h"

/* --- list_tables --- */

#define START "ExclusiveStartTableName"
enum { TABLES_SHOWN = 200 };

/* Adds the names of a page that match. Returns the last name looked at if the list is full. */
static const char *add_names(struct gramme_value *list, const struct gramme_value *names,
                             const char *prefix)
{
    for (size_t i = 0; i < gramme_value_count(names); i++) {
        const char *name = gramme_value_string(gramme_value_at(names, i));
        if (name != NULL && (prefix == NULL || strncmp(name, prefix, strlen(prefix)) == 0)) {
            gramme_add_string(list, name);
        }
        if (gramme_value_count(list) == TABLES_SHOWN) {
            return name;
        }
    }
    return NULL;
}

/* Adds a page of names to the list. Returns whether the next page is wanted, which the request asks
 * for then. */
static bool add_page(struct tool_call *call, struct gramme_request *request,
                     const struct gramme_value *root, struct gramme_value *list, const char *prefix)
{
    const char *last = gramme_get_string(root, "LastEvaluatedTableName");
    const char *start = gramme_get_string(gramme_request_root(request), START);
    const char *full = add_names(list, gramme_get(root, "TableNames"), prefix);
    /* A server that continues where it began would never end. */
    bool has_more = full == NULL && last != NULL && (start == NULL || strcmp(start, last) != 0);
    if (full != NULL) {
        gramme_set_string(call->result, "next_after", full);
    } else if (last != NULL) {
        gramme_set_string(gramme_request_root(request), START, last);
    }
    return has_more;
}

bool tool_list_tables(struct tool_call *call)
{
    const char *prefix;
    const char *after;
    if (!tool_text(call, "prefix", false, &prefix) || !tool_text(call, "after", false, &after)) {
        return false;
    }
    struct gramme_request *request = gramme_request_create("ListTables", NULL);
    struct gramme_value *list = gramme_set_list(call->result, "tables");
    struct gramme_error *error = NULL;
    bool has_more = true;
    bool good = true;
    if (after != NULL) {
        gramme_set_string(gramme_request_root(request), START, after);
    }
    while (good && has_more) {
        struct gramme_answer *answer = gramme_send(call->server->db, request, &error);
        if (answer == NULL) {
            good = tool_fail_with(call, error);
            break;
        }
        has_more = add_page(call, request, gramme_answer_root(answer), list, prefix);
        gramme_answer_destroy(answer);
    }
    gramme_request_destroy(request);
    return good;
}

/* --- describe_table --- */

/* {"partition": {"name": "pk", "type": "S"}, "sort": ...}; lists if a part has several attributes.
 */
static void set_key(struct gramme_value *out, const struct gramme_value *table,
                    const struct gramme_value *of)
{
    struct gramme_value *key = gramme_set_list(out, "key");
    const struct gramme_value *schema = gramme_get(of, "KeySchema");
    const struct gramme_value *types = gramme_get(table, "AttributeDefinitions");
    for (size_t i = 0; i < gramme_value_count(schema); i++) {
        const struct gramme_value *entry = gramme_value_at(schema, i);
        const char *name = gramme_get_string(entry, "AttributeName");
        const char *kind = gramme_get_string(entry, "KeyType");
        if (name == NULL || kind == NULL) {
            continue;
        }
        struct gramme_value *part = gramme_add_map(key);
        gramme_set_string(part, "attribute", name);
        gramme_set_string(part, "role", strcmp(kind, "HASH") == 0 ? "partition" : "sort");
        for (size_t k = 0; k < gramme_value_count(types); k++) {
            const struct gramme_value *type = gramme_value_at(types, k);
            const char *type_name = gramme_get_string(type, "AttributeName");
            if (type_name != NULL && strcmp(type_name, name) == 0) {
                gramme_set_value(part, "type", gramme_get(type, "AttributeType"));
            }
        }
    }
}

static void add_indexes(struct gramme_value *out, const struct gramme_value *table,
                        const char *member, const char *kind)
{
    const struct gramme_value *list = gramme_get(table, member);
    for (size_t i = 0; i < gramme_value_count(list); i++) {
        const struct gramme_value *index = gramme_value_at(list, i);
        const struct gramme_value *projection = gramme_get(index, "Projection");
        struct gramme_value *entry = gramme_add_map(out);
        gramme_set_value(entry, "index", gramme_get(index, "IndexName"));
        gramme_set_string(entry, "kind", kind);
        set_key(entry, table, index);
        gramme_set_value(entry, "projection", gramme_get(projection, "ProjectionType"));
        gramme_set_value(entry, "projected", gramme_get(projection, "NonKeyAttributes"));
        gramme_set_value(entry, "status", gramme_get(index, "IndexStatus"));
        gramme_set_value(entry, "items", gramme_get(index, "ItemCount"));
        gramme_set_value(entry, "bytes", gramme_get(index, "IndexSizeBytes"));
    }
}

static void set_ttl(struct tool_call *call, const char *table)
{
    struct gramme_request *request = gramme_request_create("DescribeTimeToLive", table);
    struct gramme_answer *answer = gramme_send(call->server->db, request, NULL);
    const struct gramme_value *ttl =
        answer == NULL ? NULL : gramme_get(gramme_answer_root(answer), "TimeToLiveDescription");
    gramme_set_value(call->result, "time_to_live", gramme_get(ttl, "AttributeName"));
    gramme_answer_destroy(answer);
    gramme_request_destroy(request);
}

static void set_description(struct tool_call *call, const struct gramme_value *table)
{
    const struct gramme_value *billing = gramme_get(table, "BillingModeSummary");
    const struct gramme_value *stream = gramme_get(table, "StreamSpecification");
    gramme_set_value(call->result, "status", gramme_get(table, "TableStatus"));
    gramme_set_value(call->result, "billing", gramme_get(billing, "BillingMode"));
    gramme_set_value(call->result, "items", gramme_get(table, "ItemCount"));
    gramme_set_value(call->result, "bytes", gramme_get(table, "TableSizeBytes"));
    set_key(call->result, table, table);
    struct gramme_value *indexes = gramme_set_list(call->result, "indexes");
    add_indexes(indexes, table, "GlobalSecondaryIndexes", "global");
    add_indexes(indexes, table, "LocalSecondaryIndexes", "local");
    gramme_set_value(call->result, "stream", gramme_get(stream, "StreamViewType"));
}

bool tool_describe_table(struct tool_call *call)
{
    const char *name;
    struct gramme_error *error = NULL;
    if (!tool_text(call, "table", true, &name)) {
        return false;
    }
    struct gramme_request *request = gramme_request_create("DescribeTable", name);
    struct gramme_answer *answer = gramme_send(call->server->db, request, &error);
    gramme_request_destroy(request);
    if (answer == NULL) {
        return tool_fail_with(call, error);
    }
    gramme_set_string(call->result, "table", name);
    set_description(call, gramme_get(gramme_answer_root(answer), "Table"));
    set_ttl(call, name);
    gramme_answer_destroy(answer);
    return true;
}

/* --- put_item, delete_item --- */

static bool set_item(struct tool_call *call, const struct table_key *key,
                     struct gramme_request *request)
{
    const struct gramme_value *item = gramme_get(call->arguments, "item");
    if (gramme_value_type(item) != GRAMME_MAP) {
        return tool_fail(call, "item must be an object");
    }
    struct gramme_value *out = gramme_request_item(request);
    for (size_t i = 0; i < gramme_value_count(item); i++) {
        const struct gramme_value *value = gramme_value_at(item, i);
        gramme_set_value(out, gramme_value_name(value), value);
    }
    for (size_t part = 0; part < 2 && key->name[part] != NULL; part++) {
        const struct gramme_value *value = gramme_get(item, key->name[part]);
        if (value == NULL) {
            return tool_fail(call, "the item has no %s, which is part of the key", key->name[part]);
        }
        if (!key_set(call, out, key->name[part], key->type[part], value)) {
            return false;
        }
    }
    return true;
}

/* Sends a PutItem. Returns the answer; NULL: the call has failed, and says why. */
static struct gramme_answer *send_put(struct tool_call *call, const struct table_key *key,
                                      struct gramme_request *request)
{
    struct gramme_error *error = NULL;
    if (!gramme_get_bool(call->arguments, "overwrite", false)) {
        gramme_request_condition(request, "attribute_not_exists(#p)");
        gramme_request_name(request, "#p", key->name[0]);
    }
    gramme_request_return_capacity(request);
    struct gramme_answer *answer = gramme_send(call->server->db, request, &error);
    if (gramme_error_is(error, GRAMME_CONDITION_FAILED)) {
        tool_fail(call, "an item with this key exists; set overwrite to replace it");
        gramme_error_destroy(error);
    } else if (answer == NULL) {
        tool_fail_with(call, error);
    }
    return answer;
}

bool tool_put_item(struct tool_call *call)
{
    struct table_key key;
    const char *table;
    if (!key_find(call, false, &key) || !tool_text(call, "table", true, &table)) {
        return false;
    }
    struct gramme_request *request = gramme_request_create("PutItem", table);
    struct gramme_answer *answer =
        set_item(call, &key, request) ? send_put(call, &key, request) : NULL;
    bool good = answer != NULL;
    if (good) {
        gramme_set_bool(call->result, "written", true);
        gramme_set_double(call->result, "capacity_units", gramme_answer_units(answer));
    }
    gramme_answer_destroy(answer);
    gramme_request_destroy(request);
    gramme_answer_destroy(key.answer);
    return good;
}

static void set_deleted(struct tool_call *call, const struct gramme_answer *answer)
{
    const struct gramme_value *old = gramme_answer_attributes(answer);
    bool existed = gramme_value_count(old) > 0;
    gramme_set_bool(call->result, "deleted", existed);
    if (existed) {
        bounds_set(call->result, "item", old);
    }
    gramme_set_double(call->result, "capacity_units", gramme_answer_units(answer));
}

bool tool_delete_item(struct tool_call *call)
{
    struct table_key key;
    const char *table;
    if (!key_find(call, false, &key) || !tool_text(call, "table", true, &table)) {
        return false;
    }
    struct gramme_request *request = gramme_request_create("DeleteItem", table);
    struct gramme_error *error = NULL;
    struct gramme_answer *answer = NULL;
    bool good = key_read(call, &key, gramme_request_key(request));
    if (good) {
        gramme_request_return(request, "ALL_OLD");
        gramme_request_return_capacity(request);
        answer = gramme_send(call->server->db, request, &error);
        good = answer != NULL || tool_fail_with(call, error);
    }
    if (good) {
        set_deleted(call, answer);
    }
    gramme_answer_destroy(answer);
    gramme_request_destroy(request);
    gramme_answer_destroy(key.answer);
    return good;
}
