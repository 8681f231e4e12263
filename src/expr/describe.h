/* expr/describe.h: bound expressions as text without their values ("a = ? AND begins_with(b, ?)"),
 * and a fingerprint of that text that needs no memory. Two expressions have the same fingerprint if
 * and only if (but for a collision of 64 bits) their texts are equal. */
#ifndef GRAMME_EXPR_DESCRIBE_H
#define GRAMME_EXPR_DESCRIBE_H

#include "base/buf.h"
#include "expr/expr.h"

/* Where the text goes: into `out`, or, if that is NULL, into `hash` alone. {.out = buf} or {0}. */
struct describer {
    struct buf *out;
    uint64_t hash;
};

/* Values are written as "?", a list of values in IN as "(?, ...)". Names that could be mistaken for
 * something else stand in double quotes. */
void describe_condition(struct describer *to, const struct condition *condition);
/* The terms in the order of the schema: partition key first. */
void describe_key(struct describer *to, const struct key_expression *expression,
                  const struct key_schema *keys);
void describe_projection(struct describer *to, const struct projection *projection);
void describe_update(struct describer *to, const struct update *update);
void describe_path(struct describer *to, const struct expr_path *path);
/* A piece of text of the caller's own, and one name. */
void describe_text(struct describer *to, struct str text);
void describe_name(struct describer *to, struct str name);

#endif
