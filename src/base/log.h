/* base/log.h: lines for the operator, as text or JSON, on standard error or in a file. */
#ifndef GRAMME_BASE_LOG_H
#define GRAMME_BASE_LOG_H

#include "base/str.h"

enum log_level { LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG };
enum log_format { LOG_TEXT, LOG_JSON };

/* Any thread, any time. */
void log_setup(enum log_level level, enum log_format format);
/* Lines go to the end of that file from now on; it is made (0600) if it is not there. Called again
 * with the same path after the file was renamed, it begins a new one. One caller at a time. False,
 * and nothing changes: errno says why. */
MUST_USE bool log_open_file(const char *path);
MUST_USE bool log_level_from_name(struct str name, enum log_level *out);
MUST_USE bool log_enabled(enum log_level level);
/* One line; thread-safe. `module` names the part of the house that speaks. */
void log_write(enum log_level level, const char *module, const char *format, ...) PRINTF_LIKE(3, 4);

/* A named value of a line: in JSON a member of its own, in text name=value. */
struct log_field {
    const char *name;
    struct str value;
};
/* The same with fields; each is cut to 256 bytes. */
enum { LOG_FIELDS_MAX = 6 };
void log_write_fields(enum log_level level, const char *module, const struct log_field *fields,
                      size_t field_count, const char *format, ...) PRINTF_LIKE(5, 6);

#endif
