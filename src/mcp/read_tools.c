/* The tools that read items: sample_items, item_collections, get_item, query_items, run_statement.
 * Main thread. */
#include <ctype.h>
#include <strings.h>

#include "base/map.h"
#include "mcp/table_key_internal.h"

/* --- pages of a Query or Scan --- */

static bool set_cursor(struct tool_call *call, struct gramme_request *request)
{
    const char *cursor;
    if (!tool_text(call, "cursor", false, &cursor)) {
        return false;
    }
    return cursor == NULL || gramme_request_cursor(request, cursor) ||
           tool_fail(call, "cursor is not one that this server gave");
}

static void set_next_cursor(struct tool_call *call, const struct gramme_answer *answer)
{
    char *cursor = gramme_answer_cursor(answer);
    if (cursor != NULL) {
        gramme_set_string(call->result, "next_cursor", cursor);
    }
    gramme_free(cursor);
}

/* Fills the result with what belongs to a page of which `fitting` of `count` items fit. */
static void set_page(struct tool_call *call, const struct gramme_answer *answer, size_t fitting,
                     size_t count)
{
    gramme_set_int(call->result, "count", (int64_t)fitting);
    gramme_set_double(call->result, "capacity_units", gramme_answer_units(answer));
    if (fitting == count) {
        set_next_cursor(call, answer);
    } else {
        gramme_set_format(call->result, "left_out", "%zu items did not fit", count - fitting);
    }
}

/* Sends a Query or Scan and fills the result with its items. If they do not fit the answer it is
 * sent again with a smaller limit, so that the cursor continues behind the last item shown. */
static bool run_page(struct tool_call *call, struct gramme_request *request, int limit)
{
    struct gramme_error *error = NULL;
    for (;;) {
        gramme_request_limit(request, limit);
        struct gramme_answer *answer = gramme_send(call->server->db, request, &error);
        if (answer == NULL) {
            return tool_fail_with(call, error);
        }
        const struct gramme_value *items = gramme_answer_items(answer);
        size_t count = gramme_value_count(items);
        struct gramme_value *list = gramme_set_list(call->result, "items");
        size_t fitting = bounds_add_items(list, items, count);
        bool heeds_limit = count <= (size_t)limit; /* else a smaller one would not help */
        if (fitting == count || !heeds_limit) {
            set_page(call, answer, fitting, count);
            gramme_answer_destroy(answer);
            return true;
        }
        limit = (int)fitting;
        gramme_answer_destroy(answer);
    }
}

static bool prepare_page(struct tool_call *call, const char *operation, struct gramme_request **out,
                         int *limit)
{
    const char *table;
    const char *index;
    if (!tool_text(call, "table", true, &table) || !tool_text(call, "index", false, &index) ||
        !tool_limit(call, ITEMS_DEFAULT, ITEMS_MAX, limit)) {
        return false;
    }
    *out = gramme_request_create(operation, table);
    if (index != NULL) {
        gramme_request_index(*out, index);
    }
    gramme_request_return_capacity(*out);
    return true;
}

bool tool_sample_items(struct tool_call *call)
{
    struct gramme_request *request = NULL;
    int limit = 0;
    bool good = prepare_page(call, "Scan", &request, &limit) && set_cursor(call, request) &&
                run_page(call, request, limit);
    gramme_request_destroy(request);
    return good;
}

/* --- query_items --- */

static const struct {
    const char *word;
    const char *expression;
    bool has_high;
} conditions[] = {
    {"=", "#p = :p AND #s = :s", false},
    {"<", "#p = :p AND #s < :s", false},
    {"<=", "#p = :p AND #s <= :s", false},
    {">", "#p = :p AND #s > :s", false},
    {">=", "#p = :p AND #s >= :s", false},
    {"begins_with", "#p = :p AND begins_with(#s, :s)", false},
    {"between", "#p = :p AND #s BETWEEN :s AND :t", true},
};

static bool set_sort_value(struct tool_call *call, struct gramme_request *request,
                           const struct table_key *key, const char *argument,
                           const char *placeholder)
{
    const struct gramme_value *value = gramme_get(call->arguments, argument);
    if (value == NULL) {
        return tool_fail(call, "the argument %s is missing", argument);
    }
    return key_set(call, gramme_request_values(request), placeholder, key->type[1], value);
}

/* Sets the condition with this word, for both parts of the key. */
static bool set_sort_condition(struct tool_call *call, struct gramme_request *request,
                               const struct table_key *key, const char *word)
{
    if (key->name[1] == NULL) {
        return tool_fail(call, "there is no sort key for a condition");
    }
    for (size_t i = 0; i < COUNT_OF(conditions); i++) {
        if (strcmp(conditions[i].word, word) == 0) {
            gramme_request_name(request, "#s", key->name[1]);
            gramme_request_key_condition(request, conditions[i].expression);
            return set_sort_value(call, request, key, "value", ":s") &&
                   (!conditions[i].has_high || set_sort_value(call, request, key, "high", ":t"));
        }
    }
    return tool_fail(call, "condition is one of =, <, <=, >, >=, begins_with, between");
}

