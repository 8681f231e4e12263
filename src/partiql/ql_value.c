/* Translates literals to values. Errors show the position inside the literal: "under root.a[1]".
 * Called by where.c, change.c and statement.c. */
#include "partiql/translate_internal.h"

#include "base/buf.h"
#include "err/messages.h"

enum { LEVELS_MAX = 32 };

/* The position of a literal inside the outermost one, the root, which has no parent. */
struct place {
    const struct place *parent;
    struct str name; /* STR_NULL: an index */
    size_t index;
    int level;
};

bool ql_is_value(const struct ql_node *node)
{
    return node->kind <= QL_PARAMETER;
}

static void write_place(struct buf *buf, const struct place *place)
{
    if (place->parent == NULL) {
        buf_add(buf, STR("root"));
        return;
    }
    write_place(buf, place->parent);
    if (str_is_null(place->name)) {
        buf_format(buf, "[%zu]", place->index);
    } else {
        buf_format(buf, ".%.*s", STR_ARG(place->name));
    }
}

static struct str place_text(const struct ql_translator *t, const struct place *place)
{
    struct buf buf = {0};
    write_place(&buf, place);
    struct str text = arena_copy(t->arena, buf_str(&buf));
    buf_finish(&buf);
    return text;
}

static bool add_value(struct ql_translator *t, const struct ql_node *node,
                      const struct place *place, struct builder *builder);

/* --- scalars --- */

static bool add_number(struct ql_translator *t, const struct ql_node *node,
                       const struct place *place, struct builder *builder)
{
    struct number number;
    struct str text =
        arena_format(t->arena, "%s%.*s", node->negated ? "-" : "", STR_ARG(node->token.text));
    enum number_status status = number_parse(text, &number);
    if (status != NUMBER_OK) {
        assert(status != NUMBER_BAD_TEXT); /* the lexer has refused it */
        struct str under = place_text(t, place);
        return ql_refuse(t, "%s under %.*s", number_status_text(status), STR_ARG(under));
    }
    builder_add_number(builder, number_str(&number));
    return true;
}

static bool refuse_kind(const struct ql_translator *t, const struct ql_node *node,
                        const struct place *place)
{
    struct str kind =
        node->kind == QL_CALL ? node->token.text : str_from_c(ql_kind_name(node->kind));
    struct str under = place_text(t, place);
    return ql_refuse_at(t, node->token, "Unsupported data type: %.*s under key %.*s", STR_ARG(kind),
                        STR_ARG(under));
}

/* --- sets --- */

/* Returns the members as written: a, a. */
static struct str list_members(const struct ql_translator *t, const struct ql_node *bag)
{
    struct buf list = {0};
    for (const struct ql_node *member = bag->first; member != NULL; member = member->next) {
        struct str text = ql_token_content(member->token, t->arena);
        buf_format(&list, "%s%s%.*s", list.len == 0 ? "" : ", ", member->negated ? "-" : "",
                   STR_ARG(text));
    }
    struct str text = arena_copy(t->arena, buf_str(&list));
    buf_finish(&list);
    return text;
}

static bool refuse_duplicates(const struct ql_translator *t, const struct ql_node *bag,
                              const struct place *place)
{
    struct str members = list_members(t, bag);
    struct str under = place_text(t, place);
    bool numbers = bag->first->kind == QL_NUMBER;
    return ql_refuse(t,
                     "One or more parameter values were invalid: Input collection [%.*s] contains "
                     "duplicates%s%.*s",
                     STR_ARG(members), numbers ? "! under " : ".", (int)(numbers ? under.len : 0),
                     under.data);
}

static bool add_bag(struct ql_translator *t, const struct ql_node *bag, const struct place *place,
                    struct builder *builder)
{
    if (bag->child_count == 0) {
        return ql_refuse(t, "Empty bags are not supported");
    }
    bool numbers = bag->first->kind == QL_NUMBER;
    size_t open = builder_open(builder, numbers ? VALUE_NS : VALUE_SS);
    for (const struct ql_node *member = bag->first; member != NULL; member = member->next) {
        if (member->kind != (numbers ? QL_NUMBER : QL_STRING)) {
            return ql_refuse(t, "Unsupported data type in Bag. DynamoDB only supports either "
                                "numbers or strings in bags");
        }
        if (!add_value(t, member, place, builder)) {
            return false;
        }
    }
    return builder_close_set(builder, open, (uint32_t)bag->child_count) ||
           refuse_duplicates(t, bag, place);
}

/* --- lists and maps --- */

