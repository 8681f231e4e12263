/* Parses expressions by the precedence of their operators:
 *
 *   OR   AND   NOT   (= <> != IS IN)   (< <= > >= BETWEEN LIKE)   (+ - ||)   (* / %)
 *
 * A statement is a term of an expression: "SLECT * FROM t" is a product whose second factor, "FROM
 * t", is an error. */
#include "partiql/ql_parser_internal.h"

#include "err/messages.h"

/* The limit of nesting, of whatever kind: parentheses, lists, NOT. */
enum { DEPTH_MAX = 200 };

enum {
    BINDS_OR = 10,
    BINDS_AND = 20,
    BINDS_NOT = 30,
    BINDS_EQUAL = 40,
    BINDS_ORDER = 50,
    BINDS_SUM = 60,
    BINDS_PRODUCT = 70,
};

void *ql_fail(struct ql_parser *p, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    struct str detail = arena_vformat(p->arena, format, args);
    va_end(args);
    err_set(p->err, ERR_VALIDATION, "Statement wasn't well formed, can't be processed: %.*s",
            STR_ARG(detail));
    return NULL;
}

void ql_advance(struct ql_parser *p)
{
    p->token = ql_peek(p);
}

struct ql_token ql_peek(const struct ql_parser *p)
{
    return ql_token_at(p->text, (size_t)(p->token.text.data - p->text.data) + p->token.text.len);
}

bool ql_take(struct ql_parser *p, enum ql_token_kind kind)
{
    if (p->token.kind != kind) {
        return false;
    }
    ql_advance(p);
    return true;
}

bool ql_take_word(struct ql_parser *p, enum ql_word word)
{
    if (!ql_is_word(p, word)) {
        return false;
    }
    ql_advance(p);
    return true;
}

bool ql_expect(struct ql_parser *p, enum ql_token_kind kind, const char *name)
{
    return ql_take(p, kind) || ql_fail(p, "Expected %s", name) != NULL;
}

struct ql_node *ql_node(struct ql_parser *p, enum ql_kind kind, struct ql_token token)
{
    struct ql_node *node = ARENA_NEW(p->arena, struct ql_node);
    node->kind = kind;
    node->token = token;
    return node;
}

void ql_add(struct ql_node *parent, struct ql_node *child)
{
    if (parent->first == NULL) {
        parent->first = child;
    } else {
        parent->last->next = child;
    }
    parent->last = child;
    parent->child_count++;
}

/* Makes a node of an operator or function, and counts it. */
static struct ql_node *operator_node(struct ql_parser *p, enum ql_kind kind, struct ql_token token)
{
    p->tree->operator_count++;
    return ql_node(p, kind, token);
}

static struct ql_node *literal(struct ql_parser *p, enum ql_kind kind)
{
    struct ql_node *node = ql_node(p, kind, p->token);
    ql_advance(p);
    return node;
}

/* --- lists --- */

/* items = expression { "," expression }, added to `node`, and the closing token */
static struct ql_node *parse_items(struct ql_parser *p, struct ql_node *node,
                                   enum ql_token_kind close, const char *name)
{
    do {
        struct ql_node *item = ql_parse_expression(p, QL_BINDS_ANY);
        if (item == NULL) {
            return NULL;
        }
        ql_add(node, item);
    } while (ql_take(p, QL_TOKEN_COMMA));
    return ql_expect(p, close, name) ? node : NULL;
}

/* list = "[" [items] "]"; bag = "<<" [items] ">>" */
static struct ql_node *parse_sequence(struct ql_parser *p, enum ql_kind kind,
                                      enum ql_token_kind close, const char *name)
{
    struct ql_node *node = literal(p, kind);
    return ql_take(p, close) ? node : parse_items(p, node, close, name);
}

