/* \get, \query, \scan, \put, \delete: single items and item collections. Main thread. */
#include "base/mem.h"
#include "shell/commands_internal.h"
#include "shell/pages_internal.h"

static void set_capacity(struct gramme_value *parameters)
{
    gramme_set_string(parameters, "ReturnConsumedCapacity", "TOTAL");
}

static void print_item(struct session *session, const struct target *target,
                       const struct gramme_value *item)
{
    struct items items = {.keys = {&target->table_key}};
    items_add(&items, item);
    results_print(session, &items);
    items_finish(&items);
    schema_see_item(session, item);
}

bool run_get(struct session *session, const struct invocation *invocation)
{
    struct target target;
    if (invocation->words.count < 3 || invocation->words.count > 4) {
        return fail_usage(session, invocation);
    }
    if (!schema_find(session, invocation->arena, &invocation->words, 1, &target)) {
        return false;
    }
    struct gramme_value *parameters = gramme_map_create();
    gramme_set_string(parameters, "TableName", target.table);
    set_capacity(parameters);
    struct usage usage = {0};
    struct gramme_answer *answer = NULL;
    bool good = schema_set_key(session, gramme_set_map(parameters, "Key"), &target.table_key,
                               word_at(invocation, 2), word_at(invocation, 3)) &&
                call(session, session->db, "GetItem", parameters, &answer, &usage);
    gramme_value_destroy(parameters);
    if (good) {
        const struct gramme_value *item = gramme_answer_item(answer);
        if (item != NULL) {
            print_item(session, &target, item);
        }
        results_print_usage(session, "item", item != NULL, &usage);
        gramme_answer_destroy(answer);
    }
    return good;
}

/* --- \query, \scan --- */

/* Reads `desc`, `limit N` and `consistent` from word `i` on. */
static bool read_modifiers(struct session *session, const struct invocation *invocation, size_t i,
                           struct read *read)
{
    for (; i < invocation->words.count; i++) {
        struct str word = invocation->words.text[i];
        int64_t number;
        if (str_eq(word, STR("desc")) && strcmp(read->operation, "Query") == 0) {
            gramme_set_bool(read->parameters, "ScanIndexForward", false);
        } else if (str_eq(word, STR("consistent"))) {
            gramme_set_bool(read->parameters, "ConsistentRead", true);
        } else if (str_eq(word, STR("limit")) &&
                   str_to_int64(word_at(invocation, i + 1), &number) && number > 0) {
            read->items_max = (size_t)number;
            i++;
        } else {
            return fail_usage(session, invocation);
        }
    }
    return true;
}

static bool run_read(struct session *session, const struct target *target, struct read *read)
{
    gramme_set_string(read->parameters, "TableName", target->table);
    if (target->index != NULL) {
        gramme_set_string(read->parameters, "IndexName", target->index);
    }
    set_capacity(read->parameters);
    read->is_select = true;
    read->items.keys[0] = &target->key;
    read->items.keys[1] = &target->table_key;
    return pages_run(session, read);
}

bool run_scan(struct session *session, const struct invocation *invocation)
{
    struct target target;
    if (invocation->words.count < 2) {
        return fail_usage(session, invocation);
    }
    struct read read = {.operation = "Scan", .parameters = gramme_map_create()};
    bool good = read_modifiers(session, invocation, 2, &read) &&
                schema_find(session, invocation->arena, &invocation->words, 1, &target) &&
                run_read(session, &target, &read);
    gramme_value_destroy(read.parameters);
    return good;
}

/* A condition on the sort key: how it is typed, as an expression, and its number of values. */
static const struct sort_condition {
    const char *word;
    const char *expression;
    size_t value_count;
} conditions[] = {
    {"=", "#s = :s", 1},
    {"<", "#s < :s", 1},
    {"<=", "#s <= :s", 1},
    {">", "#s > :s", 1},
    {">=", "#s >= :s", 1},
    {"begins", "begins_with(#s, :s)", 1},
    {"between", "#s BETWEEN :s AND :t", 2},
};

/* Returns the condition that is typed so; NULL: the word is none. */
static const struct sort_condition *find_condition(struct str word)
{
    for (size_t i = 0; i < COUNT_OF(conditions); i++) {
        if (str_eq(word, str_from_c(conditions[i].word))) {
            return &conditions[i];
        }
    }
    return NULL;
}

/* Sets :s and :t to the values of a condition, which begin at word 4. */
static bool set_sort_values(struct session *session, const struct invocation *invocation,
                            const struct target *target, const struct sort_condition *condition,
                            struct gramme_value *values)
{
    bool good =
        target->key.name[1] != NULL ||
        fail(session, "%s has no sort key", target->index != NULL ? target->index : target->table);
    for (size_t i = 0; good && i < condition->value_count; i++) {
        struct str value = word_at(invocation, 4 + i);
        good = str_is_null(value) ? fail_usage(session, invocation)
                                  : schema_set_typed(session, values, i == 0 ? ":s" : ":t",
                                                     target->key.type[1], value);
    }
    return good;
}

