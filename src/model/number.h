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
    NUMBER_UNDERFLOW, /* not zero, but its magnitude is below 1E-130 */
    NUMBER_PRECISION, /* more than 38 significant digits */
};

/* Returns DynamoDB's message for a status other than NUMBER_OK and NUMBER_BAD_TEXT. */
const char *number_status_text(enum number_status status);

/* Reads decimal text with optional sign, dot and exponent; no white space. */
MUST_USE enum number_status number_parse(struct str text, struct number *out);
/* Makes a number of an integer. */
void number_from_int64(int64_t value, struct number *out);

/* Returns the number's bytes, which borrow from `number`. */
static inline struct str number_str(const struct number *number)
{
    return str_make(number->bytes, number->len);
}

/* The functions below take the encoded bytes of a number, as number_str() returns them and rows
 * contain them. */

/* Whether bytes of unknown origin are an encoding that number_parse() makes. */
MUST_USE bool number_is_valid(struct str bytes);
/* Writes plain decimal text without exponent. Returns its length, at most NUMBER_TEXT_MAX. */
size_t number_format(struct str bytes, char out[NUMBER_TEXT_MAX]);
/* Returns how many bytes the number counts in the size of an item. */
size_t number_size(struct str bytes);
/* Computes the exact sum, or says why there is none. */
MUST_USE enum number_status number_add(struct str a, struct str b, struct number *out);
/* Computes the exact difference, or says why there is none. */
MUST_USE enum number_status number_subtract(struct str a, struct str b, struct number *out);
/* Converts to an integer. False if the value has a fraction or does not fit. */
MUST_USE bool number_to_int64(struct str bytes, int64_t *out);
/* Rounds up to an integer. False if it does not fit. */
MUST_USE bool number_ceiling(struct str bytes, int64_t *out);

#endif
