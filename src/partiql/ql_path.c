/* Translates paths to attributes, and the columns of a SELECT. Called by where.c, change.c and
 * statement.c. */
#include "partiql/translate_internal.h"

#include <stdlib.h>

#include "base/buf.h"
#include "err/messages.h"

#define INDEX_DIGITS_MAX 10

static bool refuse_path(const struct ql_translator *t, const struct ql_node *node)
{
    return ql_refuse_at(t, node->token, "Unexpected path component");
}

static bool read_name(struct ql_translator *t, const struct ql_node *node, struct expr_step *out)
{
    out->name = ql_token_content(node->token, t->arena);
    return out->name.len > 0 || ql_refuse(t, MESSAGE_EMPTY_PATH);
}

/* Reads an index: an integer of 31 bits; -0 is allowed. */
static bool read_index(struct ql_translator *t, const struct ql_node *node, struct expr_step *out)
{
    int64_t index = -1;
    struct str text = node->token.text;
    if (node->kind != QL_NUMBER) {
        return refuse_path(t, node);
    }
    bool whole = str_to_int64(text, &index);
    bool fits = whole && text.len <= INDEX_DIGITS_MAX && index <= INT32_MAX;
    if (!fits || (node->negated && index > 0)) {
        return ql_refuse_at(t, node->token,
                            "List index is not within the allowable range; index: [%s%.*s]",
                            node->negated ? "-" : "", STR_ARG(text));
    }
    *out = (struct expr_step){.name = STR_NULL, .index = (uint32_t)index};
    return true;
}

static bool read_step(struct ql_translator *t, const struct ql_node *step, struct expr_step *out)
{
    const struct ql_node *what = step->first;
    bool name = step->token.kind == QL_TOKEN_DOT;
    if (what->kind == QL_STAR) {
        return ql_refuse(t, name ? "Unpivot path component like a.*.b are not supported"
                                 : "Wildcard path component like a[*].b are not supported");
    }
    return name ? read_name(t, what, out) : read_index(t, what, out);
}

bool ql_path(struct ql_translator *t, const struct ql_node *node, struct expr_path *out)
{
    const struct ql_node *root = node->kind == QL_PATH ? node->first : node;
    size_t count = node->kind == QL_PATH ? node->child_count : 1;
    if (root->kind != QL_NAME) {
        return refuse_path(t, root);
    }
    struct expr_step *steps = ARENA_ARRAY(t->arena, struct expr_step, count);
    if (!read_name(t, root, &steps[0])) {
        return false;
    }
    const struct ql_node *step = root->next;
    for (size_t i = 1; i < count; i++, step = step->next) {
        if (!read_step(t, step, &steps[i])) {
            return false;
        }
    }
    *out = (struct expr_path){.steps = steps, .step_count = count};
    return true;
}

/* --- columns ---
 *
 * The columns are sorted by their paths, so that one pass over an item finds all of them, however
 * many a statement has. */

/* Names come before indexes. */
static int compare_steps(const struct expr_step *a, const struct expr_step *b)
{
    bool a_is_index = str_is_null(a->name);
    bool b_is_index = str_is_null(b->name);
    if (a_is_index != b_is_index) {
        return a_is_index - b_is_index;
    }
    return a_is_index ? (a->index > b->index) - (a->index < b->index) : str_cmp(a->name, b->name);
}

/* A path comes before those that it begins. */
static int compare_paths(const void *a, const void *b)
{
    const struct expr_path *x = &(*(const struct column *const *)a)->path;
    const struct expr_path *y = &(*(const struct column *const *)b)->path;
    for (size_t i = 0; i < MIN(x->step_count, y->step_count); i++) {
        int order = compare_steps(&x->steps[i], &y->steps[i]);
        if (order != 0) {
            return order;
        }
    }
    return (x->step_count > y->step_count) - (x->step_count < y->step_count);
}

void ql_sort_columns(struct ql_translator *t, struct statement *out)
{
    out->by_path = ARENA_ARRAY(t->arena, const struct column *, out->column_count);
    for (size_t i = 0; i < out->column_count; i++) {
        out->by_path[i] = &out->columns[i];
    }
    qsort(out->by_path, out->column_count, sizeof(const struct column *), compare_paths);
}

/* Columns whose paths have the same first `depth` steps, which lead to one value. */
struct column_run {
    const struct column **at;
    const struct column **end;
    size_t depth;
};

static const struct expr_step *step_of(const struct column_run *run)
{
    return &(*run->at)->path.steps[run->depth];
}

/* Removes the columns with the step `wanted` from the start of the run, and those before it.
 * Returns them, without those before. */
static struct column_run take_step(struct column_run *run, const struct expr_step *wanted)
{
    while (run->at < run->end && compare_steps(step_of(run), wanted) < 0) {
        run->at++;
    }
    struct column_run same = {run->at, run->at, run->depth + 1};
    while (run->at < run->end && compare_steps(step_of(run), wanted) == 0) {
        run->at++;
    }
    same.end = run->at;
    return same;
}

/* Adds the columns of the run that `value` has. Returns their number. */
static uint32_t add_columns(struct column_run run, struct value value, struct builder *builder)
{
    uint32_t found = 0;
    while (run.at < run.end && (*run.at)->path.step_count == run.depth) {
        builder_add_key(builder, (*run.at)->name);
        builder_add_value(builder, value);
        run.at++;
        found++;
    }
    enum value_type type = value_type(value);
    if (run.at == run.end || (type != VALUE_M && type != VALUE_L)) {
        return found;
    }
    struct value_iter iter = value_iter(value);
    struct value_name name;
    struct value inner;
    struct expr_step step = {.name = STR_NULL};
    while (run.at < run.end &&
           (type == VALUE_M ? value_next_entry(&iter, &name, &inner) : value_next(&iter, &inner))) {
        step.name = type == VALUE_M ? name.text : STR_NULL;
        struct column_run same = take_step(&run, &step);
        if (same.at < same.end) {
            found += add_columns(same, inner, builder);
        }
        step.index++;
    }
    return found;
}

void columns_apply(const struct statement *select, struct value item, struct builder *builder)
{
    struct column_run all = {select->by_path, select->by_path + select->column_count, 0};
    size_t open = builder_open(builder, VALUE_M);
    uint32_t found = add_columns(all, item, builder);
    builder_close_map(builder, open, found);
}