/* struct = "{" [expression ":" expression { "," expression ":" expression }] "}" */
static struct ql_node *parse_struct(struct ql_parser *p)
{
    struct ql_node *node = literal(p, QL_STRUCT);
    if (ql_take(p, QL_TOKEN_CLOSE_MAP)) {
        return node;
    }
    do {
        struct ql_node *name = ql_parse_expression(p, QL_BINDS_ANY);
        if (name == NULL || !ql_expect(p, QL_TOKEN_COLON, "COLON")) {
            return NULL;
        }
        struct ql_node *value = ql_parse_expression(p, QL_BINDS_ANY);
        if (value == NULL) {
            return NULL;
        }
        ql_add(node, name);
        ql_add(node, value);
    } while (ql_take(p, QL_TOKEN_COMMA));
    return ql_expect(p, QL_TOKEN_CLOSE_MAP, "RIGHT_CURLY") ? node : NULL;
}

/* group = "(" items ")"; several items make a list */
static struct ql_node *parse_group(struct ql_parser *p)
{
    struct ql_node *list = literal(p, QL_LIST);
    if (parse_items(p, list, QL_TOKEN_CLOSE, "RIGHT_PAREN") == NULL) {
        return NULL;
    }
    return list->child_count == 1 ? list->first : list;
}

/* call = name "(" ["*" | items] ")"; the name is the current token */
static struct ql_node *parse_call(struct ql_parser *p)
{
    struct ql_node *node = operator_node(p, QL_CALL, p->token);
    ql_advance(p);
    ql_advance(p);
    if (ql_take(p, QL_TOKEN_CLOSE)) {
        return node;
    }
    if (p->token.kind == QL_TOKEN_STAR) {
        ql_add(node, literal(p, QL_STAR));
        return ql_expect(p, QL_TOKEN_CLOSE, "RIGHT_PAREN") ? node : NULL;
    }
    return parse_items(p, node, QL_TOKEN_CLOSE, "RIGHT_PAREN");
}

/* --- terms --- */

static struct ql_node *parse_word(struct ql_parser *p)
{
    enum ql_word word = p->token.word;
    bool called = ql_peek(p).kind == QL_TOKEN_OPEN;
    switch (word) {
    case QL_WORD_true:
    case QL_WORD_false:
        return literal(p, QL_BOOL);
    case QL_WORD_null:
        return literal(p, QL_NULL);
    case QL_WORD_missing:
        return literal(p, QL_MISSING);
    case QL_WORD_select:
        return ql_parse_select(p);
    case QL_WORD_update:
        return ql_parse_update(p);
    case QL_WORD_delete:
        return ql_parse_delete(p);
    case QL_WORD_from:
        return ql_parse_from(p);
    case QL_WORD_insert:
        return ql_peek(p).word == QL_WORD_into ? ql_parse_insert(p)
                                               : ql_fail(p, "Unexpected keyword");
    case QL_WORD_and:
    case QL_WORD_or:
    case QL_WORD_in:
    case QL_WORD_is:
    case QL_WORD_like:
    case QL_WORD_between:
        return ql_fail(p, "Unexpected operator");
    default:
        return called && (ql_word_roles(word) & QL_ROLE_CALLED) != 0
                   ? parse_call(p)
                   : ql_fail(p, "Unexpected keyword");
    }
}

static struct ql_node *parse_parameter(struct ql_parser *p)
{
    struct ql_node *node = literal(p, QL_PARAMETER);
    node->parameter = p->tree->parameter_count++;
    return node;
}

static struct ql_node *parse_term(struct ql_parser *p)
{
    switch (p->token.kind) {
    case QL_TOKEN_STRING:
        return literal(p, QL_STRING);
    case QL_TOKEN_NUMBER:
        return literal(p, QL_NUMBER);
    case QL_TOKEN_PARAMETER:
        return parse_parameter(p);
    case QL_TOKEN_NAME:
        return ql_peek(p).kind == QL_TOKEN_OPEN ? parse_call(p) : literal(p, QL_NAME);
    case QL_TOKEN_WORD:
        return parse_word(p);
    case QL_TOKEN_OPEN:
        return parse_group(p);
    case QL_TOKEN_OPEN_LIST:
        return parse_sequence(p, QL_LIST, QL_TOKEN_CLOSE_LIST, "RIGHT_BRACKET");
    case QL_TOKEN_OPEN_BAG:
        return parse_sequence(p, QL_BAG, QL_TOKEN_CLOSE_BAG, "RIGHT_DOUBLE_ANGLE_BRACKET");
    case QL_TOKEN_OPEN_MAP:
        return parse_struct(p);
    case QL_TOKEN_EQ:
    case QL_TOKEN_NE:
    case QL_TOKEN_LT:
    case QL_TOKEN_LE:
    case QL_TOKEN_GT:
    case QL_TOKEN_GE:
    case QL_TOKEN_SLASH:
    case QL_TOKEN_PERCENT:
    case QL_TOKEN_CONCAT:
    case QL_TOKEN_AT:
        return ql_fail(p, "Unexpected operator");
    default:
        return ql_fail(p, "Unexpected term");
    }
}