static bool set_condition(struct tool_call *call, struct gramme_request *request,
                          const struct table_key *key)
{
    const char *word;
    const struct gramme_value *partition = gramme_get(call->arguments, "partition");
    if (!tool_text(call, "condition", false, &word)) {
        return false;
    }
    if (partition == NULL) {
        return tool_fail(call, "the argument partition is missing");
    }
    if (!key_set(call, gramme_request_values(request), ":p", key->type[0], partition)) {
        return false;
    }
    gramme_request_name(request, "#p", key->name[0]);
    if (word == NULL) {
        gramme_request_key_condition(request, "#p = :p");
        return true;
    }
    return set_sort_condition(call, request, key, word);
}

bool tool_query_items(struct tool_call *call)
{
    struct table_key key;
    struct gramme_request *request = NULL;
    int limit = 0;
    if (!key_find(call, true, &key)) {
        return false;
    }
    bool good = prepare_page(call, "Query", &request, &limit) &&
                set_condition(call, request, &key) && set_cursor(call, request);
    if (good && gramme_get_bool(call->arguments, "descending", false)) {
        gramme_request_descending(request);
    }
    good = good && run_page(call, request, limit);
    gramme_request_destroy(request);
    gramme_answer_destroy(key.answer);
    return good;
}

/* --- get_item --- */

static void set_item(struct tool_call *call, const struct gramme_answer *answer)
{
    const struct gramme_value *item = gramme_answer_item(answer);
    if (item != NULL) {
        bounds_set(call->result, "item", item);
    } else {
        gramme_set_null(call->result, "item");
    }
    gramme_set_double(call->result, "capacity_units", gramme_answer_units(answer));
}

bool tool_get_item(struct tool_call *call)
{
    struct table_key key;
    const char *table;
    if (!key_find(call, false, &key) || !tool_text(call, "table", true, &table)) {
        return false;
    }
    struct gramme_request *request = gramme_request_create("GetItem", table);
    struct gramme_error *error = NULL;
    struct gramme_answer *answer = NULL;
    bool good = key_read(call, &key, gramme_request_key(request));
    if (good) {
        gramme_request_return_capacity(request);
        answer = gramme_send(call->server->db, request, &error);
        good = answer != NULL || tool_fail_with(call, error);
    }
    if (good) {
        set_item(call, answer);
    }
    gramme_answer_destroy(answer);
    gramme_request_destroy(request);
    gramme_answer_destroy(key.answer);
    return good;
}

/* --- item_collections --- */

enum { READ_ITEMS = 500, SORT_KEYS_SHOWN = 10, ATTRIBUTES_SHOWN = 40 };

/* Adds an item to the entry of its collection, a map in the result. */
static void count_item(struct gramme_value *collection, const struct gramme_value *item,
                       const char *sort_name)
{
    gramme_set_int(collection, "items_seen", gramme_get_int(collection, "items_seen", 0) + 1);
    struct gramme_value *sort_keys =
        (struct gramme_value *)gramme_get(collection, "first_sort_keys");
    const struct gramme_value *sort = sort_name == NULL ? NULL : gramme_get(item, sort_name);
    if (sort != NULL && gramme_value_count(sort_keys) < SORT_KEYS_SHOWN) {
        gramme_add_value(sort_keys, sort);
    }
    struct gramme_value *attributes = (struct gramme_value *)gramme_get(collection, "attributes");
    for (size_t i = 0; i < gramme_value_count(item); i++) {
        const char *name = gramme_value_name(gramme_value_at(item, i));
        bool is_known = false;
        for (size_t k = 0; k < gramme_value_count(attributes); k++) {
            is_known =
                is_known || strcmp(gramme_value_string(gramme_value_at(attributes, k)), name) == 0;
        }
        if (!is_known && gramme_value_count(attributes) < ATTRIBUTES_SHOWN) {
            gramme_add_string(attributes, name);
        }
    }
}

/* Groups the items of a page into at most `limit` maps of the list `list`. */
static void group_items(struct gramme_value *list, const struct table_key *key,
                        const struct gramme_value *items, int limit)
{
    struct map seen; /* by the JSON of the partition key, its map */
    map_init(&seen);
    for (size_t i = 0; i < gramme_value_count(items); i++) {
        const struct gramme_value *item = gramme_value_at(items, i);
        const struct gramme_value *partition = gramme_get(item, key->name[0]);
        size_t len = 0;
        char *text = partition == NULL ? NULL : gramme_value_to_json(partition, GRAMME_PLAIN, &len);
        struct gramme_value *collection = text == NULL ? NULL : map_get(&seen, str_make(text, len));
        if (text != NULL && collection == NULL && gramme_value_count(list) < (size_t)limit) {
            collection = gramme_add_map(list);
            gramme_set_value(collection, "partition", partition);
            gramme_set_list(collection, "first_sort_keys");
            gramme_set_list(collection, "attributes");
            map_put(&seen, str_make(text, len), collection);
        }
        if (collection != NULL) {
            count_item(collection, item, key->name[1]);
        }
        gramme_free(text);
    }
    map_finish(&seen);
}

