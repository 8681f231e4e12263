/* expr/legacy.h: turns the parameters that were used before there were expressions into the same
 * bound forms. Everything is allocated from the given arena and borrows values and names. */
#ifndef GRAMME_EXPR_LEGACY_H
#define GRAMME_EXPR_LEGACY_H

#include "expr/expr.h"

enum legacy_operator {
    LEGACY_EQ,
    LEGACY_NE,
    LEGACY_IN,
    LEGACY_LE,
    LEGACY_LT,
    LEGACY_GE,
    LEGACY_GT,
    LEGACY_BETWEEN,
    LEGACY_NOT_NULL,
    LEGACY_NULL,
    LEGACY_CONTAINS,
    LEGACY_NOT_CONTAINS,
    LEGACY_BEGINS_WITH,
};

/* One entry of Expected, QueryFilter, ScanFilter or KeyConditions. */
struct legacy_condition {
    struct str attribute;
    bool has_op; /* always set except in Expected */
    enum legacy_operator op;
    const struct value *values; /* AttributeValueList */
    size_t value_count;
    bool has_values;
    /* The older form, in Expected only. */
    struct value value;
    bool has_exists;
    bool exists;
};

/* ConditionalOperator. */
enum legacy_join { LEGACY_JOIN_NONE, LEGACY_JOIN_AND, LEGACY_JOIN_OR };

/* Makes a condition of all entries of one of the maps, joined by `join`. Call it with no entries,
 * too: a ConditionalOperator without entries is an error; *out is then NULL. `expected`: entries
 * may have the older form. */
MUST_USE bool legacy_conditions(struct arena *arena, const struct legacy_condition *conditions,
                                size_t count, enum legacy_join join, bool expected,
                                const struct condition **out, struct err *err);

/* Makes a key expression of KeyConditions. */
MUST_USE bool legacy_key_conditions(struct arena *arena, const struct legacy_condition *conditions,
                                    size_t count, const struct key_expression **out,
                                    struct err *err);

enum legacy_action { LEGACY_PUT, LEGACY_DELETE, LEGACY_ADD };

/* One entry of AttributeUpdates; the value may be absent for DELETE. */
struct legacy_update {
    struct str attribute;
    enum legacy_action action;
    struct value value;
};

/* Makes an update of AttributeUpdates. Without entries it is legal and makes an item of the key
 * alone. */
MUST_USE bool legacy_updates(struct arena *arena, const struct legacy_update *updates, size_t count,
                             const struct update **out, struct err *err);

/* Makes a projection of AttributesToGet: top-level names. */
MUST_USE bool legacy_projection(struct arena *arena, const struct str *names, size_t count,
                                const struct projection **out, struct err *err);

#endif
