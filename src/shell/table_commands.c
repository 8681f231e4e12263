/* \tables, \d, \create, \drop, \call: tables, and operations as they are. Main thread. */
#include <stdio.h>

#include "base/terminal.h"
#include "mcp/description.h"
#include "shell/commands_internal.h"
#include "shell/pages_internal.h"

/* --- \tables --- */

static void add_table_rows(struct gramme_value *rows, const struct gramme_value *names,
                           struct str prefix)
{
    for (size_t i = 0; i < gramme_value_count(names); i++) {
        const char *name = gramme_value_string(gramme_value_at(names, i));
        if (name != NULL && str_starts_with(str_from_c(name), prefix)) {
            gramme_set_string(gramme_add_map(rows), "table", name);
        }
    }
}

/* Adds a row for each table whose name begins so. */
static bool list_tables(struct session *session, struct str prefix, struct gramme_value *rows,
                        struct usage *usage)
{
    struct gramme_value *parameters = gramme_map_create();
    const char *last = "";
    bool good = true;
    while (good && last != NULL) {
        struct gramme_answer *answer;
        good = call(session, session->db, "ListTables", parameters, &answer, usage);
        if (good) {
            add_table_rows(rows, gramme_get(gramme_answer_root(answer), "TableNames"), prefix);
            last = gramme_get_string(gramme_answer_root(answer), "LastEvaluatedTableName");
            if (last != NULL) {
                gramme_set_string(parameters, "ExclusiveStartTableName", last);
            }
            gramme_answer_destroy(answer);
        }
    }
    gramme_value_destroy(parameters);
    return good;
}

bool run_tables(struct session *session, const struct invocation *invocation)
{
    struct str prefix = word_at(invocation, 1);
    struct gramme_value *rows = gramme_list_create();
    struct usage usage = {0};
    bool good = list_tables(session, str_is_null(prefix) ? STR("") : prefix, rows, &usage);
    if (good) {
        struct items items = {0};
        for (size_t i = 0; i < gramme_value_count(rows); i++) {
            items_add(&items, gramme_value_at(rows, i));
        }
        results_print(session, &items);
        results_print_usage(session, "table", items.count, &usage);
        items_finish(&items);
    }
    gramme_value_destroy(rows);
    return good;
}

/* --- \d --- */

static void add_safe(struct session *session, const char *text)
{
    terminal_add_text(&session->out, str_from_c(text != NULL ? text : "?"));
}

/* Prints the key of a table or index. Parts of an index's key may have several attributes, joined
 * by plus signs. */
static void print_key(struct session *session, const struct gramme_value *description,
                      const struct gramme_value *of)
{
    const struct gramme_value *list = gramme_get(of, "KeySchema");
    const char *last_kind = NULL;
    for (size_t i = 0; i < gramme_value_count(list); i++) {
        const struct gramme_value *entry = gramme_value_at(list, i);
        const char *name = gramme_get_string(entry, "AttributeName");
        const char *kind = gramme_get_string(entry, "KeyType");
        if (name == NULL || kind == NULL) {
            continue;
        }
        bool is_same = last_kind != NULL && strcmp(kind, last_kind) == 0;
        buf_add(&session->out, last_kind == NULL ? STR("") : is_same ? STR(" + ") : STR(", "));
        add_safe(session, name);
        buf_add(&session->out, STR(" ("));
        add_safe(session, description_attribute_type(description, name));
        buf_add_char(&session->out, ')');
        last_kind = kind;
    }
}

static void print_index(struct session *session, const struct gramme_value *description,
                        const struct gramme_value *index)
{
    const struct gramme_value *projection = gramme_get(index, "Projection");
    const char *status = gramme_get_string(index, "IndexStatus");
    buf_add(&session->out, STR("  "));
    add_safe(session, gramme_get_string(index, "IndexName"));
    buf_add(&session->out, STR(": "));
    print_key(session, description, index);
    buf_add(&session->out, STR(", projects "));
    add_safe(session, gramme_get_string(projection, "ProjectionType"));
    const struct gramme_value *more = gramme_get(projection, "NonKeyAttributes");
    for (size_t i = 0; i < gramme_value_count(more); i++) {
        buf_add(&session->out, i == 0 ? STR(" ") : STR(", "));
        add_safe(session, gramme_value_string(gramme_value_at(more, i)));
    }
    if (status != NULL && strcmp(status, "ACTIVE") != 0) {
        buf_add(&session->out, STR(", "));
        add_safe(session, status);
    }
    buf_add_char(&session->out, '\n');
}

static void print_indexes(struct session *session, const struct gramme_value *description,
                          const char *member, const char *title)
{
    const struct gramme_value *list = gramme_get(description, member);
    if (gramme_value_count(list) > 0) {
        buf_format(&session->out, "%s:\n", title);
    }
    for (size_t i = 0; i < gramme_value_count(list); i++) {
        print_index(session, description, gramme_value_at(list, i));
    }
}