/* step = "." (name | "*"); the dot is consumed */
static struct ql_node *parse_name_step(struct ql_parser *p, bool simple)
{
    if (p->token.kind == QL_TOKEN_NAME) {
        return literal(p, QL_NAME);
    }
    if (p->token.kind == QL_TOKEN_STAR) {
        return simple ? ql_fail(p, "Invalid path dot component for simple path")
                      : literal(p, QL_STAR);
    }
    return ql_fail(p, "Invalid path dot component");
}

static bool is_literal(const struct ql_node *node)
{
    return node->kind <= QL_MISSING;
}

/* step = "[" (expression | "*") "]"; the first token is consumed */
static struct ql_node *parse_index_step(struct ql_parser *p, bool simple)
{
    struct ql_node *index =
        p->token.kind == QL_TOKEN_STAR ? literal(p, QL_STAR) : ql_parse_expression(p, QL_BINDS_ANY);
    if (index == NULL || !ql_expect(p, QL_TOKEN_CLOSE_LIST, "RIGHT_BRACKET")) {
        return NULL;
    }
    return simple && !is_literal(index) ? ql_fail(p, "Invalid path component for simple path")
                                        : index;
}

/* path = term { step } */
static struct ql_node *parse_steps(struct ql_parser *p, struct ql_node *root, bool simple)
{
    if (root == NULL || (p->token.kind != QL_TOKEN_DOT && p->token.kind != QL_TOKEN_OPEN_LIST)) {
        return root;
    }
    struct ql_node *path = ql_node(p, QL_PATH, root->token);
    ql_add(path, root);
    while (p->token.kind == QL_TOKEN_DOT || p->token.kind == QL_TOKEN_OPEN_LIST) {
        struct ql_node *step = ql_node(p, QL_STEP, p->token);
        struct ql_node *what = ql_take(p, QL_TOKEN_DOT)
                                   ? parse_name_step(p, simple)
                                   : (ql_advance(p), parse_index_step(p, simple));
        if (what == NULL) {
            return NULL;
        }
        ql_add(step, what);
        ql_add(path, step);
    }
    return path;
}

struct ql_node *ql_parse_simple_path(struct ql_parser *p)
{
    if (p->token.kind != QL_TOKEN_NAME) {
        return ql_fail(p, "Expected identifier for simple path");
    }
    return parse_steps(p, literal(p, QL_NAME), true);
}

/* --- operators --- */

static struct ql_node *parse_unary(struct ql_parser *p);

/* A sign in front of a number is part of the number. */
static struct ql_node *parse_sign(struct ql_parser *p, enum ql_kind kind)
{
    struct ql_token sign = p->token;
    ql_advance(p);
    struct ql_node *term = parse_unary(p);
    if (term == NULL) {
        return NULL;
    }
    if (term->kind == QL_NUMBER) {
        term->negated ^= kind == QL_MINUS_SIGN;
        return term;
    }
    struct ql_node *node = operator_node(p, kind, sign);
    ql_add(node, term);
    return node;
}

/* unary = ("+" | "-") unary | "NOT" expression | path */
static struct ql_node *parse_unary_term(struct ql_parser *p)
{
    struct ql_token token = p->token;
    if (token.kind == QL_TOKEN_PLUS || token.kind == QL_TOKEN_MINUS) {
        return parse_sign(p, token.kind == QL_TOKEN_PLUS ? QL_PLUS_SIGN : QL_MINUS_SIGN);
    }
    if (!ql_take_word(p, QL_WORD_not)) {
        return parse_steps(p, parse_term(p), false);
    }
    struct ql_node *operand = ql_parse_expression(p, BINDS_NOT);
    if (operand == NULL) {
        return NULL;
    }
    struct ql_node *node = operator_node(p, QL_NOT, token);
    ql_add(node, operand);
    return node;
}

