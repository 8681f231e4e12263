/* \cost, \patterns, \findings: what a Gramme server recorded of its traffic
 * (docs/internals/insight-api.md). Main thread. */
#include <stdio.h>

#include "shell/commands_internal.h"
#include "shell/results_internal.h"
#include "shell/text_internal.h"

enum { ROWS_MAX = 200 };

/* Appends a text as part of a query string. */
static void add_encoded(struct buf *out, struct str text)
{
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.data[i];
        bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                        (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.' || c == '~';
        if (is_plain) {
            buf_add_char(out, (char)c);
        } else {
            buf_format(out, "%%%02X", (unsigned)c);
        }
    }
}

static bool fetch(struct session *session, const char *what, const char *path, struct str table,
                  struct gramme_answer **out)
{
    if (!need_gramme(session, what)) {
        return false;
    }
    struct buf whole = {0};
    buf_add(&whole, str_from_c(path));
    if (!str_is_null(table)) {
        buf_add(&whole, STR("&table="));
        add_encoded(&whole, table);
    }
    buf_add_char(&whole, '\0');
    bool good = call_insight(session, whole.data, out);
    buf_finish(&whole);
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

bool run_cost(struct session *session, const struct invocation *invocation)
{
    struct str wanted = word_at(invocation, 1);
    struct gramme_answer *answer;
    if (!fetch(session, "\\cost", "cost?limit=1000", STR_NULL, &answer)) {
        return false;
    }
    const struct gramme_value *root = gramme_answer_root(answer);
    const struct gramme_value *prices = gramme_get(root, "prices");
    const struct gramme_value *tables = gramme_get(root, "tables");
    struct gramme_value *rows = gramme_list_create();
    for (size_t i = 0; i < gramme_value_count(tables); i++) {
        const struct gramme_value *table = gramme_value_at(tables, i);
        const char *name = gramme_get_string(table, "table");
        if (name != NULL && (str_is_null(wanted) || str_eq(wanted, str_from_c(name)))) {
            add_cost_row(rows, name, table);
        }
    }
    bool good = str_is_null(wanted) || gramme_value_count(rows) > 0 ||
                fail(session, "no traffic of table %.*s is known", STR_ARG(wanted));
    if (good && str_is_null(wanted)) {
        add_cost_row(rows, "(all)", gramme_get(root, "total"));
    }
    print_rows(session, rows);
    const char *currency = gramme_get_string(prices, "currency");
    const char *name = gramme_get_string(prices, "name");
    if (good && session->is_interactive) {
        buf_format(&session->out, "%s a month at the rate of the last %.2f hours, prices of %s\n",
                   currency != NULL ? currency : "", gramme_get_double(root, "observedHours", 0),
                   name != NULL ? name : "?");
    }
    gramme_value_destroy(rows);
    gramme_answer_destroy(answer);
    return good;
}

bool run_patterns(struct session *session, const struct invocation *invocation)
{
    struct gramme_answer *answer;
    if (!fetch(session, "\\patterns", "patterns?sort=units&limit=200", word_at(invocation, 1),
               &answer)) {
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

bool run_findings(struct session *session, const struct invocation *invocation)
{
    (void)invocation;
    struct gramme_answer *answer;
    if (!fetch(session, "\\findings", "findings?limit=200", STR_NULL, &answer)) {
        return false;
    }
    static const char *const members[] = {"severity", "table", "index", "title", "evidence", "remedy"};
    const struct gramme_value *findings = gramme_get(gramme_answer_root(answer), "findings");
    struct gramme_value *rows = gramme_list_create();
    for (size_t i = 0; i < gramme_value_count(findings); i++) {
        struct gramme_value *row = gramme_add_map(rows);
        for (size_t k = 0; k < COUNT_OF(members); k++) {
            const struct gramme_value *value = gramme_get(gramme_value_at(findings, i), members[k]);
            if (gramme_value_type(value) == GRAMME_STRING) {
                gramme_set_value(row, members[k], value);
            }
        }
    }
    print_rows(session, rows);
    if (session->is_interactive && gramme_value_count(rows) == 0) {
        buf_add(&session->out, STR("none\n"));
    }
    gramme_value_destroy(rows);
    gramme_answer_destroy(answer);
    return true;
}