static const char *billing_of(const struct gramme_value *description)
{
    const struct gramme_value *summary = gramme_get(description, "BillingModeSummary");
    const char *mode = gramme_get_string(summary, "BillingMode");
    return mode != NULL ? mode : "PROVISIONED";
}

static void print_ttl(struct session *session, const char *table)
{
    struct gramme_value *parameters = gramme_map_create();
    struct gramme_answer *answer;
    gramme_set_string(parameters, "TableName", table);
    if (call(session, session->db, "DescribeTimeToLive", parameters, &answer, NULL)) {
        const struct gramme_value *ttl =
            gramme_get(gramme_answer_root(answer), "TimeToLiveDescription");
        const char *attribute = gramme_get_string(ttl, "AttributeName");
        if (attribute != NULL) {
            buf_add(&session->out, STR("time to live: "));
            add_safe(session, attribute);
            buf_add_char(&session->out, '\n');
        }
        gramme_answer_destroy(answer);
    }
    gramme_value_destroy(parameters);
}

static void print_description(struct session *session, const struct target *target)
{
    const struct gramme_value *description = target->description;
    buf_add(&session->out, STR("table "));
    add_safe(session, target->table);
    buf_add(&session->out, STR(": "));
    add_safe(session, gramme_get_string(description, "TableStatus"));
    buf_add(&session->out, STR(", "));
    add_safe(session, billing_of(description));
    buf_format(&session->out, ", %lld items, %lld bytes\nkey: ",
               (long long)gramme_get_int(description, "ItemCount", 0),
               (long long)gramme_get_int(description, "TableSizeBytes", 0));
    print_key(session, description, description);
    buf_add_char(&session->out, '\n');
    print_indexes(session, description, "GlobalSecondaryIndexes", "global indexes");
    print_indexes(session, description, "LocalSecondaryIndexes", "local indexes");
    const struct gramme_value *stream = gramme_get(description, "StreamSpecification");
    if (gramme_get_bool(stream, "StreamEnabled", false)) {
        buf_add(&session->out, STR("stream: "));
        add_safe(session, gramme_get_string(stream, "StreamViewType"));
        buf_add_char(&session->out, '\n');
    }
    print_ttl(session, target->table);
}

bool run_describe(struct session *session, const struct invocation *invocation)
{
    struct target target;
    if (invocation->words.count != 2) {
        return fail_usage(session, invocation);
    }
    schema_forget(session, invocation->words.text[1].data); /* sizes and states change */
    if (!schema_find(session, invocation->arena, &invocation->words, 1, &target)) {
        return false;
    }
    if (session->format == FORMAT_JSON || session->format == FORMAT_TYPED) {
        results_add_json(&session->out, target.description, GRAMME_PLAIN);
    } else {
        print_description(session, &target);
    }
    return true;
}

/* --- \create, \drop --- */

/* Adds one part of a key: NAME or NAME:TYPE. */
static bool add_key_part(struct session *session, struct gramme_value *parameters,
                         const struct invocation *invocation, struct str word, const char *kind)
{
    const char *colon = memrchr(word.data, ':', word.len);
    struct str name = word;
    struct str type = STR("S");
    if (colon != NULL) {
        name = arena_copy_c(invocation->arena, str_make(word.data, (size_t)(colon - word.data)));
        type = str_skip(word, name.len + 1);
        if (type.len != 1 || strchr("SNB", type.data[0]) == NULL) {
            return fail(session, "the type of a key is S, N or B, not '%.*s'", STR_ARG(type));
        }
    }
    const char *lists[] = {"AttributeDefinitions", "KeySchema"};
    for (size_t i = 0; i < COUNT_OF(lists); i++) {
        struct gramme_value *list = (struct gramme_value *)gramme_get(parameters, lists[i]);
        struct gramme_value *entry =
            gramme_add_map(list != NULL ? list : gramme_set_list(parameters, lists[i]));
        gramme_set_text(entry, "AttributeName", name.data, name.len);
        gramme_set_text(entry, i == 0 ? "AttributeType" : "KeyType", i == 0 ? type.data : kind,
                        i == 0 ? type.len : strlen(kind));
    }
    return true;
}

static bool build_create(struct session *session, const struct invocation *invocation,
                         struct gramme_value *parameters)
{
    if (invocation->words.count < 3 || invocation->words.count > 4) {
        return fail_usage(session, invocation);
    }
    gramme_set_string(parameters, "TableName", invocation->words.text[1].data);
    gramme_set_string(parameters, "BillingMode", "PAY_PER_REQUEST");
    return add_key_part(session, parameters, invocation, invocation->words.text[2], "HASH") &&
           (invocation->words.count == 3 ||
            add_key_part(session, parameters, invocation, invocation->words.text[3], "RANGE"));
}

