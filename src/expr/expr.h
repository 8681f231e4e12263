/* expr/expr.h: condition, filter, key, projection and update expressions.
 *
 * An expression is parsed to a tree (cached by text, per thread), bound to the names and values of
 * a request (checking for undefined placeholders, operand types, overlapping paths), and then
 * applied to items any number of times. Bound expressions are allocated from the request's arena
 * and are immutable; any thread may apply them, one at a time. They borrow the text, names and
 * values that they were made from, and nothing from the cache.
 *
 * The legacy parameters (Expected, QueryFilter, ScanFilter, KeyConditions, AttributeUpdates,
 * AttributesToGet) are turned into the same bound forms; see expr/legacy.h.
 *
 * All failures here are ERR_VALIDATION with the service's message. PutItem, UpdateItem and
 * DeleteItem put "1 validation error detected: " in front of those from expr_scope_init(),
 * expr_scope_check_used(), expr_condition(), expr_update() and the functions of expr/legacy.h, but
 * not in front of those from update_apply(). */
#ifndef GRAMME_EXPR_EXPR_H
#define GRAMME_EXPR_EXPR_H

#include "err/err.h"
#include "model/builder.h"
#include "model/table.h"
#include "model/value.h"

/* A cache of parsed expressions, one per thread. */
struct expr_cache;
/* Creates a cache; the caller frees it with expr_cache_destroy(). */
MUST_USE struct expr_cache *expr_cache_create(size_t entries_max);
/* Frees a cache. Accepts NULL. */
void expr_cache_destroy(struct expr_cache *cache);

/* ExpressionAttributeNames. `given` with `count` 0: an empty map was sent, which is an error. Names
 * include their first character: "#n", ":v". */
struct expr_names {
    bool given;
    size_t count;
    const struct str *names;
    const struct str *targets;
};

struct expr_values {
    bool given;
    size_t count;
    const struct str *names;
    const struct value *values;
};

/* The placeholders of one request, and which of them its expressions have used. */
struct expr_scope {
    struct arena *arena;
    struct expr_cache *cache; /* NULL: always parses */
    struct expr_names names;
    struct expr_values values;
    bool *name_used; /* allocated by expr_scope_init() */
    bool *value_used;
    uint32_t *name_order; /* indexes by name, for look-up */
    uint32_t *value_order;
    bool names_sizes; /* the message about an expression that is too long contains its size */
};

/* Borrows names and values and checks their form: no empty map, "#" and ":" first, a legal name
 * after it, sizes. Must be called even if neither map was given. */
MUST_USE bool expr_scope_init(struct expr_scope *scope, struct arena *arena,
                              struct expr_cache *cache, const struct expr_names *names,
                              const struct expr_values *values, struct err *err);
/* Checks that each placeholder was used by an expression. Call it after all expressions of the
 * request are bound. */
MUST_USE bool expr_scope_check_used(const struct expr_scope *scope, struct err *err);

/* A document path with its names resolved: a.b[2]. */
struct expr_step {
    struct str name; /* STR_NULL: an index */
    uint32_t index;
};

struct expr_path {
    const struct expr_step *steps; /* the first one is a name */
    size_t step_count;
};

/* Returns the value at a path of an item (an M value or VALUE_ABSENT), or VALUE_ABSENT. */
struct value expr_path_get(const struct expr_path *path, struct value item);

/* --- conditions and filters --- */

struct condition;

/* Parses and binds a condition. `parameter` is "ConditionExpression" or "FilterExpression", for
 * messages. */
MUST_USE bool expr_condition(struct expr_scope *scope, struct str text, const char *parameter,
                             const struct condition **out, struct err *err);
/* Whether the item fulfils the condition. VALUE_ABSENT is an item without attributes. */
MUST_USE bool condition_holds(const struct condition *condition, struct value item);
/* Returns an upper bound of the cost of the condition per byte of the item. The unit is one pass
 * over the attributes, about 0.1 ms for the largest item. The engine uses it to decide what runs on
 * network threads. */
MUST_USE size_t condition_weight(const struct condition *condition);
/* Calls `visit` for each path that the condition mentions. */
void condition_visit_paths(const struct condition *condition,
                           void (*visit)(void *context, const struct expr_path *path),
                           void *context);

/* --- key conditions --- */

enum key_operator {
    KEY_NONE, /* no condition on the sort key */
    KEY_EQ,
    KEY_LT,
    KEY_LE,
    KEY_GT,
    KEY_GE,
    KEY_BETWEEN,
    KEY_BEGINS_WITH,
};

/* One end of an interval of values. */
enum key_bound_kind {
    BOUND_NONE,   /* no bound */
    BOUND_CLOSED, /* the value is inside */
    BOUND_OPEN,   /* the value is outside */
    BOUND_PREFIX, /* upper end: all values that start with the value are inside */
};

struct key_bound {
    enum key_bound_kind kind;
    struct value value;
};

/* Which rows a Query reads: all hash attributes are equal to `hash`; the first `range_equal_count`
 * range attributes are equal to `range_equal`; the next one is between `low` and `high`. */
struct key_condition {
    struct value hash[KEY_ATTRIBUTES_MAX];
    struct value range_equal[KEY_ATTRIBUTES_MAX];
    size_t range_equal_count;
    struct key_bound low;
    struct key_bound high;
};