/* Fills the result with the collections of the items that were read, `limit` at most. */
static void set_collections(struct tool_call *call, const struct table_key *key,
                            const struct gramme_answer *answer, int limit)
{
    const struct gramme_value *items = gramme_answer_items(answer);
    char *cursor = gramme_answer_cursor(answer);
    struct gramme_value *found = gramme_list_create();
    group_items(found, key, items, limit);
    bounds_add_items(gramme_set_list(call->result, "collections"), found,
                     gramme_value_count(found));
    gramme_value_destroy(found);
    gramme_set_int(call->result, "items_read", (int64_t)gramme_value_count(items));
    gramme_set_bool(call->result, "read_all", cursor == NULL);
    gramme_set_double(call->result, "capacity_units", gramme_answer_units(answer));
    gramme_free(cursor);
}

bool tool_item_collections(struct tool_call *call)
{
    struct table_key key;
    struct gramme_request *request = NULL;
    struct gramme_error *error = NULL;
    int limit = 0;
    if (!key_find(call, true, &key)) {
        return false;
    }
    struct gramme_answer *answer = NULL;
    bool good = prepare_page(call, "Scan", &request, &limit);
    if (good) {
        gramme_request_limit(request, READ_ITEMS);
        answer = gramme_send(call->server->db, request, &error);
        good = answer != NULL || tool_fail_with(call, error);
    }
    if (good) {
        set_collections(call, &key, answer, limit);
    }
    gramme_answer_destroy(answer);
    gramme_request_destroy(request);
    gramme_answer_destroy(key.answer);
    return good;
}

/* --- run_statement --- */

/* Whether the statement's first word, behind blanks and comments, is SELECT. */
static bool is_select(const char *text)
{
    for (;;) {
        text += strspn(text, " \t\r\n");
        if (strncmp(text, "--", 2) == 0) {
            text += strcspn(text, "\n");
        } else if (strncmp(text, "/*", 2) == 0) {
            const char *end = strstr(text + 2, "*/");
            text = end == NULL ? "" : end + 2;
        } else {
            break;
        }
    }
    return strncasecmp(text, "SELECT", 6) == 0 && !isalnum((unsigned char)text[6]) &&
           text[6] != '_';
}

/* Fills the result with a page of the statement's items. */
static void set_statement_page(struct tool_call *call, const struct gramme_answer *answer)
{
    const struct gramme_value *items = gramme_answer_items(answer);
    size_t count = gramme_value_count(items);
    size_t fitting = bounds_add_items(gramme_set_list(call->result, "items"), items, count);
    gramme_set_int(call->result, "count", (int64_t)fitting);
    gramme_set_double(call->result, "capacity_units", gramme_answer_units(answer));
    if (fitting < count) {
        gramme_set_format(
            call->result, "left_out",
            "%zu items of this page did not fit: use a smaller limit, or select single "
            "attributes",
            count - fitting);
    }
    const struct gramme_value *next = gramme_get(gramme_answer_root(answer), "NextToken");
    gramme_set_value(call->result, "next_token", next);
}

/* Runs a statement that may be run. `token`: of the page before; NULL: the first page. `limit`: of
 * the items to read; 0: none. */
static bool run_statement(struct tool_call *call, const char *statement, const char *token,
                          int limit)
{
    struct gramme_request *request = gramme_request_create("ExecuteStatement", NULL);
    gramme_set_string(gramme_request_root(request), "Statement", statement);
    gramme_request_return_capacity(request);
    if (limit > 0) {
        gramme_request_limit(request, limit);
    }
    if (token != NULL) {
        gramme_set_string(gramme_request_root(request), "NextToken", token);
    }
    struct gramme_error *error = NULL;
    struct gramme_answer *answer = gramme_send(call->server->db, request, &error);
    gramme_request_destroy(request);
    if (answer == NULL) {
        return tool_fail_with(call, error);
    }
    set_statement_page(call, answer);
    gramme_answer_destroy(answer);
    return true;
}

bool tool_run_statement(struct tool_call *call)
{
    const char *statement;
    const char *token;
    int limit = 0;
    if (!tool_text(call, "statement", true, &statement) ||
        !tool_text(call, "next_token", false, &token) ||
        !tool_limit(call, ITEMS_DEFAULT, ITEMS_MAX, &limit)) {
        return false;
    }
    bool is_read = is_select(statement);
    if (!is_read && !call->server->may_write) {
        return tool_fail(call,
                         "this server is read-only: only SELECT is allowed (gramme mcp --write "
                         "allows INSERT, UPDATE and DELETE)");
    }
    return run_statement(call, statement, token, is_read ? limit : 0);
}
