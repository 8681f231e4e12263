/* Searching and parsing of strings: what is too long to be inline in str.h. Keeps no state, so it
 * may be called on any thread. */
#include "base/str.h"

#ifdef __SSE2__
#include <emmintrin.h>

/* Compares the first and the last byte of the needle at 16 positions at a time, and the bytes
 * between only where both match. Input for which they match everywhere would take s.len *
 * needle.len steps: after many failed comparisons memmem() takes over, which is linear in the worst
 * case but slower for ordinary text. */
static bool contains_long(struct str s, struct str needle)
{
    enum { LANES = 16 };
    size_t position_count = s.len - needle.len + 1;
    /* Bytes of failed comparisons before memmem() takes over. */
    size_t compared_max = 64 + s.len / 4;
    size_t compared = 0;
    size_t at = 0;
    __m128i first = _mm_set1_epi8(needle.data[0]);
    __m128i last = _mm_set1_epi8(needle.data[needle.len - 1]);
    for (; at + LANES <= position_count && compared <= compared_max; at += LANES) {
        const char *heads = s.data + at;
        __m128i is_first = _mm_cmpeq_epi8(first, _mm_loadu_si128((const __m128i *)heads));
        __m128i is_last =
            _mm_cmpeq_epi8(last, _mm_loadu_si128((const __m128i *)(heads + needle.len - 1)));
        unsigned found = (unsigned)_mm_movemask_epi8(_mm_and_si128(is_first, is_last));
        for (; found != 0; found &= found - 1) {
            if (memcmp(heads + __builtin_ctz(found) + 1, needle.data + 1, needle.len - 2) == 0) {
                return true;
            }
            compared += needle.len;
        }
    }
    return memmem(s.data + at, s.len - at, needle.data, needle.len) != NULL;
}
#else
static bool contains_long(struct str s, struct str needle)
{
    return memmem(s.data, s.len, needle.data, needle.len) != NULL;
}
#endif

bool str_contains(struct str s, struct str needle)
{
    if (needle.len < 2) {
        return needle.len == 0 || (s.len > 0 && memchr(s.data, needle.data[0], s.len) != NULL);
    }
    return needle.len <= s.len && contains_long(s, needle);
}

static char lower(char c)
{
    return (char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
}

bool str_eq_nocase(struct str a, struct str b)
{
    if (a.len != b.len) {
        return false;
    }
    for (size_t i = 0; i < a.len; i++) {
        /* Not strncasecmp(), which takes NUL for the end of both. */
        if (a.data[i] != b.data[i] && lower(a.data[i]) != lower(b.data[i])) {
            return false;
        }
    }
    return true;
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

struct str str_trim(struct str s, const char *chars)
{
    size_t count = strlen(chars);
    while (s.len > 0 && memchr(chars, s.data[0], count) != NULL) {
        s = str_skip(s, 1);
    }
    while (s.len > 0 && memchr(chars, s.data[s.len - 1], count) != NULL) {
        s.len--;
    }
    return s;
}
