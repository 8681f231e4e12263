/* Reads and writes values as short text, for unit tests. */
#include "expr/expr_testing.h"

#include <stdio.h>
#include <stdlib.h>

struct reader {
    const char *at;
    struct builder *builder;
};

static void die(const struct reader *r)
{
    fprintf(stderr, "not a value: %s\n", r->at);
    abort();
}

static bool take(struct reader *r, char c)
{
    while (*r->at == ' ') {
        r->at++;
    }
    if (*r->at != c) {
        return false;
    }
    r->at++;
    return true;
}

static bool take_word(struct reader *r, const char *word)
{
    size_t len = strlen(word);
    if (strncmp(r->at, word, len) != 0) {
        return false;
    }
    r->at += len;
    return true;
}

/* Reads the rest of a quoted text into the builder's arena. */
static struct str read_quoted(struct reader *r)
{
    size_t len = 0;
    char *text = arena_bytes(r->builder->arena, strlen(r->at));
    while (*r->at != '"') {
        if (*r->at == '\\') {
            r->at++;
        }
        if (*r->at == '\0') {
            die(r);
        }
        text[len++] = *r->at++;
    }
    r->at++;
    return str_make(text, len);
}

static bool is_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.';
}

static struct str read_name(struct reader *r)
{
    if (take(r, '"')) {
        return read_quoted(r);
    }
    const char *start = r->at;
    r->at += *r->at == ':' || *r->at == '#';
    while (is_name(*r->at)) {
        r->at++;
    }
    return str_make(start, (size_t)(r->at - start));
}

static void read_number(struct reader *r)
{
    size_t len = strspn(r->at, "+-.0123456789eE");
    struct number number;
    if (number_parse(str_make(r->at, len), &number) != NUMBER_OK) {
        die(r);
    }
    r->at += len;
    builder_add_number(r->builder, number_str(&number));
}

static void read_value(struct reader *r);

static uint32_t read_elements(struct reader *r, char close)
{
    uint32_t count = 0;
    while (!take(r, close)) {
        read_value(r);
        count++;
        take(r, ',');
    }
    return count;
}

static void read_list(struct reader *r)
{
    size_t open = builder_open(r->builder, VALUE_L);
    builder_close_list(r->builder, open, read_elements(r, ']'));
}

static void read_map(struct reader *r)
{
    size_t open = builder_open(r->builder, VALUE_M);
    uint32_t count = 0;
    for (; !take(r, '}'); count++) {
        builder_add_key(r->builder, read_name(r));
        if (!take(r, ':')) {
            die(r);
        }
        read_value(r);
        take(r, ',');
    }
    builder_close_map(r->builder, open, count);
}

static void read_set(struct reader *r)
{
    take(r, ' ');
    enum value_type type = *r->at == '"' ? VALUE_SS : *r->at == 'b' ? VALUE_BS : VALUE_NS;
    size_t open = builder_open(r->builder, type);
    if (!builder_close_set(r->builder, open, read_elements(r, '>'))) {
        die(r);
    }
}

static void read_value(struct reader *r)
{
    if (take(r, '"')) {
        builder_add_string(r->builder, read_quoted(r));
    } else if (take(r, '[')) {
        read_list(r);
    } else if (take(r, '{')) {
        read_map(r);
    } else if (take(r, '<')) {
        read_set(r);
    } else if (take_word(r, "b\"")) {
        builder_add_binary(r->builder, read_quoted(r));
    } else if (take_word(r, "null")) {
        builder_add_null(r->builder);
    } else if (take_word(r, "true")) {
        builder_add_bool(r->builder, true);
    } else if (take_word(r, "false")) {
        builder_add_bool(r->builder, false);
    } else {
        read_number(r);
    }
}

struct value testing_value(struct arena *arena, const char *text)
{
    struct builder builder;
    builder_init(&builder, arena, 256);
    struct reader r = {.at = text, .builder = &builder};
    read_value(&r);
    if (*r.at != '\0') {
        die(&r);
    }
    return builder_finish(&builder);
}

static void write_quoted(struct buf *buf, struct str text)
{
    buf_add_char(buf, '"');
    for (size_t i = 0; i < text.len; i++) {
        if (text.data[i] == '"' || text.data[i] == '\\') {
            buf_add_char(buf, '\\');
        }
        buf_add_char(buf, text.data[i]);
    }
    buf_add_char(buf, '"');
}

static void write_name(struct buf *buf, struct str name)
{
    for (size_t i = 0; i < name.len; i++) {
        if (!is_name(name.data[i])) {
            write_quoted(buf, name);
            return;
        }
    }
    buf_add(buf, name);
}

static void write_value(struct buf *buf, struct value value);

