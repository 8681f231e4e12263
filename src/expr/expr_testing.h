/* expr/expr_testing.h: values as short text, for the tables of the tests.
 *
 *   "text"  b"bytes"  12.5  true  false  null     scalars; in quotes, \ goes before " and \
 *   <"a", "b">  <1, 2>  <b"x">                    sets
 *   [1, "a"]  {a: 1, "odd name": 2, :v: 3}        lists and maps */
#ifndef GRAMME_EXPR_EXPR_TESTING_H
#define GRAMME_EXPR_EXPR_TESTING_H

#include "base/buf.h"
#include "expr/expr.h"

/* The value that the text describes, in `arena`. Aborts if it does not describe one. */
struct value testing_value(struct arena *arena, const char *text);
/* The text of a value; "absent" for VALUE_ABSENT. */
struct str testing_text(struct arena *arena, struct value value);

/* A map's entries as ExpressionAttributeValues, and strings as ExpressionAttributeNames. NULL:
 * not given. */
/* Key condition to text: "hash = equal... >= low < high". */
struct str testing_key_condition(struct arena *arena, const struct key_condition *c,
                                 size_t hash_count);

struct expr_values testing_values(struct arena *arena, const char *text);
struct expr_names testing_names(struct arena *arena, const char *text);

/* A scope made of the two; aborts if it is refused. */
struct expr_scope testing_scope(struct arena *arena, struct expr_cache *cache, const char *names,
                                const char *values);

#endif
