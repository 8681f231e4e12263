/* The grammar of statements, one function per rule:
 *
 *   select    = "SELECT" columns "FROM" source ["WHERE" expression] ["ORDER" "BY" keys]
 *   insert    = "INSERT" "INTO" path "VALUE" expression [returning]
 *   update    = "UPDATE" source changes ["WHERE" expression] [returning]
 *             | "FROM" source ["WHERE" expression] changes [returning]
 *   delete    = "DELETE" "FROM" source ["WHERE" expression] [returning]
 *   changes   = change { change }
 *   change    = "SET" path "=" expression { "," path "=" expression } | "REMOVE" path { "," path }
 *   returning = "RETURNING" ("ALL" | "MODIFIED") ("OLD" | "NEW") "*"
 *
 * Parts of PartiQL that DynamoDB does not support (aliases, joins, LIMIT, ...) are parsed, too, so
 * that the error can name them. */
#include "err/messages.h"
#include "partiql/ql_parser_internal.h"

static struct ql_node *statement_node(struct ql_parser *p, enum ql_kind kind)
{
    struct ql_node *node = ql_node(p, kind, p->token);
    node->clauses = ARENA_NEW(p->arena, struct ql_clauses);
    ql_advance(p);
    return node;
}

/* --- sources --- */

static bool parse_alias_name(struct ql_parser *p, const char *word)
{
    return ql_take(p, QL_TOKEN_NAME) ||
           ql_fail(p, "Expected identifier for %s-alias", word) != NULL;
}

/* aliases = [["AS"] name] ["AT" name] ["BY" name] */
static bool parse_aliases(struct ql_parser *p, struct ql_clauses *clauses)
{
    static const struct {
        enum ql_word word;
        const char *name;
    } words[] = {{QL_WORD_as, "AS"}, {QL_WORD_at, "AT"}, {QL_WORD_by, "BY"}};
    clauses->aliased = ql_take(p, QL_TOKEN_NAME) || clauses->aliased;
    for (size_t i = 0; i < COUNT_OF(words); i++) {
        if (ql_take_word(p, words[i].word)) {
            clauses->aliased = true;
            if (!parse_alias_name(p, words[i].name)) {
                return false;
            }
        }
    }
    return true;
}

/* source = expression aliases { "," expression aliases } */
static bool parse_sources(struct ql_parser *p, struct ql_clauses *clauses)
{
    do {
        struct ql_node *source = ql_parse_expression(p, QL_BINDS_SOURCE);
        if (source == NULL || !parse_aliases(p, clauses)) {
            return false;
        }
        clauses->many_sources = clauses->source != NULL;
        clauses->source = source;
    } while (ql_take(p, QL_TOKEN_COMMA));
    return true;
}

static bool parse_simple_source(struct ql_parser *p, struct ql_clauses *clauses)
{
    clauses->source = ql_parse_simple_path(p);
    return clauses->source != NULL && parse_aliases(p, clauses);
}

/* --- clauses --- */

static bool parse_where(struct ql_parser *p, struct ql_clauses *clauses)
{
    if (!ql_take_word(p, QL_WORD_where)) {
        return true;
    }
    clauses->where = ql_parse_expression(p, QL_BINDS_ANY);
    return clauses->where != NULL;
}

/* keys = expression ["ASC" | "DESC"] { "," expression ["ASC" | "DESC"] } */
static bool parse_order(struct ql_parser *p, struct ql_clauses *clauses)
{
    if (!ql_take_word(p, QL_WORD_order)) {
        return true;
    }
    if (!ql_take_word(p, QL_WORD_by)) {
        return ql_fail(p, "Expected BY") != NULL;
    }
    struct ql_node **at = &clauses->order;
    do {
        *at = ql_parse_expression(p, QL_BINDS_ANY);
        if (*at == NULL) {
            return false;
        }
        (*at)->negated = ql_take_word(p, QL_WORD_desc);
        if (!(*at)->negated) {
            (void)ql_take_word(p, QL_WORD_asc);
        }
        at = &(*at)->next;
    } while (ql_take(p, QL_TOKEN_COMMA));
    return true;
}

