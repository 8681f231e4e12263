/* Runs PartiQL statements; \explain. Main thread. */
#include <ctype.h>

#include "base/terminal.h"
#include "shell/commands_internal.h"
#include "shell/pages_internal.h"

/* Returns the word that starts at or after `at`; *at is then behind it. */
static struct str next_word(struct str text, size_t *at)
{
    while (*at < text.len && isspace((unsigned char)text.data[*at])) {
        (*at)++;
    }
    size_t start = *at;
    while (*at < text.len && !isspace((unsigned char)text.data[*at])) {
        (*at)++;
    }
    return str_make(text.data + start, *at - start);
}

/* Returns the list of columns between the verb, SELECT, and FROM; STR_NULL if it is a star. */
static struct str find_columns(struct str text, struct str verb)
{
    size_t start = (size_t)(verb.data + verb.len - text.data);
    size_t at = start;
    while (at < text.len) {
        size_t end = at;
        struct str word = next_word(text, &at);
        if (str_eq_nocase(word, STR("FROM"))) {
            struct str columns = str_make(text.data + start, end - start);
            return str_contains(columns, STR("*")) ? STR_NULL : columns;
        }
    }
    return STR_NULL;
}

static void set_capacity(struct gramme_value *parameters)
{
    gramme_set_string(parameters, "ReturnConsumedCapacity", "TOTAL");
}

/* Whether a statement with this verb deletes something. Without a verb that is not known: servers
 * differ in what they skip before it. */
static bool may_delete(struct str verb)
{
    return verb.len == 0 || str_eq_nocase(verb, STR("DELETE"));
}

bool statement_run(struct session *session, struct str text)
{
    struct str verb = split_verb(text);
    if (may_delete(verb) && !confirm(session, "Run %.*s", STR_ARG(text))) {
        return false;
    }
    struct read read = {.operation = "ExecuteStatement", .parameters = gramme_map_create()};
    read.is_select = str_eq_nocase(verb, STR("SELECT"));
    read.items.columns = read.is_select ? find_columns(text, verb) : STR_NULL;
    gramme_set_text(read.parameters, "Statement", text.data, text.len);
    set_capacity(read.parameters);
    bool good = pages_run(session, &read);
    gramme_value_destroy(read.parameters);
    return good;
}

/* Prints the lines of a plan. */
static void print_plan(struct session *session, struct str plan)
{
    while (plan.len > 0) {
        const char *newline = memchr(plan.data, '\n', plan.len);
        size_t len = newline == NULL ? plan.len : (size_t)(newline - plan.data);
        terminal_add_text(&session->out, str_make(plan.data, len));
        buf_add_char(&session->out, '\n');
        plan = str_skip(plan, MIN(len + 1, plan.len));
    }
}

bool run_explain(struct session *session, const struct invocation *invocation)
{
    struct str text = invocation->rest;
    while (text.len > 0 &&
           (text.data[text.len - 1] == ';' || isspace((unsigned char)text.data[text.len - 1]))) {
        text.len--;
    }
    if (text.len == 0) {
        return fail_usage(session, invocation);
    }
    if (!need_gramme(session, "\\explain")) {
        return false;
    }
    struct gramme_value *parameters = gramme_map_create();
    gramme_set_text(parameters, "Statement", text.data, text.len);
    struct gramme_answer *answer;
    bool good = call(session, session->db, "ExplainStatement", parameters, &answer, NULL);
    gramme_value_destroy(parameters);
    if (good) {
        const char *plan = gramme_get_string(gramme_answer_root(answer), "Plan");
        print_plan(session, str_from_c(plan != NULL ? plan : ""));
        gramme_answer_destroy(answer);
    }
    return good;
}