static struct ql_node *parse_unary(struct ql_parser *p)
{
    if (p->depth == DEPTH_MAX) {
        return ql_fail(p, "Statement is nested too deeply to parse");
    }
    p->depth++;
    struct ql_node *node = parse_unary_term(p);
    p->depth--;
    return node;
}

/* An operator between two operands. */
struct infix {
    enum ql_kind kind;
    int binds; /* 0: not an operator */
    bool negated;
};

static struct infix word_infix(enum ql_word word)
{
    switch (word) {
    case QL_WORD_or:
        return (struct infix){QL_OR, BINDS_OR, false};
    case QL_WORD_and:
        return (struct infix){QL_AND, BINDS_AND, false};
    case QL_WORD_is:
        return (struct infix){QL_IS, BINDS_EQUAL, false};
    case QL_WORD_in:
        return (struct infix){QL_IN, BINDS_EQUAL, false};
    case QL_WORD_between:
        return (struct infix){QL_BETWEEN, BINDS_ORDER, false};
    case QL_WORD_like:
        return (struct infix){QL_LIKE, BINDS_ORDER, false};
    default:
        return (struct infix){0};
    }
}

static struct infix infix_at(const struct ql_parser *p)
{
    static const struct infix infixes[] = {
        [QL_TOKEN_EQ] = {QL_EQ, BINDS_EQUAL, false},
        [QL_TOKEN_NE] = {QL_NE, BINDS_EQUAL, false},
        [QL_TOKEN_LT] = {QL_LT, BINDS_ORDER, false},
        [QL_TOKEN_LE] = {QL_LE, BINDS_ORDER, false},
        [QL_TOKEN_GT] = {QL_GT, BINDS_ORDER, false},
        [QL_TOKEN_GE] = {QL_GE, BINDS_ORDER, false},
        [QL_TOKEN_PLUS] = {QL_PLUS, BINDS_SUM, false},
        [QL_TOKEN_MINUS] = {QL_MINUS, BINDS_SUM, false},
        [QL_TOKEN_CONCAT] = {QL_CONCAT, BINDS_SUM, false},
        [QL_TOKEN_STAR] = {QL_TIMES, BINDS_PRODUCT, false},
        [QL_TOKEN_SLASH] = {QL_DIVIDE, BINDS_PRODUCT, false},
        [QL_TOKEN_PERCENT] = {QL_MODULO, BINDS_PRODUCT, false},
        [QL_TOKEN_CLOSE_BAG] = {0},
    };
    if (ql_is_word(p, QL_WORD_not)) { /* NOT IN and the like */
        struct infix infix = word_infix(ql_peek(p).word);
        infix.negated = true;
        bool negatable = infix.kind == QL_IN || infix.kind == QL_BETWEEN || infix.kind == QL_LIKE;
        return negatable ? infix : (struct infix){0};
    }
    return p->token.kind == QL_TOKEN_WORD ? word_infix(p->token.word) : infixes[p->token.kind];
}

static struct ql_node *parse_right(struct ql_parser *p, int binds)
{
    if (p->token.kind == QL_TOKEN_END) {
        return ql_fail(p, "Missing right-hand side expression of infix operator");
    }
    return ql_parse_expression(p, binds);
}

/* type = word | "DOUBLE" "PRECISION" | "CHARACTER" "VARYING"; as a name */
static struct ql_node *parse_type(struct ql_parser *p)
{
    struct ql_node *node = ql_node(p, QL_NAME, p->token);
    enum ql_word second = ql_peek(p).word;
    bool two = (ql_is_word(p, QL_WORD_double) && second == QL_WORD_precision) ||
               (ql_is_word(p, QL_WORD_character) && second == QL_WORD_varying);
    if (!two && (ql_word_roles(p->token.word) & QL_ROLE_TYPE) == 0) {
        return ql_fail(p, "Expected type name");
    }
    ql_advance(p);
    if (two) {
        ql_advance(p);
    }
    return node;
}

