/* Positions of tokens for the messages of errors, and dumps of trees for tests. Called by the
 * parser and the translators, on the thread of the request. */
#include "partiql/ql_tree_internal.h"

#include "base/buf.h"

/* Returns the number of characters (not bytes). */
static size_t char_count(struct str text)
{
    size_t count = 0;
    for (size_t i = 0; i < text.len; i++) {
        count += (text.data[i] & 0xC0) != 0x80;
    }
    return count;
}

struct str ql_position(const struct ql_tree *tree, struct ql_token token, struct arena *arena)
{
    struct str before = str_make(tree->text.data, (size_t)(token.text.data - tree->text.data));
    size_t line = 1;
    size_t line_start = 0;
    for (size_t i = 0; i < before.len; i++) {
        if (before.data[i] == '\n') {
            line++;
            line_start = i + 1;
        }
    }
    return arena_format(arena, "%zu:%zu:%zu", line, char_count(str_skip(before, line_start)) + 1,
                        char_count(token.text));
}

const char *ql_kind_name(enum ql_kind kind)
{
    static const char *const names[] = {
        [QL_STRING] = "Lit",     [QL_NUMBER] = "Lit",      [QL_BOOL] = "Lit",
        [QL_NULL] = "Lit",       [QL_MISSING] = "Missing", [QL_LIST] = "List",
        [QL_BAG] = "Bag",        [QL_STRUCT] = "Struct",   [QL_PARAMETER] = "Parameter",
        [QL_NAME] = "Id",        [QL_PATH] = "Path",       [QL_STEP] = "Path",
        [QL_STAR] = "Path",      [QL_CALL] = "Call",       [QL_NOT] = "Not",
        [QL_PLUS_SIGN] = "Pos",  [QL_MINUS_SIGN] = "Neg",  [QL_AND] = "And",
        [QL_OR] = "Or",          [QL_EQ] = "Eq",           [QL_NE] = "Ne",
        [QL_LT] = "Lt",          [QL_LE] = "Lte",          [QL_GT] = "Gt",
        [QL_GE] = "Gte",         [QL_BETWEEN] = "Between", [QL_IN] = "InCollection",
        [QL_IS] = "IsType",      [QL_LIKE] = "Like",       [QL_PLUS] = "Plus",
        [QL_MINUS] = "Minus",    [QL_TIMES] = "Times",     [QL_DIVIDE] = "Divide",
        [QL_MODULO] = "Modulo",  [QL_CONCAT] = "Concat",   [QL_SELECT] = "Select",
        [QL_INSERT] = "Insert",  [QL_UPDATE] = "Update",   [QL_DELETE] = "Delete",
        [QL_SET] = "Assignment", [QL_REMOVE] = "Remove",
    };
    return names[kind];
}

/* --- dump --- */

static void dump(struct buf *buf, const struct ql_node *node);

static void dump_children(struct buf *buf, const struct ql_node *node)
{
    for (const struct ql_node *child = node->first; child != NULL; child = child->next) {
        buf_add_char(buf, ' ');
        dump(buf, child);
    }
}

static void dump_path(struct buf *buf, const struct ql_node *path)
{
    dump(buf, path->first);
    for (const struct ql_node *step = path->first->next; step != NULL; step = step->next) {
        bool name = step->token.kind == QL_TOKEN_DOT;
        buf_add(buf, name ? STR(".") : STR("["));
        dump(buf, step->first);
        buf_add(buf, name ? STR("") : STR("]"));
    }
}

static void dump_clauses(struct buf *buf, const struct ql_clauses *clauses)
{
    static const char *const modes[] = {"", "all_old", "all_new", "modified_old", "modified_new"};
    buf_add(buf, STR(" (from "));
    dump(buf, clauses->source);
    buf_add(buf, clauses->aliased ? STR(" aliased)") : STR(")"));
    if (clauses->where != NULL) {
        buf_add(buf, STR(" (where "));
        dump(buf, clauses->where);
        buf_add_char(buf, ')');
    }
    for (const struct ql_node *key = clauses->order; key != NULL; key = key->next) {
        buf_add(buf, key->negated ? STR(" (desc ") : STR(" (asc "));
        dump(buf, key);
        buf_add_char(buf, ')');
    }
    if (clauses->returning != QL_RETURNING_NONE) {
        buf_format(buf, " (returning %s)", modes[clauses->returning]);
    }
}

static const char *operator_text(enum ql_kind kind)
{
    static const char *const names[] = {
        [QL_LIST] = "list",     [QL_BAG] = "bag",       [QL_STRUCT] = "struct",
        [QL_NOT] = "not",       [QL_PLUS_SIGN] = "+",   [QL_MINUS_SIGN] = "-",
        [QL_AND] = "and",       [QL_OR] = "or",         [QL_EQ] = "=",
        [QL_NE] = "<>",         [QL_LT] = "<",          [QL_LE] = "<=",
        [QL_GT] = ">",          [QL_GE] = ">=",         [QL_BETWEEN] = "between",
        [QL_IN] = "in",         [QL_IS] = "is",         [QL_LIKE] = "like",
        [QL_PLUS] = "+",        [QL_MINUS] = "-",       [QL_TIMES] = "*",
        [QL_DIVIDE] = "/",      [QL_MODULO] = "%",      [QL_CONCAT] = "||",
        [QL_SELECT] = "select", [QL_INSERT] = "insert", [QL_UPDATE] = "update",
        [QL_DELETE] = "delete", [QL_SET] = "set",       [QL_REMOVE] = "remove",
    };
    return names[kind];
}

static void dump(struct buf *buf, const struct ql_node *node)
{
    switch (node->kind) {
    case QL_PATH:
        dump_path(buf, node);
        return;
    case QL_NUMBER:
        buf_format(buf, "%s%.*s", node->negated ? "-" : "", STR_ARG(node->token.text));
        return;
    case QL_STRING:
    case QL_BOOL:
    case QL_NULL:
    case QL_MISSING:
    case QL_PARAMETER:
    case QL_NAME:
    case QL_STAR:
        buf_add(buf, node->token.text);
        return;
    case QL_CALL:
        buf_format(buf, "(%.*s", STR_ARG(node->token.text));
        break;
    default:
        buf_format(buf, "(%s%s", node->negated ? "not_" : "", operator_text(node->kind));
        break;
    }
    dump_children(buf, node);
    if (node->clauses != NULL) {
        dump_clauses(buf, node->clauses);
    }
    buf_add_char(buf, ')');
}

struct str ql_dump(const struct ql_tree *tree, struct arena *arena)
{
    struct buf buf = {0};
    dump(&buf, tree->root);
    struct str text = arena_copy(arena, buf_str(&buf));
    buf_finish(&buf);
    return text;
}
