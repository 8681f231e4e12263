/* base/str.h: text and bytes as pointer and length. A str borrows; it never owns, and it never
 * promises a NUL at the end. */
#ifndef GRAMME_BASE_STR_H
#define GRAMME_BASE_STR_H

#include "base/base.h"

struct str {
    const char *data; /* NULL: no string at all (str_is_null), as opposed to an empty one */
    size_t len;
};

/* A literal as a str, usable in initialisers of automatic variables and as an argument. */
#define STR(literal) ((struct str){.data = (literal), .len = sizeof(literal) - 1})
#define STR_NULL     ((struct str){.data = NULL, .len = 0})
/* For printf's "%.*s". */
#define STR_ARG(s) (int)(s).len, (s).data

static inline struct str str_make(const void *data, size_t len)
{
    return (struct str){.data = (const char *)data, .len = len};
}

static inline struct str str_from_c(const char *text)
{
    return (struct str){.data = text, .len = text == NULL ? 0 : strlen(text)};
}

static inline bool str_is_null(struct str s)
{
    return s.data == NULL;
}

static inline bool str_eq(struct str a, struct str b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.data, b.data, a.len) == 0);
}

/* Byte order; a prefix comes first. Negative, zero or positive as memcmp. */
static inline int str_cmp(struct str a, struct str b)
{
    size_t shared = MIN(a.len, b.len);
    int order = shared == 0 ? 0 : memcmp(a.data, b.data, shared);
    if (order != 0) {
        return order;
    }
    return a.len < b.len ? -1 : a.len > b.len;
}

static inline bool str_starts_with(struct str s, struct str prefix)
{
    return s.len >= prefix.len && (prefix.len == 0 || memcmp(s.data, prefix.data, prefix.len) == 0);
}

/* The rest of `s` after its first `n` bytes; n <= s.len. */
static inline struct str str_skip(struct str s, size_t n)
{
    assert(n <= s.len);
    return str_make(s.data + n, s.len - n);
}

/* Whether `needle` occurs in `s`; the empty one always does. */
bool str_contains(struct str s, struct str needle);

/* ASCII letters compare without case. */
bool str_eq_nocase(struct str a, struct str b);

/* Whole text as a decimal number (optional '-'). False if it is not one or does not fit. */
MUST_USE bool str_to_int64(struct str s, int64_t *out);

#endif
