/* auth/decimal.h: decimal numbers of any length, compared exactly. Values of conditions may be
 * numbers of items, which have up to 38 digits and are below 10^126: doubles would make some equal
 * that are not, and a text that cannot be parsed would evade a Deny. */
#ifndef GRAMME_AUTH_DECIMAL_H
#define GRAMME_AUTH_DECIMAL_H

#include "base/str.h"

struct decimal {
    bool is_negative;
    bool is_zero;
    struct str digits; /* from the first digit that is not 0; may contain a point */
    int64_t magnitude; /* the number is 0.DIGITS times ten to this power */
};

/* Parses [+-] digits [. digits] [(e|E) [+-] digits], with at least one digit before the exponent.
 * *out borrows `text`. Returns false if the text is something else. */
MUST_USE bool decimal_parse(struct str text, struct decimal *out);
/* Returns a number less than, equal to, or greater than 0, as `left` compares with `right`. */
MUST_USE int decimal_compare(const struct decimal *left, const struct decimal *right);
/* Returns the nearest double, or almost: digits behind the 30th are ignored. */
MUST_USE double decimal_to_double(const struct decimal *decimal);

#endif
