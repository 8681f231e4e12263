/* Decimal numbers as texts. A number is never converted to compare it: those of the same sign and
 * magnitude are compared digit by digit. */
#include "auth/decimal.h"

#include <stdio.h>
#include <stdlib.h>

/* Larger exponents are read as this one. It is below INT64_MAX by more than the length of any text,
 * so that the position of the point can be added. */
#define EXPONENT_MAX ((int64_t)1 << 60)

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool take_sign(struct str *text)
{
    bool has_sign = text->len > 0 && (text->data[0] == '-' || text->data[0] == '+');
    bool is_negative = has_sign && text->data[0] == '-';
    *text = str_skip(*text, has_sign);
    return is_negative;
}

/* exponent = (e|E) [+-] digits */
static bool parse_exponent(struct str text, int64_t *out)
{
    if (text.len == 0 || (text.data[0] != 'e' && text.data[0] != 'E')) {
        return false;
    }
    text = str_skip(text, 1);
    bool is_negative = take_sign(&text);
    int64_t value = 0;
    for (size_t i = 0; i < text.len; i++) {
        if (!is_digit(text.data[i])) {
            return false;
        }
        value = value < EXPONENT_MAX / 10 ? value * 10 + (text.data[i] - '0') : EXPONENT_MAX;
    }
    *out = is_negative ? -value : value;
    return text.len > 0;
}

/* The position of each mantissa: where it ends, its point, and its first digit that is not 0. */
struct mantissa {
    size_t end;
    size_t point; /* `end`: it has none */
    size_t first; /* `end`: all digits are 0 */
    size_t digit_count;
};

static struct mantissa scan_mantissa(struct str text)
{
    struct mantissa found = {.point = SIZE_MAX, .first = SIZE_MAX};
    for (; found.end < text.len; found.end++) {
        char c = text.data[found.end];
        if (c == '.' && found.point == SIZE_MAX) {
            found.point = found.end;
            continue;
        }
        if (!is_digit(c)) {
            break;
        }
        found.digit_count++;
        if (c != '0' && found.first == SIZE_MAX) {
            found.first = found.end;
        }
    }
    found.point = MIN(found.point, found.end);
    found.first = MIN(found.first, found.end);
    return found;
}

bool decimal_parse(struct str text, struct decimal *out)
{
    bool is_negative = take_sign(&text);
    struct mantissa mantissa = scan_mantissa(text);
    int64_t exponent = 0;
    if (mantissa.digit_count == 0 ||
        (mantissa.end < text.len && !parse_exponent(str_skip(text, mantissa.end), &exponent))) {
        return false;
    }
    bool is_below_one = mantissa.first > mantissa.point;
    int64_t places = (int64_t)mantissa.point - (int64_t)mantissa.first + is_below_one;
    *out = (struct decimal){
        .is_negative = is_negative,
        .is_zero = mantissa.first == mantissa.end,
        .digits = str_make(text.data + mantissa.first, mantissa.end - mantissa.first),
        .magnitude = exponent + places,
    };
    return true;
}

/* Returns the next digit from *at on, 0 behind the last one. */
static char next_digit(struct str digits, size_t *at)
{
    if (*at < digits.len && digits.data[*at] == '.') {
        ++*at;
    }
    return *at < digits.len ? digits.data[(*at)++] : '0';
}

/* Compares the absolute values of two numbers that are not 0. */
static int compare_sizes(const struct decimal *left, const struct decimal *right)
{
    if (left->magnitude != right->magnitude) {
        return left->magnitude < right->magnitude ? -1 : 1;
    }
    size_t left_at = 0;
    size_t right_at = 0;
    while (left_at < left->digits.len || right_at < right->digits.len) {
        int difference = next_digit(left->digits, &left_at) - next_digit(right->digits, &right_at);
        if (difference != 0) {
            return difference;
        }
    }
    return 0;
}

static int sign_of(const struct decimal *decimal)
{
    return decimal->is_zero ? 0 : decimal->is_negative ? -1 : 1;
}

int decimal_compare(const struct decimal *left, const struct decimal *right)
{
    int sign = sign_of(left);
    if (sign != sign_of(right)) {
        return sign - sign_of(right);
    }
    return sign == 0 ? 0 : sign * compare_sizes(left, right);
}

double decimal_to_double(const struct decimal *decimal)
{
    enum { DIGITS = 30 };
    char text[DIGITS + 32];
    char digits[DIGITS + 1];
    size_t at = 0;
    for (size_t i = 0; i < DIGITS; i++) {
        digits[i] = next_digit(decimal->digits, &at);
    }
    digits[DIGITS] = '\0';
    snprintf(text, sizeof(text), "%s0.%se%lld", decimal->is_negative ? "-" : "", digits,
             (long long)(decimal->is_zero ? 0 : decimal->magnitude));
    return strtod(text, NULL);
}
