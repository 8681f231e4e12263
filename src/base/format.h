/* base/format.h: printf for texts that may contain any byte, NUL included: error messages quote
 * what clients sent. */
#ifndef GRAMME_BASE_FORMAT_H
#define GRAMME_BASE_FORMAT_H

#include <stdarg.h>

#include "base/buf.h"

/* Appends a formatted text to `out`. Like vsnprintf(), but "%.*s" copies exactly as many bytes as
 * its precision says. Supports the conversions c, d, f, g, s, u, x with flags and width, and the
 * lengths ll and z; others are a programming error. */
void format_add(struct buf *out, const char *format, va_list args);

#endif