/* Parses GROUP BY, HAVING, LIMIT and OFFSET with their expressions. */
static bool parse_unsupported(struct ql_parser *p, struct ql_clauses *clauses)
{
    static const enum ql_word words[] = {QL_WORD_group, QL_WORD_having, QL_WORD_limit,
                                         QL_WORD_offset};
    for (size_t i = 0; i < COUNT_OF(words); i++) {
        struct ql_token token = p->token;
        if (!ql_take_word(p, words[i])) {
            continue;
        }
        if (clauses->unsupported.kind == QL_TOKEN_END) {
            clauses->unsupported = token;
        }
        if (words[i] == QL_WORD_group && !ql_take_word(p, QL_WORD_by)) {
            return ql_fail(p, "Expected BY") != NULL;
        }
        do {
            if (ql_parse_expression(p, QL_BINDS_ANY) == NULL) {
                return false;
            }
        } while (ql_take(p, QL_TOKEN_COMMA));
    }
    return true;
}

static enum ql_returning_mode take_returning_mode(struct ql_parser *p)
{
    bool all = ql_is_word(p, QL_WORD_all);
    if (!all && !ql_is_word(p, QL_WORD_modified)) {
        return QL_RETURNING_NONE;
    }
    ql_advance(p);
    if (ql_take_word(p, QL_WORD_old)) {
        return all ? QL_RETURNING_ALL_OLD : QL_RETURNING_MODIFIED_OLD;
    }
    if (ql_take_word(p, QL_WORD_new)) {
        return all ? QL_RETURNING_ALL_NEW : QL_RETURNING_MODIFIED_NEW;
    }
    return QL_RETURNING_NONE;
}

static bool parse_returning(struct ql_parser *p, struct ql_clauses *clauses)
{
    if (!ql_take_word(p, QL_WORD_returning)) {
        return true;
    }
    do {
        clauses->returning_many = clauses->returning != QL_RETURNING_NONE;
        clauses->returning = take_returning_mode(p);
        if (clauses->returning == QL_RETURNING_NONE) {
            return ql_fail(p, "Expected ( MODIFIED | ALL ) ( NEW | OLD ) in each returning "
                              "element.") != NULL;
        }
        if (!ql_take(p, QL_TOKEN_STAR)) {
            clauses->returning_columns = true;
            if (ql_parse_expression(p, QL_BINDS_ANY) == NULL) {
                return false;
            }
        }
    } while (ql_take(p, QL_TOKEN_COMMA));
    return true;
}

/* --- SELECT --- */

/* columns = column { "," column }; column = "*" | expression [["AS"] name] */
static bool parse_columns(struct ql_parser *p, struct ql_node *select)
{
    do {
        struct ql_node *column = p->token.kind == QL_TOKEN_STAR
                                     ? ql_node(p, QL_STAR, p->token)
                                     : ql_parse_expression(p, QL_BINDS_ANY);
        if (column == NULL) {
            return false;
        }
        if (column->kind == QL_STAR) {
            ql_advance(p);
        } else if (!parse_aliases(p, select->clauses)) {
            return false;
        }
        ql_add(select, column);
    } while (ql_take(p, QL_TOKEN_COMMA));
    return true;
}

struct ql_node *ql_parse_select(struct ql_parser *p)
{
    struct ql_node *node = statement_node(p, QL_SELECT);
    struct ql_clauses *clauses = node->clauses;
    if (ql_is_word(p, QL_WORD_distinct)) {
        clauses->unsupported = p->token;
        ql_advance(p);
    } else {
        (void)ql_take_word(p, QL_WORD_all);
    }
    if (!parse_columns(p, node)) {
        return NULL;
    }
    if (!ql_take_word(p, QL_WORD_from)) {
        return ql_fail(p, "Expected FROM after SELECT list");
    }
    bool parsed = parse_sources(p, clauses) && parse_where(p, clauses) && parse_order(p, clauses) &&
                  parse_unsupported(p, clauses);
    return parsed ? node : NULL;
}

