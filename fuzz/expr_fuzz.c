/* Fuzzes expressions. Input: a text, parsed as each kind of expression in turn, with a fixed scope
 * and a fixed item. Properties: an expression from the cache gives the same result or error as one
 * that was just parsed; results are well-formed values; the attributes that an update reports as
 * written are in the new item. */
#include "expr/expr.h"

#include <stdlib.h>

#include "base/buf.h"

enum { VALUE_COUNT = 7, NAME_COUNT = 3 };

/* State that all runs share; created once. */
struct world {
    struct arena arena;
    struct expr_cache *cache;
    struct str value_names[VALUE_COUNT];
    struct value values[VALUE_COUNT];
    struct value item;
    struct value key;
};

static void require(bool truth)
{
    if (!truth) {
        abort();
    }
}

static struct value make_string(struct arena *arena, struct str text)
{
    struct builder builder;
    builder_init(&builder, arena, 0);
    builder_add_string(&builder, text);
    return builder_finish(&builder);
}

static struct value make_number(struct arena *arena, int64_t number)
{
    struct builder builder;
    builder_init(&builder, arena, 0);
    builder_add_int64(&builder, number);
    return builder_finish(&builder);
}

static struct value make_set(struct arena *arena)
{
    struct builder builder;
    builder_init(&builder, arena, 0);
    size_t open = builder_open(&builder, VALUE_SS);
    builder_add_string(&builder, STR("a"));
    builder_add_string(&builder, STR("b"));
    require(builder_close_set(&builder, open, 2));
    return builder_finish(&builder);
}

static struct value make_list(struct arena *arena)
{
    struct builder builder;
    builder_init(&builder, arena, 0);
    size_t open = builder_open(&builder, VALUE_L);
    builder_add_string(&builder, STR("a"));
    builder_add_int64(&builder, 1);
    builder_add_null(&builder);
    builder_close_list(&builder, open, 3);
    return builder_finish(&builder);
}

/* {a: "ab", b: 5, c: <"a", "b">, d: ["a", 1, null], e: true}; `inner`, if any, as f. */
static struct value make_map(struct arena *arena, struct value inner)
{
    struct builder builder;
    builder_init(&builder, arena, 0);
    size_t open = builder_open(&builder, VALUE_M);
    builder_add_key(&builder, STR("a"));
    builder_add_string(&builder, STR("ab"));
    builder_add_key(&builder, STR("b"));
    builder_add_int64(&builder, 5);
    builder_add_key(&builder, STR("c"));
    builder_add_value(&builder, make_set(arena));
    builder_add_key(&builder, STR("d"));
    builder_add_value(&builder, make_list(arena));
    builder_add_key(&builder, STR("e"));
    builder_add_bool(&builder, true);
    bool nested = !value_is_absent(inner);
    if (nested) {
        builder_add_key(&builder, STR("f"));
        builder_add_value(&builder, inner);
    }
    builder_close_map(&builder, open, nested ? 6 : 5);
    return builder_finish(&builder);
}

static struct world *make_world(void)
{
    static struct world world;
    struct arena *arena = &world.arena;
    arena_init(arena);
    world.cache = expr_cache_create(8);
    const struct str names[] = {STR(":a"), STR(":b"), STR(":c"), STR(":d"),
                                STR(":e"), STR(":m"), STR(":t")};
    const struct value values[] = {
        make_string(arena, STR("a")),
        make_number(arena, 5),
        make_set(arena),
        make_list(arena),
        make_number(arena, -3),
        make_map(arena, VALUE_ABSENT),
        make_string(arena, STR("S")),
    };
    memcpy(world.value_names, names, sizeof(names));
    memcpy(world.values, values, sizeof(values));
    world.key = make_map(arena, VALUE_ABSENT);
    world.item = make_map(arena, make_map(arena, make_map(arena, VALUE_ABSENT)));
    return &world;
}

static void add_value(struct buf *out, struct value value)
{
    require(value_is_absent(value) || value_is_valid(str_make(value.data, value.len)));
    buf_add(out, str_make(value.data, value.len));
    buf_add_char(out, '\n');
}

static void count_path(void *context, const struct expr_path *path)
{
    require(path->step_count > 0 && !str_is_null(path->steps[0].name));
    buf_format(context, "%zu ", path->step_count);
}