/* Adds the condition at word 3, if there is one. *next: the word behind it. */
static bool add_condition(struct session *session, const struct invocation *invocation,
                          const struct target *target, struct gramme_value *parameters,
                          size_t *next)
{
    if (target->key.is_composite) {
        return fail(session, "the key of %s has several attributes in one part: use SELECT",
                    target->index != NULL ? target->index : target->table);
    }
    struct gramme_value *names = gramme_set_map(parameters, "ExpressionAttributeNames");
    struct gramme_value *values = gramme_set_map(parameters, "ExpressionAttributeValues");
    gramme_set_string(names, "#p", target->key.name[0]);
    *next = 3;
    struct buf expression = {0};
    buf_add(&expression, STR("#p = :p"));
    const struct sort_condition *condition = find_condition(word_at(invocation, 3));
    bool good =
        schema_set_typed(session, values, ":p", target->key.type[0], word_at(invocation, 2)) &&
        (condition == NULL || set_sort_values(session, invocation, target, condition, values));
    if (good && condition != NULL) {
        buf_format(&expression, " AND %s", condition->expression);
        gramme_set_string(names, "#s", target->key.name[1]);
        *next = 4 + condition->value_count;
    }
    gramme_set_text(parameters, "KeyConditionExpression", expression.data, expression.len);
    buf_finish(&expression);
    return good;
}

bool run_query(struct session *session, const struct invocation *invocation)
{
    struct target target;
    size_t next = 3;
    if (invocation->words.count < 3) {
        return fail_usage(session, invocation);
    }
    struct read read = {.operation = "Query", .parameters = gramme_map_create()};
    bool good = schema_find(session, invocation->arena, &invocation->words, 1, &target) &&
                add_condition(session, invocation, &target, read.parameters, &next) &&
                read_modifiers(session, invocation, next, &read) &&
                run_read(session, &target, &read);
    gramme_value_destroy(read.parameters);
    return good;
}

/* --- \put, \delete --- */

/* Makes the item of \put; NULL: the failure is recorded. */
static struct gramme_value *read_item(struct session *session, const struct invocation *invocation)
{
    struct str json = invocation->words.text[2];
    bool is_typed = str_eq(word_at(invocation, 3), STR("typed"));
    if (invocation->words.count == 4 && !is_typed) {
        fail_usage(session, invocation);
        return NULL;
    }
    struct gramme_error *error = NULL;
    struct gramme_value *item =
        gramme_value_from_json(json.data, json.len, is_typed ? GRAMME_TYPED : GRAMME_PLAIN, &error);
    if (item == NULL) {
        fail_with(session, error);
    } else if (gramme_value_type(item) != GRAMME_MAP) {
        gramme_value_destroy(item);
        fail(session, "an item is a JSON object");
        return NULL;
    }
    return item;
}

/* A plain item can say neither binary nor that a number is a string: the key says which it needs.
 */
static bool fix_key_types(struct session *session, const struct target *target,
                          struct gramme_value *item)
{
    bool good = true;
    for (size_t part = 0; good && part < 2 && target->table_key.name[part] != NULL; part++) {
        const char *name = target->table_key.name[part];
        const char *text = gramme_get_string(item, name);
        if (text != NULL && strcmp(target->table_key.type[part], "B") == 0) {
            char *copy = mem_strdup(text);
            good = schema_set_typed(session, item, name, "B", str_from_c(copy));
            mem_free(copy);
        }
    }
    return good;
}

bool run_put(struct session *session, const struct invocation *invocation)
{
    struct target target;
    if (invocation->words.count < 3 || invocation->words.count > 4) {
        return fail_usage(session, invocation);
    }
    struct gramme_value *item = read_item(session, invocation);
    if (item == NULL) {
        return false;
    }
    struct gramme_value *parameters = gramme_map_create();
    struct gramme_answer *answer = NULL;
    struct usage usage = {0};
    bool good = schema_find(session, invocation->arena, &invocation->words, 1, &target) &&
                fix_key_types(session, &target, item);
    if (good) {
        gramme_set_string(parameters, "TableName", target.table);
        gramme_set_value(parameters, "Item", item);
        gramme_set_string(parameters, "ReturnValues", "ALL_OLD");
        set_capacity(parameters);
        good = call(session, session->db, "PutItem", parameters, &answer, &usage);
    }
    gramme_value_destroy(parameters);
    gramme_value_destroy(item);
    if (good) {
        bool is_new = gramme_value_count(gramme_answer_attributes(answer)) == 0;
        buf_add(&session->out, is_new ? STR("written\n") : STR("written; replaced an item\n"));
        results_print_usage(session, NULL, 0, &usage);
        gramme_answer_destroy(answer);
    }
    return good;
}

bool run_delete(struct session *session, const struct invocation *invocation)
{
    struct target target;
    if (invocation->words.count < 3 || invocation->words.count > 4) {
        return fail_usage(session, invocation);
    }
    struct gramme_value *parameters = gramme_map_create();
    struct gramme_answer *answer = NULL;
    struct usage usage = {0};
    bool good = schema_find(session, invocation->arena, &invocation->words, 1, &target) &&
                schema_set_key(session, gramme_set_map(parameters, "Key"), &target.table_key,
                               word_at(invocation, 2), word_at(invocation, 3)) &&
                confirm(session, "Delete the item %.*s%s%.*s from %s",
                        STR_ARG(word_at(invocation, 2)), invocation->words.count > 3 ? " " : "",
                        STR_ARG(word_at(invocation, 3)), target.table);
    if (good) {
        gramme_set_string(parameters, "TableName", target.table);
        gramme_set_string(parameters, "ReturnValues", "ALL_OLD");
        set_capacity(parameters);
        good = call(session, session->db, "DeleteItem", parameters, &answer, &usage);
    }
    gramme_value_destroy(parameters);
    if (good) {
        bool was_there = gramme_value_count(gramme_answer_attributes(answer)) > 0;
        buf_add(&session->out, was_there ? STR("deleted\n") : STR("there was no such item\n"));
        results_print_usage(session, NULL, 0, &usage);
        gramme_answer_destroy(answer);
    }
    return good;
}