/* Whether the condition is about the sort key, too. */
static inline bool key_condition_has_range(const struct key_condition *condition)
{
    return condition->range_equal_count > 0 || condition->low.kind != BOUND_NONE ||
           condition->high.kind != BOUND_NONE;
}

/* Checks that values are not longer than keys may be. */
MUST_USE bool key_condition_check_sizes(const struct key_condition *condition, size_t hash_count,
                                        struct err *err);

/* A comparison of one attribute. */
struct key_test {
    struct str attribute;
    enum key_operator op; /* KEY_NONE: an operator that no key can have (KeyConditions only) */
    struct value low;
    struct value high; /* KEY_BETWEEN */
};

/* Comparisons joined by AND, not yet checked against the keys of a table. Parsing and binding do
 * not need the table, and their errors are reported before it is looked up. */
struct key_expression;
/* Makes an expression of comparisons, which are borrowed. */
const struct key_expression *key_expression_make(struct arena *arena, struct key_test *tests,
                                                 size_t count);
/* Parses a KeyConditionExpression. */
MUST_USE bool expr_key_condition(struct expr_scope *scope, struct str text,
                                 const struct key_expression **out, struct err *err);
/* Checks that the expression can be a key condition at all: comparisons of a top-level attribute
 * with a value, joined by AND, one per attribute. The service checks this after it has bound the
 * filter and the projection, and before it looks up the table. */
MUST_USE bool key_expression_check(const struct key_expression *expression, struct err *err);
/* Checks the same, and matches the expression with the keys: missing or unknown attributes, types,
 * empty values, and which range attributes need equality. *out borrows the bound values. */
MUST_USE bool key_expression_resolve(const struct key_expression *expression,
                                     const struct key_schema *keys, struct key_condition *out,
                                     struct err *err);

/* --- projections --- */

struct projection;

/* Parses and binds a projection. */
MUST_USE bool expr_projection(struct expr_scope *scope, struct str text,
                              const struct projection **out, struct err *err);
/* Adds an M value of the projected parts of the item to the builder; it may be empty. */
void projection_apply(const struct projection *projection, struct value item,
                      struct builder *builder);
/* Calls `visit` for each path of the projection. */
void projection_visit_paths(const struct projection *projection,
                            void (*visit)(void *context, const struct expr_path *path),
                            void *context);

/* --- updates --- */

struct update;

/* Parses and binds an update. */
MUST_USE bool expr_update(struct expr_scope *scope, struct str text, const struct update **out,
                          struct err *err);
/* Calls `visit` for each path that the update changes. */
void update_visit_paths(const struct update *update,
                        void (*visit)(void *context, const struct expr_path *path), void *context);
/* Calls `visit` for each path that the update reads: the operands of its right-hand sides. */
void update_visit_operands(const struct update *update,
                           void (*visit)(void *context, const struct expr_path *path),
                           void *context);
/* The result of an update before it is written. Borrows from the update, the old item, the key and
 * the arena. */
struct update_result {
    const struct update *update;
    struct value item;          /* the old item, or only the key */
    const struct value *values; /* per action: the new value at its path, or absent */
    bool has_no_item;           /* there was no item, and the update only removes attributes */
    /* Certainly larger than ITEM_BYTES_MAX; `values` may be incomplete */
    bool too_large;
};

/* Evaluates the actions against the old item (VALUE_ABSENT: none; `key`, an M value, then gives the
 * key attributes). Allocates at most a few times the size of the largest item. Errors: paths that
 * do not exist, wrong types, overflow, nesting. A result without too_large may still be too large:
 * the caller checks the size of the written item. */
MUST_USE bool update_eval(const struct update *update, struct value item, struct value key,
                          struct arena *arena, struct update_result *out, struct err *err);
/* Returns the attribute `name` of the new item; a map or list that the update changes inside is
 * returned as it was before. Not for a result that has_no_item. */
MUST_USE struct value update_result_get(const struct update_result *result, struct str name);
/* Writes the new item to `arena`; VALUE_ABSENT if it has_no_item. Not for a result that is
 * too_large. */
MUST_USE struct value update_write(const struct update_result *result, struct arena *arena);
/* Does both steps; a too_large result fails with MESSAGE_UPDATED_ITEM_SIZE. */
MUST_USE bool update_apply(const struct update *update, struct value item, struct value key,
                           struct arena *arena, struct value *out, struct err *err);
/* Returns the cost of the update, as condition_weight(). */
MUST_USE size_t update_weight(const struct update *update);
/* Returns, for UPDATED_OLD and UPDATED_NEW, the parts of the old or new item (VALUE_ABSENT: none)
 * at the paths of the update, as an M value in `arena`; VALUE_ABSENT if there are none. List
 * indexes are looked up as written: an element that `SET l[100]` appended is not found at index
 * 100, and after `REMOVE l[1]` the element that moved to index 1 is. */
struct value update_touched(const struct update *update, struct value item, struct arena *arena);
/* Returns how many bytes UpdateItem's size limit charges for the actions: an update fails if the
 * new item, or the new item without its key attributes plus 3 plus this, is over 409,600 bytes. */
size_t update_overhead(const struct update *update);

#endif
