/* base/str.h: text and bytes as pointer and length. A str borrows its bytes: it never frees them,
 * and no NUL follows them unless a function says so. */
#ifndef GRAMME_BASE_STR_H
#define GRAMME_BASE_STR_H

#include "base/base.h"

struct str {
    const char *data; /* NULL: no string at all (str_is_null), as opposed to an empty one */
    size_t len;
};

/* A string literal as a str. */
#define STR(literal) ((struct str){.data = (literal), .len = sizeof(literal) - 1})
#define STR_NULL     ((struct str){.data = NULL, .len = 0})
/* The arguments of "%.*s". */
#define STR_ARG(s) (int)(s).len, (s).data

/* Makes a str of `len` bytes. */
static inline struct str str_make(const void *data, size_t len)
{
    return (struct str){.data = (const char *)data, .len = len};
}

/* Makes a str of a NUL-terminated text; STR_NULL for NULL. */
static inline struct str str_from_c(const char *text)
{
    return (struct str){.data = text, .len = text == NULL ? 0 : strlen(text)};
}

/* Whether there is no string at all. */
static inline bool str_is_null(struct str s)
{
    return s.data == NULL;
}

/* Whether both have the same bytes. STR_NULL equals the empty string. */
static inline bool str_eq(struct str a, struct str b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.data, b.data, a.len) == 0);
}

/* Compares bytes; a prefix sorts first. Returns a negative number, zero or a positive number, as
 * memcmp(). */
static inline int str_cmp(struct str a, struct str b)
{
    size_t shared = MIN(a.len, b.len);
    int order = shared == 0 ? 0 : memcmp(a.data, b.data, shared);
    if (order != 0) {
        return order;
    }
    return a.len < b.len ? -1 : a.len > b.len;
}

/* Whether `s` starts with `prefix`. */
static inline bool str_starts_with(struct str s, struct str prefix)
{
    return s.len >= prefix.len && (prefix.len == 0 || memcmp(s.data, prefix.data, prefix.len) == 0);
}

/* Returns `s` without its first `n` bytes; n <= s.len. */
static inline struct str str_skip(struct str s, size_t n)
{
    assert(n <= s.len);
    return str_make(s.data + n, s.len - n);
}

/* Whether `needle` occurs in `s`; an empty needle always does. Takes linear time in practice and in
 * the worst case. */
bool str_contains(struct str s, struct str needle);

/* Returns `s` without characters of `chars` at both ends. */
MUST_USE struct str str_trim(struct str s, const char *chars);

/* As str_eq(), with ASCII letters of either case equal. */
bool str_eq_nocase(struct str a, struct str b);

/* Reads the whole text as a decimal number with an optional '-'. False if it is not a number or
 * does not fit. */
MUST_USE bool str_to_int64(struct str s, int64_t *out);

#endif
