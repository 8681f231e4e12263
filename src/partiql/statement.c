/* Translates a parsed statement: sources, clauses, columns, items. Called by src/api through
 * statement_parse(). Any thread. */
#include "partiql/translate_internal.h"

#include <stdlib.h>

#include "base/buf.h"
#include "err/messages.h"

static bool refuse(const struct ql_translator *t, struct str text)
{
    return err_set_str(t->err, ERR_VALIDATION, text);
}

bool ql_refuse(const struct ql_translator *t, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    struct str text = arena_vformat(t->arena, format, args);
    va_end(args);
    return refuse(t, text);
}

bool ql_refuse_at(const struct ql_translator *t, struct ql_token token, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    struct str text = arena_vformat(t->arena, format, args);
    va_end(args);
    struct str position = ql_position(t->tree, token, t->arena);
    return refuse(t, arena_format(t->arena, "%.*s at %.*s", STR_ARG(text), STR_ARG(position)));
}

/* --- sources --- */

static bool read_source(struct ql_translator *t, const struct ql_node *source,
                        struct statement *out)
{
    const struct ql_node *table = source->kind == QL_PATH ? source->first : source;
    const struct ql_node *step = source->kind == QL_PATH ? table->next : NULL;
    if (table->kind != QL_NAME || (step != NULL && step->first->kind != QL_NAME)) {
        return ql_refuse(t, "Unexpected from source");
    }
    if (step != NULL && step->next != NULL) {
        return ql_refuse(t, "A path may contain at most 2 components in the FROM clause");
    }
    out->table = ql_token_content(table->token, t->arena);
    out->index = step == NULL ? STR_NULL : ql_token_content(step->first->token, t->arena);
    if (out->table.len == 0 || (step != NULL && out->index.len == 0)) {
        return ql_refuse(t, MESSAGE_EMPTY_PATH);
    }
    return true;
}

static bool check_source(struct ql_translator *t, const struct ql_clauses *clauses)
{
    if (clauses->many_sources) {
        return ql_refuse(t, "Only select from a single table or index is supported.");
    }
    return !clauses->aliased || ql_refuse(t, "Aliasing is not supported");
}

/* --- clauses --- */

static bool read_where(struct ql_translator *t, const struct ql_clauses *clauses,
                       struct statement *out)
{
    if (clauses->where == NULL) {
        return true;
    }
    out->where = ql_where(t, clauses->where);
    return out->where != NULL;
}

static bool read_returning(struct ql_translator *t, const struct ql_clauses *clauses,
                           struct statement *out)
{
    static const enum returning modes[] = {
        [QL_RETURNING_NONE] = RETURNING_NONE,
        [QL_RETURNING_ALL_OLD] = RETURNING_ALL_OLD,
        [QL_RETURNING_ALL_NEW] = RETURNING_ALL_NEW,
        [QL_RETURNING_MODIFIED_OLD] = RETURNING_MODIFIED_OLD,
        [QL_RETURNING_MODIFIED_NEW] = RETURNING_MODIFIED_NEW,
    };
    out->returning = modes[clauses->returning];
    if (clauses->returning_many) {
        return ql_refuse(t, "Invalid syntax with multiple returning elements in RETURNING clause");
    }
    return !clauses->returning_columns ||
           ql_refuse(t, "Expected '*' after ( MODIFIED | ALL ) ( NEW | OLD ) in RETURNING clause");
}

/* --- SELECT --- */

static struct str column_name(struct ql_translator *t, const struct expr_path *path)
{
    size_t last = path->step_count - 1;
    while (str_is_null(path->steps[last].name)) {
        last--;
    }
    struct str name = path->steps[last].name;
    for (size_t i = last + 1; i < path->step_count; i++) {
        name = arena_format(t->arena, "%.*s[%u]", STR_ARG(name), path->steps[i].index);
    }
    return name;
}

static bool read_column(struct ql_translator *t, const struct ql_node *node, struct column *out)
{
    if (node->kind == QL_STAR) {
        return ql_refuse(t, "Other attributes should not be present in the projection when '*' is "
                            "used.");
    }
    if (!ql_path(t, node, &out->path) || !build_check_path(&t->builder, &out->path)) {
        return false;
    }
    out->name = column_name(t, &out->path);
    return true;
}

