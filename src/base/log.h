/* base/log.h: log lines for the operator, as text or JSON, to standard error or a file. Any thread
 * may log. */
#ifndef GRAMME_BASE_LOG_H
#define GRAMME_BASE_LOG_H

#include "base/str.h"

enum log_level { LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG };
enum log_format { LOG_TEXT, LOG_JSON };

/* Sets the least severe level that is logged, and the format. Any thread, at any time. */
void log_setup(enum log_level level, enum log_format format);
/* Appends later lines to the file at `path`, which is created with mode 0600 if it does not exist.
 * Call it again with the same path after the file was renamed (log rotation). One caller at a time.
 * False: errno is set, and lines go where they went before. */
MUST_USE bool log_open_file(const char *path);
/* Finds a level by its name ("warn"). False if there is none. */
MUST_USE bool log_level_from_name(struct str name, enum log_level *out);
/* Returns whether lines of that level are logged: for callers that would compute an argument. */
MUST_USE bool log_enabled(enum log_level level);
/* Writes one line. `module` names the part of the program: "store", "http". */
void log_write(enum log_level level, const char *module, const char *format, ...) PRINTF_LIKE(3, 4);

/* A named value of a line: a member in JSON, name=value in text. */
struct log_field {
    const char *name;
    struct str value;
};
enum { LOG_FIELDS_MAX = 6 };

/* As log_write() with fields; the value of each is cut to 256 bytes. */
void log_write_fields(enum log_level level, const char *module, const struct log_field *fields,
                      size_t field_count, const char *format, ...) PRINTF_LIKE(5, 6);

#endif
