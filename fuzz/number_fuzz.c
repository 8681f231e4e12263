/* Fuzzes numbers. Input: two numbers as text, separated by a space. Properties: a parsed number is
 * valid and its text parses to the same number; the order of encoded bytes is the order of numbers
 * (by the sign of the difference); a + b = b + a, and a + b - b = a. */
#include "model/number.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_round_trip(const struct number *number)
{
    char text[NUMBER_TEXT_MAX];
    size_t len = number_format(number_str(number), text);
    assert(len <= NUMBER_TEXT_MAX);
    assert(number_is_valid(number_str(number)));
    assert(number_size(number_str(number)) <= 22);
    struct number again;
    enum number_status status = number_parse(str_make(text, len), &again);
    assert(status == NUMBER_OK);
    assert(str_eq(number_str(number), number_str(&again)));
}

static void check_pair(const struct number *a, const struct number *b)
{
    struct number sum;
    struct number other;
    enum number_status status = number_add(number_str(a), number_str(b), &sum);
    enum number_status swapped = number_add(number_str(b), number_str(a), &other);
    assert(status == swapped);
    if (status == NUMBER_OK) {
        assert(str_eq(number_str(&sum), number_str(&other)));
        check_round_trip(&sum);
        enum number_status back = number_subtract(number_str(&sum), number_str(b), &other);
        assert(back == NUMBER_OK && str_eq(number_str(&other), number_str(a)));
    }
    struct number difference;
    if (number_subtract(number_str(a), number_str(b), &difference) == NUMBER_OK) {
        int order = str_cmp(number_str(a), number_str(b));
        int sign = difference.bytes[0] - 2;
        assert((order < 0) == (sign < 0) && (order > 0) == (sign > 0));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str text = str_make(data, size);
    const char *space = size == 0 ? NULL : memchr(text.data, ' ', text.len);
    size_t len = space == NULL ? size : (size_t)(space - text.data);
    struct number a;
    struct number b;
    bool has_a = number_parse(str_make(text.data, len), &a) == NUMBER_OK;
    bool has_b = space != NULL && number_parse(str_skip(text, len + 1), &b) == NUMBER_OK;
    if (has_a) {
        check_round_trip(&a);
    }
    if (has_a && has_b) {
        check_pair(&a, &b);
    }
    if (number_is_valid(text)) { /* the input itself as an encoded number */
        struct number raw = {.len = (uint8_t)size};
        memcpy(raw.bytes, data, size);
        check_round_trip(&raw);
    }
    return 0;
}