/* Columns of the same name stay in their order. */
static int compare_names(const void *a, const void *b)
{
    const struct column *x = *(const struct column *const *)a;
    const struct column *y = *(const struct column *const *)b;
    int order = str_cmp(x->name, y->name);
    return order != 0 ? order : (x > y) - (x < y);
}

/* Returns the first column whose name an earlier one has, or NULL. */
static const struct column *find_repeated(struct arena *arena, const struct column *columns,
                                          size_t count)
{
    const struct column **by_name = ARENA_ARRAY(arena, const struct column *, count);
    const struct column *first = NULL;
    for (size_t i = 0; i < count; i++) {
        by_name[i] = &columns[i];
    }
    if (count > 1) {
        qsort(by_name, count, sizeof(const struct column *), compare_names);
    }
    for (size_t i = 1; i < count; i++) {
        bool is_repeated = str_eq(by_name[i - 1]->name, by_name[i]->name);
        if (is_repeated && (first == NULL || by_name[i] < first)) {
            first = by_name[i];
        }
    }
    return first;
}

static bool read_columns(struct ql_translator *t, const struct ql_node *select,
                         struct statement *out)
{
    if (select->child_count == 1 && select->first->kind == QL_STAR) {
        return true;
    }
    struct column *columns = ARENA_ARRAY(t->arena, struct column, select->child_count);
    bool good = true;
    for (const struct ql_node *child = select->first; child != NULL && good; child = child->next) {
        good = read_column(t, child, &columns[out->column_count]);
        out->column_count += good;
    }
    const struct column *repeated = find_repeated(t->arena, columns, out->column_count);
    if (repeated != NULL) {
        *t->err = ERR_INIT(t->err->arena); /* of a column behind it */
        return ql_refuse(t, "Duplicate identifiers in select clause: %.*s",
                         STR_ARG(repeated->name));
    }
    out->columns = columns;
    ql_sort_columns(t, out);
    return good;
}

static bool read_order(struct ql_translator *t, const struct ql_clauses *clauses,
                       struct statement *out)
{
    size_t count = 0;
    for (const struct ql_node *key = clauses->order; key != NULL; key = key->next) {
        if (key->kind != QL_NAME) {
            return ql_refuse(t, "Argument to ORDER BY must be of type VariableReference. Type: %s",
                             ql_kind_name(key->kind));
        }
        count++;
    }
    struct order_key *keys = ARENA_ARRAY(t->arena, struct order_key, count);
    const struct ql_node *key = clauses->order;
    for (size_t i = 0; i < count; i++, key = key->next) {
        keys[i] = (struct order_key){.attribute = ql_token_content(key->token, t->arena),
                                     .descending = key->negated};
    }
    out->order = keys;
    out->order_count = count;
    return count == 0 || clauses->where != NULL ||
           ql_refuse(t, "Must have WHERE clause in the statement when using ORDER BY clause.");
}

static bool translate_select(struct ql_translator *t, const struct ql_node *node,
                             struct statement *out)
{
    const struct ql_clauses *clauses = node->clauses;
    out->kind = STATEMENT_SELECT;
    if (clauses->unsupported.kind != QL_TOKEN_END) {
        return ql_refuse_at(t, clauses->unsupported, "Unsupported clause: %.*s",
                            STR_ARG(clauses->unsupported.text));
    }
    return check_source(t, clauses) && read_source(t, clauses->source, out) &&
           read_columns(t, node, out) && read_where(t, clauses, out) && read_order(t, clauses, out);
}

/* --- writes --- */

static bool translate_insert(struct ql_translator *t, const struct ql_node *node,
                             struct statement *out)
{
    const struct ql_clauses *clauses = node->clauses;
    out->kind = STATEMENT_INSERT;
    if (clauses->values) {
        return ql_refuse(t, "Unsupported operation: Inserting multiple items in a single statement "
                            "is not supported, use \"INSERT INTO tableName VALUE item\" instead");
    }
    if (clauses->position) {
        return ql_refuse(t, "AT is not supported in insert statements.");
    }
    if (clauses->returning != QL_RETURNING_NONE) {
        return ql_refuse(t, "RETURNING is not supported in INSERT");
    }
    if (clauses->source->kind != QL_NAME) {
        return ql_refuse_at(t, clauses->source->token,
                            "FROM clause may only contain a single table name in data manipulation "
                            "statements");
    }
    return read_source(t, clauses->source, out) && ql_item(t, node->first, &out->item);
}

