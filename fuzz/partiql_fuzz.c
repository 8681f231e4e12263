/* Fuzzes PartiQL. Input: the text of a statement, which gets as many parameters as it has
 * placeholders and is applied to a fixed item. Properties: the same text gives the same result or
 * error twice; error messages for valid UTF-8 are valid UTF-8; results are well-formed values; the
 * attributes that an update reports as written are in the new item. */
#include "partiql/partiql.h"

#include <stdlib.h>

#include "base/buf.h"
#include "base/utf8.h"

enum { PARAMETER_COUNT = 6, TEXT_MAX = 16384 };

/* State that all runs share; created once. */
struct world {
    struct arena arena;
    struct value parameters[PARAMETER_COUNT];
    struct value item;
};

static void require(bool truth)
{
    if (!truth) {
        abort();
    }
}

static void add_set(struct builder *builder)
{
    size_t open = builder_open(builder, VALUE_SS);
    builder_add_string(builder, STR("a"));
    builder_add_string(builder, STR("b"));
    require(builder_close_set(builder, open, 2));
}

static void add_list(struct builder *builder)
{
    size_t open = builder_open(builder, VALUE_L);
    builder_add_string(builder, STR("a"));
    builder_add_int64(builder, 1);
    builder_close_list(builder, open, 2);
}

/* Adds {a: "ab", b: 5, c: <"a", "b">, d: ["a", 1], e: true}; if `outer`, with the same map again as
 * f. */
static void add_map(struct builder *builder, bool outer)
{
    size_t open = builder_open(builder, VALUE_M);
    builder_add_key(builder, STR("a"));
    builder_add_string(builder, STR("ab"));
    builder_add_key(builder, STR("b"));
    builder_add_int64(builder, 5);
    builder_add_key(builder, STR("c"));
    add_set(builder);
    builder_add_key(builder, STR("d"));
    add_list(builder);
    builder_add_key(builder, STR("e"));
    builder_add_bool(builder, true);
    if (outer) {
        builder_add_key(builder, STR("f"));
        add_map(builder, false);
    }
    builder_close_map(builder, open, outer ? 6 : 5);
}

static struct world *make_world(void)
{
    static struct world world;
    arena_init(&world.arena);
    for (int i = 0; i < PARAMETER_COUNT + 1; i++) {
        struct builder builder;
        builder_init(&builder, &world.arena, 256);
        switch (i) {
        case 0:
            builder_add_string(&builder, STR("ab"));
            break;
        case 1:
            builder_add_int64(&builder, 5);
            break;
        case 2:
            add_set(&builder);
            break;
        case 3:
            add_list(&builder);
            break;
        case 4:
            builder_add_binary(&builder, STR("xy"));
            break;
        default:
            add_map(&builder, i == PARAMETER_COUNT);
            break;
        }
        *(i < PARAMETER_COUNT ? &world.parameters[i] : &world.item) = builder_finish(&builder);
    }
    return &world;
}

static void add_value(struct buf *out, struct value value)
{
    require(value_is_absent(value) || value_is_valid(str_make(value.data, value.len)));
    buf_add(out, str_make(value.data, value.len));
    buf_add_char(out, '\n');
}

static void add_where(struct buf *out, const struct where *where, struct value item)
{
    buf_format(out, "%d%d%d", where->kind, condition_holds(where->condition, item),
               condition_holds(where->condition, VALUE_ABSENT));
    if (where->kind != WHERE_TEST) {
        add_where(out, where->left, item);
        if (where->kind != WHERE_NOT) {
            add_where(out, where->right, item);
        }
    } else if (!str_is_null(where->attribute)) {
        require(where->op != KEY_NONE && where->value_count > 0);
        buf_add(out, where->attribute);
        for (size_t i = 0; i < where->value_count; i++) {
            add_value(out, where->values[i]);
        }
    }
}

static void check_touched(struct value touched, struct value item)
{
    struct value_iter iter =
        value_is_absent(touched) ? (struct value_iter){0} : value_iter(touched);
    struct value_name name;
    struct value value;
    while (value_next_entry(&iter, &name, &value)) {
        require(value_type(value_map_get(item, name.text)) == value_type(value));
    }
}

static void add_update(struct world *world, const struct update *update, struct arena *arena,
                       struct err *err, struct buf *out)
{
    struct value made;
    if (!update_apply(update, world->item, VALUE_ABSENT, arena, &made, err)) {
        return;
    }
    struct value touched = update_touched(update, made, arena);
    check_touched(touched, made);
    check_touched(update_touched(update, world->item, arena), world->item);
    add_value(out, made);
    add_value(out, touched);
}

static void add_statement(struct world *world, const struct statement *statement,
                          struct arena *arena, struct err *err, struct buf *out)
{
    buf_format(out, "%d%d", statement->kind, statement->returning);
    require(statement->table.len > 0);
    buf_add(out, statement->table);
    add_value(out, statement->item);
    if (statement->where != NULL) {
        add_where(out, statement->where, world->item);
    }
    if (statement->update != NULL) {
        add_update(world, statement->update, arena, err, out);
    }
    if (statement->columns != NULL) {
        struct builder builder;
        builder_init(&builder, arena, 64);
        columns_apply(statement, world->item, &builder);
        add_value(out, builder_finish(&builder));
    }
    for (size_t i = 0; i < statement->order_count; i++) {
        buf_add(out, statement->order[i].attribute);
    }
}

/* Runs the statement and writes all results to *out. */
static void run(struct world *world, struct str text, struct buf *out)
{
    static const struct str mismatch = {
        "Number of parameters in request and statement don't match.", 58};
    for (size_t count = 0; count <= PARAMETER_COUNT; count++) {
        struct arena arena;
        arena_init(&arena);
        struct err err = ERR_INIT(&arena);
        struct statement statement;
        if (statement_parse(&arena, text, world->parameters, count, &statement, &err)) {
            add_statement(world, &statement, &arena, &err, out);
        } else {
            require(err.code == ERR_VALIDATION);
        }
        require(utf8_is_valid(err.message));
        bool again = str_eq(err.message, mismatch);
        buf_add(out, err.message);
        arena_finish(&arena);
        if (!again) {
            break;
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct world *world;
    if (world == NULL) {
        world = make_world();
    }
    if (size > TEXT_MAX || !utf8_is_valid(str_make(data, size))) {
        return 0;
    }
    struct buf first = {0};
    struct buf second = {0};
    run(world, str_make(data, size), &first);
    run(world, str_make(data, size), &second);
    require(str_eq(buf_str(&first), buf_str(&second)));
    buf_finish(&first);
    buf_finish(&second);
    return 0;
}
