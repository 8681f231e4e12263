/* \cost, \patterns, \findings: what a Gramme server recorded of its traffic
 * (docs/internals/insight-api.md). Main thread. */
#include <stdio.h>

#include "base/terminal.h"
#include "shell/commands_internal.h"
#include "shell/results_internal.h"

enum { ROWS_MAX = 200 };

static bool fetch(struct session *session, const char *page, int limit, struct str table,
                  struct gramme_answer **out)
{
    struct gramme_value *parameters = gramme_map_create();
    gramme_set_int(parameters, "limit", limit);
    if (!str_is_null(table)) {
        gramme_set_text(parameters, "table", table.data, table.len);
    }
    bool good = call_insight(session, page, parameters, out);
    gramme_value_destroy(parameters);
    return good;
}

/* Prints the maps of a list as items. */
static void print_rows(struct session *session, const struct gramme_value *rows)
{
    struct items items = {0};
    for (size_t i = 0; i < gramme_value_count(rows); i++) {
        items_add(&items, gramme_value_at(rows, i));
    }
    results_print(session, &items);
    items_finish(&items);
}

static void set_money(struct gramme_value *row, const char *name, const struct gramme_value *from,
                      const char *member)
{
    char text[32];
    snprintf(text, sizeof(text), "%.2f", gramme_get_double(from, member, 0));
    gramme_set_number(row, name, text);
}

static void add_cost_row(struct gramme_value *rows, const char *name,
                         const struct gramme_value *cost)
{
    struct gramme_value *row = gramme_add_map(rows);
    gramme_set_string(row, "table", name);
    set_money(row, "monthly", cost, "monthly");
    set_money(row, "requests", cost, "requests");
    set_money(row, "storage", cost, "storage");
    set_money(row, "streams", cost, "streams");
}

/* Adds a row for the table `wanted`, or for each table and their sum. False: it has no traffic. */
static bool add_cost_rows(struct gramme_value *rows, const struct gramme_value *root,
                          struct str wanted)
{
    const struct gramme_value *tables = gramme_get(root, "tables");
    for (size_t i = 0; i < gramme_value_count(tables); i++) {
        const struct gramme_value *table = gramme_value_at(tables, i);
        const char *name = gramme_get_string(table, "table");
        if (name != NULL && (str_is_null(wanted) || str_eq(wanted, str_from_c(name)))) {
            add_cost_row(rows, name, table);
        }
    }
    if (str_is_null(wanted)) {
        add_cost_row(rows, "(all)", gramme_get(root, "total"));
    }
    return gramme_value_count(rows) > 0;
}

/* Says which prices the costs are computed with. */
static void print_prices(struct session *session, const struct gramme_value *root)
{
    const struct gramme_value *prices = gramme_get(root, "prices");
    const char *name = gramme_get_string(prices, "name");
    terminal_add_text(&session->out, str_from_c(gramme_get_string(prices, "currency")));
    buf_format(&session->out, " a month at the rate of the last %.2f hours, prices of ",
               gramme_get_double(root, "observedHours", 0));
    terminal_add_text(&session->out, str_from_c(name != NULL ? name : "?"));
    buf_add_char(&session->out, '\n');
}

bool run_cost(struct session *session, const struct invocation *invocation)
{
    struct str wanted = word_at(invocation, 1);
    struct gramme_answer *answer;
    if (!need_gramme(session, "\\cost") || !fetch(session, "cost", ROWS_MAX, STR_NULL, &answer)) {
        return false;
    }
    const struct gramme_value *root = gramme_answer_root(answer);
    struct gramme_value *rows = gramme_list_create();
    bool good = add_cost_rows(rows, root, wanted) ||
                fail(session, "no traffic of table %.*s is known", STR_ARG(wanted));
    print_rows(session, rows);
    if (good && session->is_interactive) {
        print_prices(session, root);
    }
    gramme_value_destroy(rows);
    gramme_answer_destroy(answer);
    return good;
}

bool run_patterns(struct session *session, const struct invocation *invocation)
{
    struct gramme_answer *answer;
    if (!need_gramme(session, "\\patterns") ||
        !fetch(session, "patterns", ROWS_MAX, word_at(invocation, 1), &answer)) {
        return false;
    }
    static const char *const numbers[] = {"calls", "errors", "readUnits", "writeUnits"};
    const struct gramme_value *patterns = gramme_get(gramme_answer_root(answer), "patterns");
    struct gramme_value *rows = gramme_list_create();
    for (size_t i = 0; i < MIN(gramme_value_count(patterns), (size_t)ROWS_MAX); i++) {
        const struct gramme_value *pattern = gramme_value_at(patterns, i);
        struct gramme_value *row = gramme_add_map(rows);
        for (size_t k = 0; k < COUNT_OF(numbers); k++) {
            gramme_set_value(row, numbers[k], gramme_get(pattern, numbers[k]));
        }
        gramme_set_value(row, "p99Us", gramme_get(gramme_get(pattern, "latency"), "p99Us"));
        gramme_set_value(row, "pattern", gramme_get(pattern, "text"));
    }
    print_rows(session, rows);
    gramme_value_destroy(rows);
    gramme_answer_destroy(answer);
    return true;
}

static void add_finding_row(struct gramme_value *rows, const struct gramme_value *finding)
{
    static const char *const members[] = {"severity", "table",    "index",
                                          "title",    "evidence", "remedy"};
    struct gramme_value *row = gramme_add_map(rows);
    for (size_t i = 0; i < COUNT_OF(members); i++) {
        const struct gramme_value *value = gramme_get(finding, members[i]);
        if (gramme_value_type(value) == GRAMME_STRING) {
            gramme_set_value(row, members[i], value);
        }
    }
}

bool run_findings(struct session *session, const struct invocation *invocation)
{
    (void)invocation;
    struct gramme_answer *answer;
    if (!need_gramme(session, "\\findings") ||
        !fetch(session, "findings", ROWS_MAX, STR_NULL, &answer)) {
        return false;
    }
    const struct gramme_value *findings = gramme_get(gramme_answer_root(answer), "findings");
    struct gramme_value *rows = gramme_list_create();
    for (size_t i = 0; i < gramme_value_count(findings); i++) {
        add_finding_row(rows, gramme_value_at(findings, i));
    }
    print_rows(session, rows);
    if (session->is_interactive && gramme_value_count(rows) == 0) {
        buf_add(&session->out, STR("none\n"));
    }
    gramme_value_destroy(rows);
    gramme_answer_destroy(answer);
    return true;
}
