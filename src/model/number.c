/* Numbers of 38 decimal digits. Parsing and arithmetic use `struct decimal`, whose coefficient fits
 * a 128-bit integer; it is encoded to and decoded from the stored bytes. */
#include "model/number.h"

typedef unsigned __int128 coefficient_t; /* C has no other name for it */

/* coefficient * 10^exponent; the coefficient is 0 or does not end in the digit 0. */
struct decimal {
    bool negative;
    int exponent;
    coefficient_t coefficient;
};

enum { TAG_NEGATIVE = 1, TAG_ZERO = 2, TAG_POSITIVE = 3 };
enum { EXPONENT_BIAS = 129, MAGNITUDE_MAX = 125, MAGNITUDE_MIN = -130 };

const char *number_status_text(enum number_status status)
{
    switch (status) {
    case NUMBER_OVERFLOW:
        return "Number overflow. Attempting to store a number with magnitude larger than supported "
               "range";
    case NUMBER_UNDERFLOW:
        return "Number underflow. Attempting to store a number with magnitude smaller than "
               "supported range";
    case NUMBER_PRECISION:
        return "Attempting to store more than 38 significant digits in a Number";
    case NUMBER_OK:
    case NUMBER_BAD_TEXT:
        break;
    }
    assert(false);
    return "";
}

/* Digits of the coefficient, most significant first; returns how many (0 for zero). */
static int digits_of(coefficient_t coefficient, uint8_t digits[NUMBER_DIGITS_MAX + 1])
{
    uint8_t reversed[NUMBER_DIGITS_MAX + 1];
    int count = 0;
    while (coefficient > UINT64_MAX) {
        reversed[count++] = (uint8_t)(coefficient % 10);
        coefficient /= 10;
    }
    for (uint64_t rest = (uint64_t)coefficient; rest > 0; rest /= 10) {
        reversed[count++] = (uint8_t)(rest % 10);
    }
    for (int i = 0; i < count; i++) {
        digits[i] = reversed[count - 1 - i];
    }
    return count;
}

/* Writes the one form of 0.DIGITS * 10^e. The first and last digit are not 0. */
static void encode(bool negative, int e, const uint8_t *digits, int count, struct number *out)
{
    uint8_t flip = negative ? 0xFF : 0;
    uint8_t *at = out->bytes;
    *at++ = negative ? TAG_NEGATIVE : TAG_POSITIVE;
    *at++ = (uint8_t)(e + EXPONENT_BIAS) ^ flip;
    for (int i = 0; i < count; i += 2) {
        int pair = digits[i] * 10 + (i + 1 < count ? digits[i + 1] : 0);
        *at++ = (uint8_t)(pair + 1) ^ flip;
    }
    if (negative) {
        *at++ = 0xFF;
    }
    out->len = (uint8_t)(at - out->bytes);
}

static void encode_zero(struct number *out)
{
    out->bytes[0] = TAG_ZERO;
    out->len = 1;
}

/* Trims the coefficient and encodes, or says why the value is out of bounds. */
static enum number_status encode_decimal(struct decimal value, struct number *out)
{
    if (value.coefficient == 0) {
        encode_zero(out);
        return NUMBER_OK;
    }
    uint8_t digits[NUMBER_DIGITS_MAX + 1];
    int count = digits_of(value.coefficient, digits);
    int e = value.exponent + count;
    while (digits[count - 1] == 0) {
        count--;
    }
    if (count > NUMBER_DIGITS_MAX) {
        return NUMBER_PRECISION;
    }
    if (e - 1 > MAGNITUDE_MAX) {
        return NUMBER_OVERFLOW;
    }
    if (e - 1 < MAGNITUDE_MIN) {
        return NUMBER_UNDERFLOW;
    }
    encode(value.negative, e, digits, count, out);
    return NUMBER_OK;
}

/* Splits bytes into digits; returns their count, 0 for zero. */
static int decode(struct str bytes, bool *negative, int *e, uint8_t digits[NUMBER_DIGITS_MAX])
{
    const uint8_t *at = (const uint8_t *)bytes.data;
    *negative = at[0] == TAG_NEGATIVE;
    *e = 0;
    if (at[0] == TAG_ZERO) {
        return 0;
    }
    uint8_t flip = *negative ? 0xFF : 0;
    *e = (at[1] ^ flip) - EXPONENT_BIAS;
    size_t pair_count = bytes.len - 2 - (*negative ? 1 : 0);
    int count = 0;
    for (size_t i = 0; i < pair_count; i++) {
        int pair = (at[2 + i] ^ flip) - 1;
        digits[count++] = (uint8_t)(pair / 10);
        digits[count++] = (uint8_t)(pair % 10);
    }
    return digits[count - 1] == 0 ? count - 1 : count;
}

