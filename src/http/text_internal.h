/* http/text_internal.h: lists in header values. */
#ifndef GRAMME_HTTP_TEXT_INTERNAL_H
#define GRAMME_HTTP_TEXT_INTERNAL_H

#include "base/str.h"

/* Without the spaces and tabs at both ends. */
static inline struct str text_trim(struct str s)
{
    while (s.len > 0 && (s.data[0] == ' ' || s.data[0] == '\t')) {
        s = str_skip(s, 1);
    }
    while (s.len > 0 && (s.data[s.len - 1] == ' ' || s.data[s.len - 1] == '\t')) {
        s.len--;
    }
    return s;
}

/* The first element of the list *rest, trimmed; *rest becomes what follows the separator. */
static inline struct str text_cut(struct str *rest, char separator)
{
    const char *end = memchr(rest->data, separator, rest->len);
    size_t len = end == NULL ? rest->len : (size_t)(end - rest->data);
    struct str element = text_trim(str_make(rest->data, len));
    *rest = str_skip(*rest, MIN(len + 1, rest->len));
    return element;
}

#endif
