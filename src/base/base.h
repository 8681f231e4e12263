/* base/base.h: macros that every file may use. */
#ifndef GRAMME_BASE_BASE_H
#define GRAMME_BASE_BASE_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define MUST_USE                    __attribute__((warn_unused_result))
#define PRINTF_LIKE(format_, args_) __attribute__((format(printf, format_, args_)))
#define LIKELY(x)                   __builtin_expect(!!(x), 1)
#define UNLIKELY(x)                 __builtin_expect(!!(x), 0)

#define COUNT_OF(array)                 (sizeof(array) / sizeof((array)[0]))
#define CONTAINER_OF(ptr, type, member) ((type *)((char *)(ptr)-offsetof(type, member)))
#define MIN(a, b)                       ((a) < (b) ? (a) : (b))
#define MAX(a, b)                       ((a) > (b) ? (a) : (b))

#endif