static struct decimal decode_decimal(struct str bytes)
{
    uint8_t digits[NUMBER_DIGITS_MAX];
    struct decimal value = {0};
    int e;
    int count = decode(bytes, &value.negative, &e, digits);
    uint64_t low = 0;
    int i = 0;
    for (; i < count && i < 19; i++) {
        low = low * 10 + digits[i];
    }
    value.coefficient = low;
    for (; i < count; i++) {
        value.coefficient = value.coefficient * 10 + digits[i];
    }
    value.exponent = e - count;
    return value;
}

/* The exponent after "e" or "E": optional sign, digits to the end. Huge ones are capped. */
static bool parse_exponent(struct str text, int *out)
{
    size_t i = text.len > 0 && (text.data[0] == '+' || text.data[0] == '-') ? 1 : 0;
    if (i == text.len) {
        return false;
    }
    int value = 0;
    for (; i < text.len; i++) {
        int digit = text.data[i] - '0';
        if (digit < 0 || digit > 9) {
            return false;
        }
        value = MIN(value * 10 + digit, 1000000);
    }
    *out = text.data[0] == '-' ? -value : value;
    return true;
}

/* number = [ sign ] digits-with-at-most-one-dot [ ( "e" | "E" ) [ sign ] digits ] */
enum number_status number_parse(struct str text, struct number *out)
{
    const char *at = text.data;
    const char *end = text.data + text.len;
    bool negative = at < end && *at == '-';
    if (at < end && (*at == '-' || *at == '+')) {
        at++;
    }
    uint8_t digits[NUMBER_DIGITS_MAX];
    int count = 0;    /* significant digits seen, the trailing zeros included */
    int last = 0;     /* of these, up to the last that is not 0 */
    int fraction = 0; /* digits after the dot */
    bool any = false;
    bool dot = false;
    for (; at < end && *at != 'e' && *at != 'E'; at++) {
        if (*at == '.' && !dot) {
            dot = true;
            continue;
        }
        int digit = *at - '0';
        if (digit < 0 || digit > 9) {
            return NUMBER_BAD_TEXT;
        }
        any = true;
        fraction += dot;
        if (count == 0 && digit == 0) {
            continue;
        }
        if (count < NUMBER_DIGITS_MAX) {
            digits[count] = (uint8_t)digit;
        }
        count++;
        if (digit != 0) {
            last = count;
        }
    }
    int exponent = 0;
    if (!any ||
        (at < end && !parse_exponent(str_make(at + 1, (size_t)(end - at - 1)), &exponent))) {
        return NUMBER_BAD_TEXT;
    }
    /* The power of ten of the first significant digit; a zero counts as one digit. */
    int magnitude = exponent - fraction + MAX(count, 1) - 1;
    if (magnitude > MAGNITUDE_MAX) {
        return NUMBER_OVERFLOW;
    }
    if (magnitude < MAGNITUDE_MIN) {
        return NUMBER_UNDERFLOW;
    }
    if (last > NUMBER_DIGITS_MAX) {
        return NUMBER_PRECISION;
    }
    if (count == 0) {
        encode_zero(out);
    } else {
        encode(negative, magnitude + 1, digits, last, out);
    }
    return NUMBER_OK;
}

void number_from_int64(int64_t value, struct number *out)
{
    struct decimal decimal = {
        .negative = value < 0,
        .coefficient = value < 0 ? 0 - (uint64_t)value : (uint64_t)value,
    };
    enum number_status status = encode_decimal(decimal, out);
    assert(status == NUMBER_OK);
}

bool number_is_valid(struct str bytes)
{
    if (bytes.len == 0 || bytes.len > NUMBER_BYTES_MAX) {
        return false;
    }
    uint8_t tag = (uint8_t)bytes.data[0];
    if (tag == TAG_ZERO) {
        return bytes.len == 1;
    }
    bool negative = tag == TAG_NEGATIVE;
    size_t tail = negative ? 1 : 0;
    if ((!negative && tag != TAG_POSITIVE) || bytes.len < 3 + tail ||
        bytes.len - 2 - tail > NUMBER_DIGITS_MAX / 2) {
        return false;
    }
    if (negative && (uint8_t)bytes.data[bytes.len - 1] != 0xFF) {
        return false;
    }
    for (size_t i = 2; i < bytes.len - tail; i++) {
        int pair = ((uint8_t)bytes.data[i] ^ (negative ? 0xFF : 0)) - 1;
        bool first = i == 2;
        bool final = i + 1 == bytes.len - tail;
        if (pair < (first ? 10 : 0) || pair > 99 || (final && pair == 0)) {
            return false;
        }
    }
    return true;
}