/* --- changes --- */

static struct ql_node *parse_assignment(struct ql_parser *p)
{
    struct ql_node *node = ql_node(p, QL_SET, p->token);
    struct ql_node *path = ql_parse_simple_path(p);
    if (path == NULL) {
        return NULL;
    }
    if (!ql_take(p, QL_TOKEN_EQ)) {
        return ql_fail(p, "Expected '='");
    }
    struct ql_node *value = ql_parse_expression(p, QL_BINDS_ANY);
    if (value == NULL) {
        return NULL;
    }
    ql_add(node, path);
    ql_add(node, value);
    return node;
}

static struct ql_node *parse_removal(struct ql_parser *p)
{
    struct ql_node *node = ql_node(p, QL_REMOVE, p->token);
    struct ql_node *path = ql_parse_simple_path(p);
    if (path == NULL) {
        return NULL;
    }
    ql_add(node, path);
    return node;
}

static bool parse_changes(struct ql_parser *p, struct ql_node *update)
{
    for (;;) {
        bool set = ql_take_word(p, QL_WORD_set);
        if (!set && !ql_take_word(p, QL_WORD_remove)) {
            break;
        }
        do {
            struct ql_node *change = set ? parse_assignment(p) : parse_removal(p);
            if (change == NULL) {
                return false;
            }
            ql_add(update, change);
        } while (ql_take(p, QL_TOKEN_COMMA));
    }
    return update->child_count > 0 || ql_fail(p, MESSAGE_NO_STATEMENT) != NULL;
}

struct ql_node *ql_parse_update(struct ql_parser *p)
{
    struct ql_node *node = statement_node(p, QL_UPDATE);
    struct ql_clauses *clauses = node->clauses;
    bool parsed = parse_simple_source(p, clauses) && parse_changes(p, node) &&
                  parse_where(p, clauses) && parse_returning(p, clauses);
    return parsed ? node : NULL;
}

struct ql_node *ql_parse_from(struct ql_parser *p)
{
    struct ql_node *node = statement_node(p, QL_UPDATE);
    struct ql_clauses *clauses = node->clauses;
    bool parsed = parse_sources(p, clauses) && parse_where(p, clauses) && parse_changes(p, node) &&
                  parse_returning(p, clauses);
    return parsed ? node : NULL;
}

struct ql_node *ql_parse_delete(struct ql_parser *p)
{
    struct ql_node *node = statement_node(p, QL_DELETE);
    struct ql_clauses *clauses = node->clauses;
    if (!ql_take_word(p, QL_WORD_from)) {
        return ql_fail(p, "Expected FROM after DELETE");
    }
    bool parsed =
        parse_simple_source(p, clauses) && parse_where(p, clauses) && parse_returning(p, clauses);
    return parsed ? node : NULL;
}

struct ql_node *ql_parse_insert(struct ql_parser *p)
{
    struct ql_node *node = statement_node(p, QL_INSERT);
    struct ql_clauses *clauses = node->clauses;
    ql_advance(p); /* INTO */
    clauses->source = ql_parse_simple_path(p);
    if (clauses->source == NULL) {
        return NULL;
    }
    clauses->values = !ql_take_word(p, QL_WORD_value);
    if (clauses->values) {
        (void)ql_take_word(p, QL_WORD_values);
    }
    struct ql_node *value = ql_parse_expression(p, QL_BINDS_ANY);
    if (value == NULL) {
        return NULL;
    }
    ql_add(node, value);
    if (ql_take_word(p, QL_WORD_at)) {
        clauses->position = true;
        if (ql_parse_expression(p, QL_BINDS_ANY) == NULL) {
            return NULL;
        }
    }
    return parse_returning(p, clauses) ? node : NULL;
}