static void write_container(struct buf *buf, struct value value, char open, char close)
{
    enum value_type type = value_type(value);
    struct value_iter iter = value_iter(value);
    struct value_name name;
    struct value element;
    bool first = true;
    buf_add_char(buf, open);
    while (type == VALUE_M ? value_next_entry(&iter, &name, &element)
                           : value_next(&iter, &element)) {
        buf_add(buf, first ? STR("") : STR(", "));
        first = false;
        if (type == VALUE_M) {
            write_name(buf, name.text);
            buf_add(buf, STR(": "));
        }
        write_value(buf, element);
    }
    buf_add_char(buf, close);
}

static void write_value(struct buf *buf, struct value value)
{
    char number[NUMBER_TEXT_MAX];
    switch (value_type(value)) {
    case VALUE_B:
        buf_add_char(buf, 'b');
        write_quoted(buf, value_bytes(value));
        break;
    case VALUE_S:
        write_quoted(buf, value_bytes(value));
        break;
    case VALUE_N:
        buf_add(buf, str_make(number, number_format(value_bytes(value), number)));
        break;
    case VALUE_L:
        write_container(buf, value, '[', ']');
        break;
    case VALUE_M:
        write_container(buf, value, '{', '}');
        break;
    case VALUE_NULL:
        buf_add(buf, STR("null"));
        break;
    case VALUE_BOOL:
        buf_add(buf, value_flag(value) ? STR("true") : STR("false"));
        break;
    case VALUE_NONE:
        buf_add(buf, STR("absent"));
        break;
    default:
        write_container(buf, value, '<', '>');
        break;
    }
}

struct str testing_text(struct arena *arena, struct value value)
{
    if (!value_is_absent(value) && !value_is_valid(str_make(value.data, value.len))) {
        return STR("not a well-formed value");
    }
    struct buf buf = {0};
    write_value(&buf, value);
    struct str text = arena_copy(arena, buf_str(&buf));
    buf_finish(&buf);
    return text;
}

struct expr_values testing_values(struct arena *arena, const char *text)
{
    if (text == NULL) {
        return (struct expr_values){0};
    }
    struct value map = testing_value(arena, text);
    size_t count = value_count(map);
    struct str *names = ARENA_ARRAY(arena, struct str, count);
    struct value *values = ARENA_ARRAY(arena, struct value, count);
    struct value_iter iter = value_iter(map);
    struct value_name name;
    for (size_t i = 0; value_next_entry(&iter, &name, &values[i]); i++) {
        names[i] = name.text;
        if (i + 1 == count) {
            break;
        }
    }
    return (struct expr_values){.given = true, .count = count, .names = names, .values = values};
}

struct expr_names testing_names(struct arena *arena, const char *text)
{
    struct expr_values values = testing_values(arena, text);
    struct str *targets = ARENA_ARRAY(arena, struct str, values.count);
    for (size_t i = 0; i < values.count; i++) {
        targets[i] = value_bytes(values.values[i]);
    }
    return (struct expr_names){
        .given = values.given, .count = values.count, .names = values.names, .targets = targets};
}

struct expr_scope testing_scope(struct arena *arena, struct expr_cache *cache, const char *names,
                                const char *values)
{
    struct err err = ERR_INIT(arena);
    struct expr_names all_names = testing_names(arena, names);
    struct expr_values all_values = testing_values(arena, values);
    struct expr_scope scope;
    if (!expr_scope_init(&scope, arena, cache, &all_names, &all_values, &err)) {
        fprintf(stderr, "not a scope: %.*s\n", STR_ARG(err.message));
        abort();
    }
    return scope;
}

struct str testing_key_condition(struct arena *arena, const struct key_condition *c,
                                 size_t hash_count)
{
    struct str list = STR("");
    for (size_t i = 0; i < hash_count; i++) {
        struct str value = testing_text(arena, c->hash[i]);
        list = arena_format(arena, "%.*s%s%.*s", STR_ARG(list), i == 0 ? "" : " ", STR_ARG(value));
    }
    for (size_t i = 0; i < c->range_equal_count; i++) {
        struct str value = testing_text(arena, c->range_equal[i]);
        list = arena_format(arena, "%.*s = %.*s", STR_ARG(list), STR_ARG(value));
    }
    if (c->low.kind != BOUND_NONE) {
        struct str low = testing_text(arena, c->low.value);
        list = arena_format(arena, "%.*s %s %.*s", STR_ARG(list),
                            c->low.kind == BOUND_OPEN ? ">" : ">=", STR_ARG(low));
    }
    if (c->high.kind != BOUND_NONE) {
        static const char *const ends[] = {
            [BOUND_CLOSED] = "<=", [BOUND_OPEN] = "<", [BOUND_PREFIX] = "begins_with"};
        struct str high = testing_text(arena, c->high.value);
        list =
            arena_format(arena, "%.*s %s %.*s", STR_ARG(list), ends[c->high.kind], STR_ARG(high));
    }
    return list;
}