/* Waits until the table is ACTIVE. Ctrl-C stops the waiting. */
static bool wait_for_table(struct session *session, const char *table)
{
    struct gramme_value *parameters = gramme_map_create();
    gramme_set_string(parameters, "TableName", table);
    bool is_active = false;
    bool good = true;
    while (good && !is_active) {
        struct gramme_answer *answer;
        good = call(session, session->db, "DescribeTable", parameters, &answer, NULL);
        if (good) {
            const struct gramme_value *found = gramme_get(gramme_answer_root(answer), "Table");
            const char *status = gramme_get_string(found, "TableStatus");
            is_active = status != NULL && strcmp(status, "ACTIVE") == 0;
            gramme_answer_destroy(answer);
            if (!is_active && wait_readable(-1, 500) < 0) {
                session->was_interrupted = true;
                good = fail(session, "interrupted; the table is being created");
            }
        }
    }
    gramme_value_destroy(parameters);
    return good;
}

/* Sends CreateTable: its parameters are typed as JSON, or follow from the words. */
static bool send_create(struct session *session, const struct invocation *invocation,
                        struct gramme_answer **answer)
{
    struct str first = word_at(invocation, 1);
    if (first.data[0] == '{') {
        return call_json(session, session->db, "CreateTable", first, answer, NULL);
    }
    struct gramme_value *parameters = gramme_map_create();
    bool good = build_create(session, invocation, parameters) &&
                call(session, session->db, "CreateTable", parameters, answer, NULL);
    gramme_value_destroy(parameters);
    return good;
}

bool run_create(struct session *session, const struct invocation *invocation)
{
    if (str_is_null(word_at(invocation, 1))) {
        return fail_usage(session, invocation);
    }
    struct gramme_answer *answer = NULL;
    bool good = send_create(session, invocation, &answer);
    const struct gramme_value *description =
        good ? gramme_get(gramme_answer_root(answer), "TableDescription") : NULL;
    const char *name = gramme_get_string(description, "TableName");
    if (good && name != NULL) {
        schema_forget(session, name);
        good = wait_for_table(session, name);
        session->table_names_us = INT64_MIN / 2;
    }
    gramme_answer_destroy(answer);
    if (good) {
        buf_add(&session->out, STR("created\n"));
    }
    return good;
}

bool run_drop(struct session *session, const struct invocation *invocation)
{
    if (invocation->words.count != 2) {
        return fail_usage(session, invocation);
    }
    const char *table = invocation->words.text[1].data;
    schema_forget(session, table);
    const struct gramme_value *description = schema_describe(session, table);
    if (description == NULL || !confirm(session, "Delete the table %s and its %lld items", table,
                                        (long long)gramme_get_int(description, "ItemCount", 0))) {
        return false;
    }
    struct gramme_value *parameters = gramme_map_create();
    struct gramme_answer *answer;
    gramme_set_string(parameters, "TableName", table);
    bool good = call(session, session->db, "DeleteTable", parameters, &answer, NULL);
    gramme_value_destroy(parameters);
    if (good) {
        schema_forget(session, table);
        session->table_names_us = INT64_MIN / 2;
        gramme_answer_destroy(answer);
        buf_add(&session->out, STR("deleted\n"));
    }
    return good;
}

/* --- \call --- */

/* Whether an operation can neither delete nor overwrite more than one item. */
static bool is_harmless(struct str operation)
{
    static const char *const starts[] = {"Get",     "List",       "Describe",    "Query",
                                         "Scan",    "BatchGet",   "TransactGet", "Explain",
                                         "PutItem", "UpdateItem", "CreateTable", "TagResource"};
    for (size_t i = 0; i < COUNT_OF(starts); i++) {
        if (str_starts_with(operation, str_from_c(starts[i]))) {
            return true;
        }
    }
    return false;
}

bool run_call(struct session *session, const struct invocation *invocation)
{
    if (invocation->words.count < 2 || invocation->words.count > 3) {
        return fail_usage(session, invocation);
    }
    struct str operation = invocation->words.text[1];
    struct str json = invocation->words.count == 3 ? invocation->words.text[2] : STR("{}");
    if (!is_harmless(operation) && !confirm(session, "Send %.*s", STR_ARG(operation))) {
        return false;
    }
    struct gramme_answer *answer;
    struct usage usage = {0};
    if (!call_json(session, session->db, operation.data, json, &answer, &usage)) {
        return false;
    }
    size_t len;
    const char *text = gramme_answer_json(answer, &len);
    terminal_add_json(&session->out, str_make(text, len));
    buf_add_char(&session->out, '\n');
    results_print_usage(session, NULL, 0, &usage);
    gramme_answer_destroy(answer);
    return true;
}