static bool translate_update(struct ql_translator *t, const struct ql_node *node,
                             struct statement *out)
{
    const struct ql_clauses *clauses = node->clauses;
    out->kind = STATEMENT_UPDATE;
    return check_source(t, clauses) && read_source(t, clauses->source, out) &&
           ql_changes(t, node, &out->update) && read_where(t, clauses, out) &&
           read_returning(t, clauses, out);
}

static const char *returning_text(enum returning returning)
{
    static const char *const texts[] = {
        [RETURNING_ALL_NEW] = "ALL NEW",
        [RETURNING_MODIFIED_OLD] = "MODIFIED OLD",
        [RETURNING_MODIFIED_NEW] = "MODIFIED NEW",
    };
    return texts[returning];
}

static bool translate_delete(struct ql_translator *t, const struct ql_node *node,
                             struct statement *out)
{
    const struct ql_clauses *clauses = node->clauses;
    out->kind = STATEMENT_DELETE;
    if (!check_source(t, clauses) || !read_source(t, clauses->source, out) ||
        !read_where(t, clauses, out) || !read_returning(t, clauses, out)) {
        return false;
    }
    return out->returning <= RETURNING_ALL_OLD ||
           ql_refuse(
               t,
               "Invalid returning clause: RETURNING %s *. Only RETURNING ALL OLD * is allowed "
               "in DELETE statements.",
               returning_text(out->returning));
}

/* --- the whole --- */

static bool translate(struct ql_translator *t, const struct ql_node *node, struct statement *out)
{
    switch (node->kind) {
    case QL_SELECT:
        return translate_select(t, node, out);
    case QL_INSERT:
        return translate_insert(t, node, out);
    case QL_UPDATE:
        return translate_update(t, node, out);
    case QL_DELETE:
        return translate_delete(t, node, out);
    default:
        break;
    }
    if (ql_is_call(node, "exists") && node->child_count == 1 && node->first->kind == QL_SELECT) {
        bool translated = translate_select(t, node->first, out);
        out->kind = STATEMENT_EXISTS;
        return translated;
    }
    return ql_refuse(t, MESSAGE_UNSUPPORTED_OPERATION, ql_kind_name(node->kind));
}

bool statement_parse(struct arena *arena, struct str text, const struct value *parameters,
                     size_t parameter_count, struct statement *out, struct err *err)
{
    struct ql_tree tree;
    if (!ql_parse(arena, text, &tree, err)) {
        return false;
    }
    struct ql_translator t = {.arena = arena, .tree = &tree, .parameters = parameters, .err = err};
    expr_builder_init(&t.builder, arena, err);
    if (tree.parameter_count != parameter_count) {
        return ql_refuse(&t, "Number of parameters in request and statement don't match.");
    }
    *out = (struct statement){0};
    return build_check_operators(&t.builder, tree.operator_count) && translate(&t, tree.root, out);
}

/* --- presence --- */

static const struct condition *presence(struct expr_builder *builder, struct str attribute,
                                        enum build_test test)
{
    struct expr_step *step = ARENA_NEW(builder->scope.arena, struct expr_step);
    step->name = attribute;
    struct expr_path path = {.steps = step, .step_count = 1};
    const struct operand *operand = build_path(builder, &path);
    return build_test(builder, test, &operand, 1);
}

const struct condition *condition_if_exists(struct arena *arena, struct str attribute,
                                            const struct condition *condition)
{
    struct expr_builder builder;
    struct err err = ERR_INIT(arena);
    expr_builder_init(&builder, arena, &err);
    const struct condition *exists = presence(&builder, attribute, BUILD_EXISTS);
    return condition == NULL ? exists : build_and(&builder, exists, condition);
}

const struct condition *condition_unless_exists(struct arena *arena, struct str attribute,
                                                const struct condition *condition)
{
    struct expr_builder builder;
    struct err err = ERR_INIT(arena);
    expr_builder_init(&builder, arena, &err);
    const struct condition *absent = presence(&builder, attribute, BUILD_NOT_EXISTS);
    return condition == NULL ? absent : build_or(&builder, absent, condition);
}