/* Parses the right side of the operator, which is consumed. */
static struct ql_node *parse_infix_right(struct ql_parser *p, struct ql_node *node, int binds)
{
    if (node->kind == QL_IS) {
        node->negated = ql_take_word(p, QL_WORD_not);
        return parse_type(p);
    }
    if (node->kind == QL_IN && p->token.kind == QL_TOKEN_OPEN &&
        ql_peek(p).word != QL_WORD_select) {
        return parse_items(p, literal(p, QL_LIST), QL_TOKEN_CLOSE, "RIGHT_PAREN");
    }
    return parse_right(p, binds);
}

/* "BETWEEN" expression "AND" expression; consumed up to the second keyword */
static bool parse_upper_bound(struct ql_parser *p, struct ql_node *node)
{
    if (!ql_take_word(p, QL_WORD_and)) {
        return ql_fail(p, "Expected AND keyword") != NULL;
    }
    if (p->token.kind == QL_TOKEN_END) {
        return ql_fail(p, "Expected expression after AND") != NULL;
    }
    struct ql_node *high = ql_parse_expression(p, BINDS_ORDER);
    if (high == NULL) {
        return false;
    }
    ql_add(node, high);
    return true;
}

static struct ql_node *parse_infix(struct ql_parser *p, struct ql_node *left, struct infix infix)
{
    struct ql_node *node = operator_node(p, infix.kind, p->token);
    node->negated = infix.negated;
    if (infix.negated) {
        ql_advance(p);
    }
    ql_advance(p);
    struct ql_node *right = parse_infix_right(p, node, infix.binds);
    if (right == NULL) {
        return NULL;
    }
    ql_add(node, left);
    ql_add(node, right);
    return node->kind != QL_BETWEEN || parse_upper_bound(p, node) ? node : NULL;
}

struct ql_node *ql_parse_expression(struct ql_parser *p, int binds)
{
    struct ql_node *left = parse_unary(p);
    while (left != NULL) {
        struct infix infix = infix_at(p);
        if (infix.binds == 0 || infix.binds <= binds) {
            break;
        }
        left = parse_infix(p, left, infix);
    }
    return left;
}

/* --- the whole --- */

static bool parse_end(struct ql_parser *p)
{
    bool semicolon = ql_take(p, QL_TOKEN_SEMICOLON);
    if (p->token.kind == QL_TOKEN_END) {
        return true;
    }
    return ql_fail(p, "%s",
                   semicolon ? "Unexpected token after semicolon. (Only one query is allowed.)"
                             : "Unexpected token after expression") != NULL;
}

/* The service splits the whole text into tokens before it parses: a malformed one is reported
 * first. */
static bool check_tokens(struct ql_parser *p)
{
    struct ql_token first = p->token;
    while (p->token.kind != QL_TOKEN_END && p->token.kind != QL_TOKEN_BAD) {
        ql_advance(p);
    }
    bool good = p->token.kind == QL_TOKEN_END;
    p->token = first;
    return good || ql_fail(p, "%s", "") != NULL;
}

/* Whether a statement can start with the token. */
static bool may_be_verb(struct ql_token token)
{
    switch (token.word) {
    case QL_WORD_select:
    case QL_WORD_insert:
    case QL_WORD_update:
    case QL_WORD_delete:
    case QL_WORD_from:
    case QL_WORD_exists:
        return true;
    default:
        return token.kind != QL_TOKEN_NAME && token.kind != QL_TOKEN_WORD;
    }
}

bool ql_parse(struct arena *arena, struct str text, struct ql_tree *out, struct err *err)
{
    *out = (struct ql_tree){.text = text};
    struct ql_parser p = {.arena = arena, .text = text, .tree = out, .err = err};
    p.token = ql_token_at(text, 0);
    if (!check_tokens(&p)) {
        return false;
    }
    bool verb = may_be_verb(p.token);
    struct err problem = ERR_INIT(arena);
    p.err = &problem;
    out->root = ql_parse_expression(&p, QL_BINDS_ANY);
    bool parsed = out->root != NULL && parse_end(&p);
    p.err = err;
    if (!verb && (!parsed || out->root->kind == QL_NAME)) { /* not a statement */
        return ql_fail(&p, MESSAGE_NO_STATEMENT) != NULL;
    }
    return parsed || err_set_str(err, problem.code, problem.message);
}
