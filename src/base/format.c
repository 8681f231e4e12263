/* Formats texts for arena_format(), buf_format() and err_set(). Passes each conversion to
 * snprintf() except "%.*s", which it copies itself because the text may contain NUL. */
#include "base/format.h"

#include <stdio.h>

/* One conversion: its text, and what decides the type of its argument. */
struct conversion {
    char spec[16];
    char length; /* 'l' for ll, 'z', or 0 */
    char type;
    bool counted; /* ".*" */
};

/* Reads what follows a percent sign. Returns the position after it. */
static const char *read_conversion(const char *at, struct conversion *out)
{
    size_t len = 0;
    *out = (struct conversion){0};
    out->spec[len++] = '%';
    for (; *at != '\0' && len + 1 < sizeof(out->spec); at++) {
        out->spec[len++] = *at;
        out->counted = out->counted || *at == '*';
        if (*at == 'l' || *at == 'z') {
            out->length = *at;
        } else if ((*at >= 'a' && *at <= 'z') || *at == '%') {
            out->type = *at;
            return at + 1;
        }
    }
    assert(false);
    return at;
}

/* Formats one argument with snprintf(). */
#define ADD_PRINTED(out_, spec_, argument_)                                                        \
    do {                                                                                           \
        __typeof__(argument_) argument__ = (argument_);                                            \
        int len__ = snprintf(NULL, 0, (spec_), argument__);                                        \
        assert(len__ >= 0);                                                                        \
        snprintf(buf_reserve((out_), (size_t)len__ + 1), (size_t)len__ + 1, (spec_), argument__);  \
        buf_added((out_), (size_t)len__);                                                          \
    } while (0)

static void add_number(struct buf *out, const struct conversion *c, va_list *args)
{
    if (c->type == 'f' || c->type == 'g') {
        ADD_PRINTED(out, c->spec, va_arg(*args, double));
    } else if (c->length == 'l') {
        ADD_PRINTED(out, c->spec, va_arg(*args, long long));
    } else if (c->length == 'z') {
        ADD_PRINTED(out, c->spec, va_arg(*args, size_t));
    } else {
        ADD_PRINTED(out, c->spec, va_arg(*args, int));
    }
}

static void add_text(struct buf *out, const struct conversion *c, va_list *args)
{
    if (c->counted) {
        int len = va_arg(*args, int);
        buf_add(out, str_make(va_arg(*args, const char *), (size_t)len));
        return;
    }
    if (strcmp(c->spec, "%s") == 0) {
        buf_add(out, str_from_c(va_arg(*args, const char *)));
    } else { /* padded */
        ADD_PRINTED(out, c->spec, va_arg(*args, const char *));
    }
}

void format_add(struct buf *out, const char *format, va_list args)
{
    va_list left;
    va_copy(left, args);
    while (*format != '\0') {
        size_t plain = strcspn(format, "%");
        buf_add(out, str_make(format, plain));
        format += plain;
        if (*format == '\0') {
            break;
        }
        struct conversion conversion;
        format = read_conversion(format + 1, &conversion);
        assert(!conversion.counted || strcmp(conversion.spec, "%.*s") == 0);
        if (conversion.type == '%') {
            buf_add_char(out, '%');
        } else if (conversion.type == 's') {
            add_text(out, &conversion, &left);
        } else {
            add_number(out, &conversion, &left);
        }
    }
    va_end(left);
}
