#include "base/str.h"

#include <strings.h>

bool str_contains(struct str s, struct str needle)
{
    return needle.len == 0 || memmem(s.data, s.len, needle.data, needle.len) != NULL;
}

bool str_eq_nocase(struct str a, struct str b)
{
    return a.len == b.len && (a.len == 0 || strncasecmp(a.data, b.data, a.len) == 0);
}

bool str_to_int64(struct str s, int64_t *out)
{
    bool negative = s.len > 0 && s.data[0] == '-';
    size_t i = negative ? 1 : 0;
    if (i == s.len) {
        return false;
    }
    int64_t value = 0;
    for (; i < s.len; i++) {
        int digit = s.data[i] - '0';
        if (digit < 0 || digit > 9 || __builtin_mul_overflow(value, 10, &value) ||
            __builtin_sub_overflow(value, digit, &value)) {
            return false; /* counted downwards, so that INT64_MIN fits */
        }
    }
    if (!negative && value == INT64_MIN) {
        return false;
    }
    *out = negative ? value : -value;
    return true;
}
