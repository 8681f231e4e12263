/* base/format.h: printf for texts that may hold any bytes: what a client sent is quoted in errors,
 * and it may contain NUL. */
#ifndef GRAMME_BASE_FORMAT_H
#define GRAMME_BASE_FORMAT_H

#include <stdarg.h>

#include "base/buf.h"

/* As vsnprintf(), but "%.*s" copies as many bytes as it is told. Takes the conversions c, d, f, s,
 * u, x with flags and width, and the lengths ll and z. */
void format_add(struct buf *out, const char *format, va_list args);

#endif
