/* expr/describe.h: bound expressions as text without their values ("a = ? AND begins_with(b, ?)"),
 * and a fingerprint of that text that needs no memory. Two expressions have the same fingerprint if
 * and only if (but for a collision of 64 bits) their texts are equal. */
#ifndef GRAMME_EXPR_DESCRIBE_H
#define GRAMME_EXPR_DESCRIBE_H

#include "base/buf.h"
#include "expr/expr.h"

/* The destination of the text: `out`; or, if that is NULL, `hash` alone. {.out = buf} or {0}. */
struct describer {
    struct buf *out;
    uint64_t hash;
};

/* Describes a condition. Values are written as "?", a list of values in IN as "(?, ...)". Names
 * that could be mistaken for something else are in double quotes. */
void describe_condition(struct describer *to, const struct condition *condition);
/* Describes a key condition, in the order of the schema: partition key first. */
void describe_key(struct describer *to, const struct key_expression *expression,
                  const struct key_schema *keys);
/* Describes a projection: its paths. */
void describe_projection(struct describer *to, const struct projection *projection);
/* Describes an update: its actions by kind. */
void describe_update(struct describer *to, const struct update *update);
/* Describes a path. */
void describe_path(struct describer *to, const struct expr_path *path);
/* Adds a piece of text. */
void describe_text(struct describer *to, struct str text);
/* Adds a name, in double quotes if it needs them. */
void describe_name(struct describer *to, struct str name);

#endif
