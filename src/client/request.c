/* Builds requests, and the parts of transactions in the same way. Called by users of the library.
 */
#include "client/request_internal.h"

#include "base/base64.h"
#include "base/mem.h"

struct gramme_request *gramme_request_create(const char *operation, const char *table)
{
    struct gramme_request *request = mem_zalloc(sizeof(*request));
    request->tree = tree_create(GRAMME_MAP);
    request->root = request->tree->root;
    if (operation == NULL) {
        tree_complain(request->tree, "the name of the operation is NULL");
        operation = "";
    }
    request->operation = tree_copy_text(request->tree, str_from_c(operation)).data;
    if (table != NULL) {
        gramme_set_string(request->root, "TableName", table);
    }
    return request;
}

void gramme_request_destroy(struct gramme_request *request)
{
    if (request != NULL) {
        assert(!request->is_part);
        tree_destroy(request->tree);
        mem_free(request);
    }
}

bool request_is(const struct gramme_request *request, const char *operation)
{
    return strcmp(request->operation, operation) == 0;
}

void request_set_text(struct gramme_request *request, const char *name, const char *text)
{
    if (request != NULL) {
        gramme_set_string(request->root, name, text);
    }
}

static struct gramme_value *map_of(struct gramme_request *request, const char *name)
{
    return request == NULL ? NULL : value_need(request->root, name, GRAMME_MAP);
}

struct gramme_value *gramme_request_root(struct gramme_request *request)
{
    return request == NULL ? NULL : request->root;
}

struct gramme_value *gramme_request_item(struct gramme_request *request)
{
    return map_of(request, "Item");
}

struct gramme_value *gramme_request_key(struct gramme_request *request)
{
    return map_of(request, "Key");
}

struct gramme_value *gramme_request_values(struct gramme_request *request)
{
    return map_of(request, "ExpressionAttributeValues");
}

void gramme_request_set_item(struct gramme_request *request, const struct gramme_value *item)
{
    gramme_set_value(gramme_request_root(request), "Item", item);
}

void gramme_request_set_key(struct gramme_request *request, const struct gramme_value *key)
{
    gramme_set_value(gramme_request_root(request), "Key", key);
}

void gramme_request_name(struct gramme_request *request, const char *placeholder,
                         const char *attribute)
{
    gramme_set_string(map_of(request, "ExpressionAttributeNames"), placeholder, attribute);
}

void gramme_request_condition(struct gramme_request *request, const char *expression)
{
    request_set_text(request, "ConditionExpression", expression);
}

void gramme_request_update(struct gramme_request *request, const char *expression)
{
    request_set_text(request, "UpdateExpression", expression);
}

void gramme_request_key_condition(struct gramme_request *request, const char *expression)
{
    request_set_text(request, "KeyConditionExpression", expression);
}

void gramme_request_filter(struct gramme_request *request, const char *expression)
{
    request_set_text(request, "FilterExpression", expression);
}

void gramme_request_projection(struct gramme_request *request, const char *expression)
{
    request_set_text(request, "ProjectionExpression", expression);
}

void gramme_request_index(struct gramme_request *request, const char *index)
{
    request_set_text(request, "IndexName", index);
}

void gramme_request_limit(struct gramme_request *request, int items_max)
{
    gramme_set_int(gramme_request_root(request), "Limit", items_max);
}

void gramme_request_descending(struct gramme_request *request)
{
    gramme_set_bool(gramme_request_root(request), "ScanIndexForward", false);
}

void gramme_request_start(struct gramme_request *request, const struct gramme_value *key)
{
    gramme_set_value(gramme_request_root(request), "ExclusiveStartKey", key);
}

void gramme_request_consistent(struct gramme_request *request)
{
    gramme_set_bool(gramme_request_root(request), "ConsistentRead", true);
}

void gramme_request_return(struct gramme_request *request, const char *what)
{
    request_set_text(request, "ReturnValues", what);
}

void gramme_request_return_on_failure(struct gramme_request *request)
{
    request_set_text(request, "ReturnValuesOnConditionCheckFailure", "ALL_OLD");
}

void gramme_request_return_capacity(struct gramme_request *request)
{
    request_set_text(request, "ReturnConsumedCapacity", "INDEXES");
}

/* --- cursors: the key as typed JSON, in base64 with the letters that a URL takes --- */

char *gramme_answer_cursor(const struct gramme_answer *answer)
{
    size_t len;
    const struct gramme_value *key = gramme_get(gramme_answer_root(answer), "LastEvaluatedKey");
    char *json = gramme_value_to_json(key, GRAMME_TYPED, &len);
    if (json == NULL) {
        return NULL;
    }
    size_t encoded_len = BASE64_ENCODED_LEN(len);
    char *cursor = mem_alloc(encoded_len + 1);
    base64_encode(str_make(json, len), cursor);
    gramme_free(json);
    for (size_t i = 0; i < encoded_len; i++) {
        cursor[i] = cursor[i] == '+' ? '-' : cursor[i] == '/' ? '_' : cursor[i];
    }
    while (encoded_len > 0 && cursor[encoded_len - 1] == '=') {
        encoded_len--;
    }
    cursor[encoded_len] = '\0';
    return cursor;
}

/* A key is at most 3 KB for the table and as much for an index, written at most twice as long. */
enum { CURSOR_LEN_MAX = 32 * 1024 };

static struct gramme_value *key_of_cursor(struct str cursor)
{
    char text[CURSOR_LEN_MAX + 4];
    char json[BASE64_DECODED_MAX(CURSOR_LEN_MAX + 4)];
    if (cursor.len > CURSOR_LEN_MAX) {
        return NULL;
    }
    for (size_t i = 0; i < cursor.len; i++) {
        char c = cursor.data[i];
        text[i] = (char)(c == '-' ? '+' : c == '_' ? '/' : c);
    }
    size_t len = cursor.len;
    while (len % 4 != 0) {
        text[len++] = '=';
    }
    size_t json_len;
    return base64_decode(str_make(text, len), json, &json_len)
               ? gramme_value_from_json(json, json_len, GRAMME_TYPED, NULL)
               : NULL;
}

bool gramme_request_cursor(struct gramme_request *request, const char *cursor)
{
    struct gramme_value *key = cursor == NULL ? NULL : key_of_cursor(str_from_c(cursor));
    if (key == NULL || gramme_value_count(key) == 0) {
        gramme_value_destroy(key);
        return false;
    }
    gramme_request_start(request, key);
    gramme_value_destroy(key);
    return true;
}
