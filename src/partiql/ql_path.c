/* Translates paths to attributes, and the columns of a SELECT. Called by where.c, change.c and
 * statement.c. */
#include "partiql/translate_internal.h"

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

void columns_apply(const struct column *columns, size_t count, struct value item,
                   struct builder *builder)
{
    size_t open = builder_open(builder, VALUE_M);
    uint32_t found = 0;
    for (size_t i = 0; i < count; i++) {
        struct value value = expr_path_get(&columns[i].path, item);
        if (!value_is_absent(value)) {
            builder_add_key(builder, columns[i].name);
            builder_add_value(builder, value);
            found++;
        }
    }
    builder_close_map(builder, open, found);
}