static bool add_list(struct ql_translator *t, const struct ql_node *list, const struct place *place,
                     struct builder *builder)
{
    size_t open = builder_open(builder, VALUE_L);
    struct place inside = {.parent = place, .name = STR_NULL, .level = place->level + 1};
    for (const struct ql_node *child = list->first; child != NULL; child = child->next) {
        if (!add_value(t, child, &inside, builder)) {
            return false;
        }
        inside.index++;
    }
    builder_close_list(builder, open, (uint32_t)list->child_count);
    return true;
}

static bool has_name_before(const struct ql_translator *t, const struct ql_node *map,
                            const struct ql_node *entry, struct str name)
{
    for (const struct ql_node *n = map->first; n != entry; n = n->next->next) {
        if (str_eq(ql_token_content(n->token, t->arena), name)) {
            return true;
        }
    }
    return false;
}

static bool read_name(struct ql_translator *t, const struct ql_node *map,
                      const struct ql_node *entry, const struct place *place, struct str *out)
{
    if (entry->kind != QL_STRING) {
        struct str under = place_text(t, place);
        return ql_refuse(t, "Tuple keys must be of type String. Actual type: %s under %.*s",
                         ql_kind_name(entry->kind), STR_ARG(under));
    }
    *out = ql_token_content(entry->token, t->arena);
    if (out->len == 0) {
        return ql_refuse(t, MESSAGE_EMPTY_NAME);
    }
    if (has_name_before(t, map, entry, *out)) {
        struct str under = place_text(t, place);
        return ql_refuse(t, "Duplicate keys in tuple. Key: %.*s under %.*s", STR_ARG(*out),
                         STR_ARG(under));
    }
    return true;
}

/* Entries of an item are roots themselves, and may be parameters. */
static bool add_entry(struct ql_translator *t, const struct ql_node *node,
                      const struct place *place, bool item, struct builder *builder)
{
    static const struct place root = {.level = 1};
    if (item && node->kind == QL_PARAMETER) {
        builder_add_value(builder, t->parameters[node->parameter]);
        return true;
    }
    return add_value(t, node, item ? &root : place, builder);
}

static bool add_struct(struct ql_translator *t, const struct ql_node *map,
                       const struct place *place, bool item, struct builder *builder)
{
    size_t open = builder_open(builder, VALUE_M);
    for (const struct ql_node *entry = map->first; entry != NULL; entry = entry->next->next) {
        struct place inside = {.parent = place, .level = place->level + 1};
        if (!read_name(t, map, entry, place, &inside.name)) {
            return false;
        }
        builder_add_key(builder, inside.name);
        if (!add_entry(t, entry->next, &inside, item, builder)) {
            return false;
        }
    }
    builder_close_map(builder, open, (uint32_t)(map->child_count / 2));
    return true;
}

static bool add_value(struct ql_translator *t, const struct ql_node *node,
                      const struct place *place, struct builder *builder)
{
    if (place->level > LEVELS_MAX) {
        struct str under = place_text(t, place);
        return ql_refuse(t, "Nesting Levels have exceeded supported limits under %.*s",
                         STR_ARG(under));
    }
    switch (node->kind) {
    case QL_STRING:
        builder_add_string(builder, ql_token_content(node->token, t->arena));
        return true;
    case QL_NUMBER:
        return add_number(t, node, place, builder);
    case QL_BOOL:
        builder_add_bool(builder, node->token.word == QL_WORD_true);
        return true;
    case QL_NULL:
        builder_add_null(builder);
        return true;
    case QL_LIST:
        return add_list(t, node, place, builder);
    case QL_BAG:
        return add_bag(t, node, place, builder);
    case QL_STRUCT:
        return add_struct(t, node, place, false, builder);
    default:
        return refuse_kind(t, node, place);
    }
}

bool ql_value(struct ql_translator *t, const struct ql_node *node, struct value *out)
{
    static const struct place root = {.level = 1};
    if (node->kind == QL_PARAMETER) {
        *out = t->parameters[node->parameter];
        return true;
    }
    struct builder builder;
    builder_init(&builder, t->arena, 64);
    if (!add_value(t, node, &root, &builder)) {
        return false;
    }
    *out = builder_finish(&builder);
    return true;
}

bool ql_item(struct ql_translator *t, const struct ql_node *node, struct value *out)
{
    static const struct place root = {.level = 0};
    if (node->kind != QL_STRUCT) {
        return ql_refuse(t, "Unsupported format in item expression. Please use struct format {...} "
                            "to express item values for insert statement.");
    }
    struct builder builder;
    builder_init(&builder, t->arena, 256);
    if (!add_struct(t, node, &root, true, &builder)) {
        return false;
    }
    *out = builder_finish(&builder);
    return true;
}
