/* Shows a plan as text; values are written as in JSON, binaries as b"base64". Called for the
 * console and the shell, and by the tests. */
#include "plan/plan.h"

#include "json/writer.h"

static void add_value(struct buf *out, struct value value)
{
    struct str bytes = value_bytes(value);
    char digits[NUMBER_TEXT_MAX];
    switch (value_type(value)) {
    case VALUE_N:
        buf_add(out, str_make(digits, number_format(bytes, digits)));
        break;
    case VALUE_B:
        buf_add_char(out, 'b');
        json_write_base64(out, bytes);
        break;
    default:
        json_write_string(out, bytes);
        break;
    }
}

/* Adds `name op value`, with a comma before it unless it is the first. */
static void add_comparison(struct buf *out, struct str name, const char *op, struct value value,
                           bool is_first)
{
    buf_format(out, "%s%.*s %s ", is_first ? "" : ", ", STR_ARG(name), op);
    add_value(out, value);
}

/* An interval that starts inside of its prefix is begins_with(). */
static void add_prefix(struct buf *out, struct str name, const struct key_condition *range)
{
    struct str prefix = value_bytes(range->high.value);
    bool is_inside =
        range->low.kind != BOUND_NONE && str_starts_with(value_bytes(range->low.value), prefix);
    buf_format(out, is_inside ? ", begins_with(%.*s, " : ", %.*s <= any that begins with (",
               STR_ARG(name));
    add_value(out, range->high.value);
    buf_add_char(out, ')');
}

static void add_interval(struct buf *out, struct str name, const struct key_condition *range)
{
    const struct key_bound *low = &range->low;
    const struct key_bound *high = &range->high;
    bool is_prefix = high->kind == BOUND_PREFIX;
    bool has_same =
        low->kind == BOUND_CLOSED && high->kind != BOUND_NONE && value_eq(low->value, high->value);
    if (has_same && high->kind == BOUND_CLOSED) {
        add_comparison(out, name, "=", low->value, false);
        return;
    }
    if (low->kind != BOUND_NONE && !(has_same && is_prefix)) {
        add_comparison(out, name, low->kind == BOUND_OPEN ? ">" : ">=", low->value, false);
    }
    if (is_prefix) {
        add_prefix(out, name, range);
    } else if (high->kind != BOUND_NONE) {
        add_comparison(out, name, high->kind == BOUND_OPEN ? "<" : "<=", high->value, false);
    }
}

static void add_range(struct buf *out, const struct key_schema *keys,
                      const struct key_condition *range)
{
    for (size_t i = 0; i < keys->hash_count; i++) {
        add_comparison(out, keys->hash[i].name, "=", range->hash[i], i == 0);
    }
    for (size_t i = 0; i < range->range_equal_count; i++) {
        add_comparison(out, keys->range[i].name, "=", range->range_equal[i], false);
    }
    if (range->low.kind != BOUND_NONE || range->high.kind != BOUND_NONE) {
        add_interval(out, keys->range[range->range_equal_count].name, range);
    }
}

static void add_key(struct buf *out, struct value key)
{
    struct value_iter iter = value_iter(key);
    struct value_name name;
    struct value value;
    for (bool is_first = true; value_next_entry(&iter, &name, &value); is_first = false) {
        add_comparison(out, name.text, "=", value, is_first);
    }
}

/* The attributes of a filter that are not part of the key. */
struct filter_list {
    struct buf *out;
    const struct key_schema *keys;
    size_t count;
};

static void visit_filter(void *context, const struct expr_path *path)
{
    struct filter_list *list = context;
    struct str name = path->steps[0].name;
    if (!key_schema_has(list->keys, name)) {
        buf_format(list->out, "%s%.*s", list->count++ == 0 ? "\n  filter: " : ", ", STR_ARG(name));
    }
}

void plan_explain(struct buf *out, const struct plan *plan)
{
    static const char *const kinds[] = {
        [PLAN_GET] = "get", [PLAN_QUERY] = "query", [PLAN_SCAN] = "scan"};
    const struct key_schema *keys = plan->index == NULL ? &plan->table->key : &plan->index->key;
    buf_format(out, "%s %.*s", kinds[plan->kind], STR_ARG(plan->table->name));
    if (plan->index != NULL) {
        buf_format(out, ".%.*s", STR_ARG(plan->index->name));
    }
    if (plan->kind == PLAN_GET) {
        buf_add(out, STR("\n  key: "));
        add_key(out, plan->key);
    }
    for (size_t i = 0; plan->kind == PLAN_QUERY && i < plan->range_count; i++) {
        buf_add(out, STR("\n  range: "));
        add_range(out, keys, &plan->ranges[i]);
    }
    if (plan->backward) {
        buf_add(out, STR("\n  order: descending"));
    }
    if (plan->filter != NULL) {
        struct filter_list list = {.out = out, .keys = keys};
        condition_visit_paths(plan->filter, visit_filter, &list);
    }
    if (plan->fetch) {
        buf_add(out, STR("\n  fetch: whole items from the table"));
    }
    buf_add_char(out, '\n');
}
