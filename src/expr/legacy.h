/* expr/legacy.h: the parameters from before expressions, turned into the same bound forms. What
 * is made lives in the given arena and borrows the values and names. */
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
    bool has_op; /* always, but in Expected */
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

/* All entries of one of the maps, joined; also if there are none, so that a ConditionalOperator
 * without them is refused. *out is then NULL. `expected`: entries may have the older form. */
MUST_USE bool legacy_conditions(struct arena *arena, const struct legacy_condition *conditions,
                                size_t count, enum legacy_join join, bool expected,
                                const struct condition **out, struct err *err);

MUST_USE bool legacy_key_conditions(struct arena *arena, const struct legacy_condition *conditions,
                                    size_t count, const struct key_expression **out,
                                    struct err *err);

enum legacy_action { LEGACY_PUT, LEGACY_DELETE, LEGACY_ADD };

/* One entry of AttributeUpdates; value may be absent for DELETE. */
struct legacy_update {
    struct str attribute;
    enum legacy_action action;
    struct value value;
};

/* No entries at all is a legal update, which makes an item of the key alone. */
MUST_USE bool legacy_updates(struct arena *arena, const struct legacy_update *updates, size_t count,
                             const struct update **out, struct err *err);

/* AttributesToGet: top-level names. */
MUST_USE bool legacy_projection(struct arena *arena, const struct str *names, size_t count,
                                const struct projection **out, struct err *err);

#endif
