/* model/number.h: DynamoDB's numbers: 38 significant digits, magnitude 1E-130 to 9.99...E+125.
 *
 * A number has one form everywhere, in memory, in rows and in keys: bytes whose memcmp order is
 * the numeric order, and of which each value has exactly one. So equality is byte equality.
 *
 *   zero      02
 *   positive  03 (e + 129)         (pair + 1) ...
 *   negative  01 ~(e + 129)       ~(pair + 1) ... FF
 *
 * The value is 0.d1d2d3... * 10^e with d1 not 0; a pair is two decimal digits (0 to 99), the last
 * one filled with 0; trailing zero pairs are left out. e runs from -129 to 126: just one byte. */
#ifndef GRAMME_MODEL_NUMBER_H
#define GRAMME_MODEL_NUMBER_H

#include "base/str.h"

#define NUMBER_BYTES_MAX  22
#define NUMBER_DIGITS_MAX 38
/* "-0." and 129 zeroes and 38 digits. */
#define NUMBER_TEXT_MAX 170

struct number {
    uint8_t len;
    uint8_t bytes[NUMBER_BYTES_MAX];
};

enum number_status {
    NUMBER_OK,
    NUMBER_BAD_TEXT,  /* not a number */
    NUMBER_OVERFLOW,  /* over 9.99...E+125 either way */
    NUMBER_UNDERFLOW, /* not zero, yet nearer to it than 1E-130 */
    NUMBER_PRECISION, /* more than 38 significant digits */
};

/* The service's text for a status other than NUMBER_OK and NUMBER_BAD_TEXT. */
const char *number_status_text(enum number_status status);

/* Decimal text, optional sign, dot and exponent; no white space. */
MUST_USE enum number_status number_parse(struct str text, struct number *out);
void number_from_int64(int64_t value, struct number *out);

static inline struct str number_str(const struct number *number)
{
    return str_make(number->bytes, number->len);
}

/* The functions below take a number's bytes, as number_str() gives them and rows hold them. */

/* Whether the bytes are ones that number_parse() makes: for what comes from outside. */
MUST_USE bool number_is_valid(struct str bytes);
/* Plain decimal text without exponent; returns its length, at most NUMBER_TEXT_MAX. */
size_t number_format(struct str bytes, char out[NUMBER_TEXT_MAX]);
/* Bytes that the number counts for in the size of an item. */
size_t number_size(struct str bytes);
/* Exact sum or difference, or why there is none. */
MUST_USE enum number_status number_add(struct str a, struct str b, struct number *out);
MUST_USE enum number_status number_subtract(struct str a, struct str b, struct number *out);
/* False if the value is not whole or does not fit. */
MUST_USE bool number_to_int64(struct str bytes, int64_t *out);
/* The smallest whole number that is not less; false if it does not fit. */
MUST_USE bool number_ceiling(struct str bytes, int64_t *out);

#endif