static void run_condition(struct world *world, struct expr_scope *scope, struct str text,
                          struct err *err, struct buf *out)
{
    const struct condition *condition;
    if (expr_condition(scope, text, "FilterExpression", &condition, err)) {
        buf_format(out, "%d%d", condition_holds(condition, world->item),
                   condition_holds(condition, VALUE_ABSENT));
        condition_visit_paths(condition, count_path, out);
    }
}

static void run_key(struct expr_scope *scope, struct str text, struct err *err, struct buf *out)
{
    static const struct key_schema keys = {
        .hash = {{.name = {"a", 1}, .type = VALUE_S}},
        .hash_count = 1,
        .range = {{.name = {"b", 1}, .type = VALUE_N}, {.name = {"c", 1}, .type = VALUE_S}},
        .range_count = 2,
    };
    const struct key_expression *expression;
    struct key_condition condition;
    if (expr_key_condition(scope, text, &expression, err) &&
        key_expression_resolve(expression, &keys, &condition, err)) {
        bool is_bounded = condition.low.kind != BOUND_NONE || condition.high.kind != BOUND_NONE;
        require(condition.range_equal_count + is_bounded <= keys.range_count);
        add_value(out, condition.hash[0]);
        add_value(out, condition.low.value);
        add_value(out, condition.high.value);
    }
}

static void run_projection(struct world *world, struct expr_scope *scope, struct str text,
                           struct err *err, struct buf *out)
{
    const struct projection *projection;
    if (expr_projection(scope, text, &projection, err)) {
        struct builder builder;
        builder_init(&builder, scope->arena, 0);
        projection_apply(projection, world->item, &builder);
        add_value(out, builder_finish(&builder));
        projection_visit_paths(projection, count_path, out);
    }
}

static void check_touched(struct value touched, struct value item)
{
    if (value_is_absent(touched)) {
        return;
    }
    struct value_iter iter = value_iter(touched);
    struct value_name name;
    struct value value;
    while (value_next_entry(&iter, &name, &value)) {
        require(value_type(value_map_get(item, name.text)) == value_type(value));
    }
}

static void run_update(struct world *world, struct expr_scope *scope, struct str text,
                       struct err *err, struct buf *out)
{
    const struct update *update;
    struct value made;
    if (!expr_update(scope, text, &update, err) ||
        !update_apply(update, world->item, world->key, scope->arena, &made, err)) {
        return;
    }
    struct value old = update_touched(update, world->item, scope->arena);
    struct value new = update_touched(update, made, scope->arena);
    check_touched(old, world->item);
    check_touched(new, made);
    add_value(out, made);
    add_value(out, old);
    add_value(out, new);
    update_visit_paths(update, count_path, out);
    update_visit_operands(update, count_path, out);
    buf_format(out, "%zu", update_overhead(update));
}

/* Evaluates the text as every kind of expression and writes all results to *out. */
static void run_all(struct world *world, struct expr_cache *cache, struct str text, struct buf *out)
{
    static const struct str names[NAME_COUNT] = {{"#a", 2}, {"#b", 2}, {"#odd", 4}};
    static const struct str targets[NAME_COUNT] = {{"a", 1}, {"f", 1}, {"a.b", 3}};
    const struct expr_names all_names = {
        .given = true, .count = NAME_COUNT, .names = names, .targets = targets};
    const struct expr_values all_values = {
        .given = true, .count = VALUE_COUNT, .names = world->value_names, .values = world->values};
    for (int kind = 0; kind < 4; kind++) {
        struct arena arena;
        arena_init(&arena);
        struct err err = ERR_INIT(&arena);
        struct expr_scope scope;
        require(expr_scope_init(&scope, &arena, cache, &all_names, &all_values, &err));
        switch (kind) {
        case 0:
            run_condition(world, &scope, text, &err, out);
            break;
        case 1:
            run_key(&scope, text, &err, out);
            break;
        case 2:
            run_projection(world, &scope, text, &err, out);
            break;
        default:
            run_update(world, &scope, text, &err, out);
            break;
        }
        buf_add(out, err.message);
        arena_finish(&arena);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct world *world;
    if (world == NULL) {
        world = make_world();
    }
    struct str text = str_make(data, size);
    struct buf fresh = {0};
    struct buf cached = {0};
    run_all(world, NULL, text, &fresh);
    for (int i = 0; i < 2; i++) {
        cached.len = 0;
        run_all(world, world->cache, text, &cached);
        require(str_eq(buf_str(&fresh), buf_str(&cached)));
    }
    buf_finish(&fresh);
    buf_finish(&cached);
    return 0;
}
