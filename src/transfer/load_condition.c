/* Conditions of records, as of PutItem: ConditionExpression with its names and values. Called by
 * load_batch.c. */
#include "expr/expr.h"
#include "transfer/load_run_internal.h"

static struct expr_names make_names(struct arena *arena, struct value map)
{
    if (value_is_absent(map)) {
        return (struct expr_names){0};
    }
    struct str *names = ARENA_ARRAY(arena, struct str, value_count(map) + 1);
    struct str *targets = ARENA_ARRAY(arena, struct str, value_count(map) + 1);
    struct value_iter iter = value_iter(map);
    struct value_name name;
    struct value value;
    size_t count = 0;
    while (value_next_entry(&iter, &name, &value)) {
        names[count] = name.text;
        targets[count++] = value_type(value) == VALUE_S ? value_bytes(value) : STR("");
    }
    return (struct expr_names){.given = true, .count = count, .names = names, .targets = targets};
}

static struct expr_values make_values(struct arena *arena, struct value map)
{
    if (value_is_absent(map)) {
        return (struct expr_values){0};
    }
    struct str *names = ARENA_ARRAY(arena, struct str, value_count(map) + 1);
    struct value *values = ARENA_ARRAY(arena, struct value, value_count(map) + 1);
    struct value_iter iter = value_iter(map);
    struct value_name name;
    size_t count = 0;
    while (value_next_entry(&iter, &name, &values[count])) {
        names[count++] = name.text;
    }
    return (struct expr_values){.given = true, .count = count, .names = names, .values = values};
}

bool load_condition(struct load_run *run, const struct record *record, struct arena *arena,
                    const struct condition **out, struct err *err)
{
    *out = NULL;
    if (str_is_null(record->condition)) {
        return true;
    }
    struct expr_names names = make_names(arena, record->names);
    struct expr_values values = make_values(arena, record->attributes);
    struct expr_scope scope;
    return expr_scope_init(&scope, arena, run->cache, &names, &values, err) &&
           expr_condition(&scope, record->condition, "ConditionExpression", out, err) &&
           expr_scope_check_used(&scope, err);
}