size_t number_format(struct str bytes, char out[NUMBER_TEXT_MAX])
{
    uint8_t digits[NUMBER_DIGITS_MAX];
    bool negative;
    int e;
    int count = decode(bytes, &negative, &e, digits);
    char *at = out;
    if (count == 0) {
        *at++ = '0';
        return 1;
    }
    if (negative) {
        *at++ = '-';
    }
    if (e <= 0) {
        *at++ = '0';
    }
    for (int i = 0; i < e; i++) {
        *at++ = (char)('0' + (i < count ? digits[i] : 0));
    }
    if (count > e) {
        *at++ = '.';
        for (int i = e; i < 0; i++) {
            *at++ = '0';
        }
        for (int i = MAX(e, 0); i < count; i++) {
            *at++ = (char)('0' + digits[i]);
        }
    }
    return (size_t)(at - out);
}

size_t number_size(struct str bytes)
{
    uint8_t digits[NUMBER_DIGITS_MAX];
    bool negative;
    int e;
    int count = decode(bytes, &negative, &e, digits);
    int whole = MAX(0, MIN(count, e));
    int fraction = count - whole;
    return 1 + (size_t)(whole + 1) / 2 + (size_t)(fraction + 1) / 2 + (negative ? 1 : 0);
}

static int digit_count(coefficient_t coefficient)
{
    uint8_t digits[NUMBER_DIGITS_MAX + 1];
    return digits_of(coefficient, digits);
}

/* Brings `high` to the exponent of `low`. Both are trimmed, so if that takes over 39 digits the
 * sum has over 38; at 39 digits only a difference that loses its first digit can be exact, and
 * for that the scaled value is below 2 * 10^38, which fits. */
static bool align(struct decimal *high, const struct decimal *low)
{
    int shift = high->exponent - low->exponent;
    if (digit_count(high->coefficient) + shift > NUMBER_DIGITS_MAX + 1) {
        return false;
    }
    for (; shift > 0; shift--) {
        if (__builtin_mul_overflow(high->coefficient, (coefficient_t)10, &high->coefficient)) {
            return false;
        }
    }
    high->exponent = low->exponent;
    return true;
}

static enum number_status add(struct decimal a, struct decimal b, struct number *out)
{
    if (a.coefficient == 0 || b.coefficient == 0) {
        return encode_decimal(a.coefficient == 0 ? b : a, out);
    }
    bool aligned = a.exponent >= b.exponent ? align(&a, &b) : align(&b, &a);
    if (!aligned) {
        return NUMBER_PRECISION;
    }
    struct decimal sum = {.negative = a.negative, .exponent = a.exponent};
    if (a.negative == b.negative) {
        if (__builtin_add_overflow(a.coefficient, b.coefficient, &sum.coefficient)) {
            return NUMBER_PRECISION;
        }
    } else if (a.coefficient >= b.coefficient) {
        sum.coefficient = a.coefficient - b.coefficient;
    } else {
        sum.negative = b.negative;
        sum.coefficient = b.coefficient - a.coefficient;
    }
    return encode_decimal(sum, out);
}

enum number_status number_add(struct str a, struct str b, struct number *out)
{
    return add(decode_decimal(a), decode_decimal(b), out);
}

enum number_status number_subtract(struct str a, struct str b, struct number *out)
{
    struct decimal negated = decode_decimal(b);
    negated.negative = !negated.negative;
    return add(decode_decimal(a), negated, out);
}

/* False if the value is not whole or does not fit. */
static bool decimal_to_int64(struct decimal value, int64_t *out)
{
    if (value.exponent < 0 || value.exponent > 19) {
        return value.coefficient == 0 ? (*out = 0, true) : false;
    }
    coefficient_t whole = value.coefficient;
    for (int i = 0; i < value.exponent; i++) {
        if (__builtin_mul_overflow(whole, (coefficient_t)10, &whole)) {
            return false;
        }
    }
    if (whole > (coefficient_t)INT64_MAX + (value.negative ? 1 : 0)) {
        return false;
    }
    *out = value.negative ? (int64_t)(0 - (uint64_t)whole) : (int64_t)whole;
    return true;
}

bool number_to_int64(struct str bytes, int64_t *out)
{
    return decimal_to_int64(decode_decimal(bytes), out);
}

bool number_ceiling(struct str bytes, int64_t *out)
{
    struct decimal value = decode_decimal(bytes);
    bool is_cut = false;
    for (; value.exponent < 0 && value.coefficient != 0; value.exponent++) {
        is_cut = is_cut || value.coefficient % 10 != 0;
        value.coefficient /= 10;
    }
    if (!decimal_to_int64(value, out)) {
        return false;
    }
    return !is_cut || value.negative || !__builtin_add_overflow(*out, 1, out);
}
