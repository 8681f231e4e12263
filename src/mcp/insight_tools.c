/* The tools that need a Gramme server: explain_statement, access_patterns, cost, findings. Main
 * thread. */
#include "mcp/mcp_internal.h"

static bool need_gramme(struct tool_call *call)
{
    return db_is_gramme(call->server) || call->server->kind == DB_UNKNOWN ||
           tool_fail(call, "this needs a Gramme server, and this is another DynamoDB");
}

bool tool_explain_statement(struct tool_call *call)
{
    const char *statement;
    struct gramme_error *error = NULL;
    if (!tool_text(call, "statement", true, &statement) || !need_gramme(call)) {
        return false;
    }
    struct gramme_request *request = gramme_request_create("ExplainStatement", NULL);
    gramme_set_string(gramme_request_root(request), "Statement", statement);
    struct gramme_answer *answer = gramme_send(call->server->db, request, &error);
    gramme_request_destroy(request);
    if (answer == NULL) {
        return tool_fail_with(call, error);
    }
    bounds_set(call->result, "plan", gramme_get(gramme_answer_root(answer), "Plan"));
    gramme_answer_destroy(answer);
    return true;
}

/* Fetches a page with the arguments `limit` and, if `has_table`, `table`. NULL: *call failed. */
static struct gramme_answer *fetch(struct tool_call *call, const char *page, bool has_table)
{
    const char *table = NULL;
    int limit = 0;
    if (!need_gramme(call) || (has_table && !tool_text(call, "table", false, &table)) ||
        !tool_limit(call, ITEMS_DEFAULT, ITEMS_MAX, &limit)) {
        return NULL;
    }
    struct gramme_value *parameters = gramme_map_create();
    struct gramme_error *error = NULL;
    gramme_set_int(parameters, "limit", limit);
    if (table != NULL) {
        gramme_set_string(parameters, "table", table);
    }
    struct gramme_answer *answer = gramme_insight(call->server->db, page, parameters, &error);
    gramme_value_destroy(parameters);
    if (answer == NULL) {
        tool_fail_with(call, error);
    }
    return answer;
}

/* Copies members of each entry of a list, at most as many entries as fit. */
static void add_rows(struct tool_call *call, const char *name, const struct gramme_value *list,
                     const char *const *members, size_t member_count)
{
    int limit = ITEMS_MAX;
    struct gramme_value *rows = gramme_list_create();
    (void)!tool_limit(call, ITEMS_DEFAULT, ITEMS_MAX, &limit); /* was checked by fetch() */
    for (size_t i = 0; i < MIN(gramme_value_count(list), (size_t)limit); i++) {
        struct gramme_value *row = gramme_add_map(rows);
        for (size_t k = 0; k < member_count; k++) {
            gramme_set_value(row, members[k], gramme_get(gramme_value_at(list, i), members[k]));
        }
    }
    bounds_add_items(gramme_set_list(call->result, name), rows, gramme_value_count(rows));
    gramme_value_destroy(rows);
}

bool tool_access_patterns(struct tool_call *call)
{
    static const char *const members[] = {
        "text",      "table",         "calls",        "errors",  "readUnits", "writeUnits",
        "itemsRead", "itemsReturned", "unitsPerCall", "latency", "scan"};
    struct gramme_answer *answer = fetch(call, "patterns", true);
    if (answer == NULL) {
        return false;
    }
    const struct gramme_value *root = gramme_answer_root(answer);
    add_rows(call, "patterns", gramme_get(root, "patterns"), members, COUNT_OF(members));
    gramme_set_value(call->result, "total", gramme_get(root, "total"));
    gramme_answer_destroy(answer);
    return true;
}

bool tool_cost(struct tool_call *call)
{
    static const char *const members[] = {"table",   "billing", "monthly",     "requests",
                                          "storage", "streams", "provisioned", "onDemand"};
    struct gramme_answer *answer = fetch(call, "cost", false);
    if (answer == NULL) {
        return false;
    }
    const struct gramme_value *root = gramme_answer_root(answer);
    gramme_set_value(call->result, "prices", gramme_get(root, "prices"));
    gramme_set_value(call->result, "observedHours", gramme_get(root, "observedHours"));
    gramme_set_value(call->result, "total", gramme_get(root, "total"));
    add_rows(call, "tables", gramme_get(root, "tables"), members, COUNT_OF(members));
    gramme_answer_destroy(answer);
    return true;
}

bool tool_findings(struct tool_call *call)
{
    static const char *const members[] = {"id",    "severity", "table", "index",
                                          "title", "evidence", "remedy"};
    struct gramme_answer *answer = fetch(call, "findings", true);
    if (answer == NULL) {
        return false;
    }
    const struct gramme_value *root = gramme_answer_root(answer);
    add_rows(call, "findings", gramme_get(root, "findings"), members, COUNT_OF(members));
    gramme_set_value(call->result, "total", gramme_get(root, "total"));
    gramme_answer_destroy(answer);
    return true;
}
