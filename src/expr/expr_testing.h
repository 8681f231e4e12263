/* expr/expr_testing.h: values as short text, for the rows of unit tests.
 *
 *   "text"  b"bytes"  12.5  true  false  null     scalars; in quotes, " and \ are escaped by \
 *   <"a", "b">  <1, 2>  <b"x">                    sets
 *   [1, "a"]  {a: 1, "odd name": 2, :v: 3}        lists and maps */
#ifndef GRAMME_EXPR_EXPR_TESTING_H
#define GRAMME_EXPR_EXPR_TESTING_H

#include "base/buf.h"
#include "expr/expr.h"

/* Makes the value that the text describes, in `arena`. Aborts if the text is malformed. */
struct value testing_value(struct arena *arena, const char *text);
/* Returns the text of a value; "absent" for VALUE_ABSENT. */
struct str testing_text(struct arena *arena, struct value value);

/* Returns a key condition as text: "hash = equal... >= low < high". */
struct str testing_key_condition(struct arena *arena, const struct key_condition *c,
                                 size_t hash_count);

/* Makes ExpressionAttributeValues of the text of a map. NULL: not given. */
struct expr_values testing_values(struct arena *arena, const char *text);
/* Makes ExpressionAttributeNames of the text of a map of strings. NULL: not given. */
struct expr_names testing_names(struct arena *arena, const char *text);

/* Makes a scope of both. Aborts if it is not valid. */
struct expr_scope testing_scope(struct arena *arena, struct expr_cache *cache, const char *names,
                                const char *values);

#endif
