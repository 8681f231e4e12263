/* Writes log lines. Each line is one write() call, so lines of different threads do not mix. No
 * locks. */
#include "base/log.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

static atomic_int current_level = LOG_INFO;
static atomic_int current_format = LOG_TEXT;
/* The descriptor stays the same when the file is replaced. */
static atomic_int log_fd = STDERR_FILENO;
static const char *const level_names[] = {"error", "warn", "info", "debug"};

void log_setup(enum log_level level, enum log_format format)
{
    atomic_store_explicit(&current_level, (int)level, memory_order_relaxed);
    atomic_store_explicit(&current_format, (int)format, memory_order_relaxed);
}

bool log_open_file(const char *path)
{
    int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0) {
        return false;
    }
    int current = atomic_load(&log_fd);
    if (current == STDERR_FILENO) {
        atomic_store(&log_fd, fd);
        return true;
    }
    /* dup3() is atomic: a concurrent write() goes to the old or the new file. */
    bool done = dup3(fd, current, O_CLOEXEC) >= 0;
    close(fd);
    return done;
}

bool log_level_from_name(struct str name, enum log_level *out)
{
    for (size_t i = 0; i < COUNT_OF(level_names); i++) {
        if (str_eq(name, str_from_c(level_names[i]))) {
            *out = (enum log_level)i;
            return true;
        }
    }
    return false;
}

bool log_enabled(enum log_level level)
{
    return (int)level <= atomic_load_explicit(&current_level, memory_order_relaxed);
}

/* Escapes a message for a JSON string. Bytes that are not printable ASCII become \\u00xx. */
static size_t escape(char *out, size_t size, const char *text)
{
    size_t len = 0;
    for (; *text != '\0' && len + 7 < size; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\') {
            out[len++] = '\\';
            out[len++] = (char)c;
        } else if (c < 0x20 || c == 0x7F) {
            len += (size_t)snprintf(out + len, size - len, "\\u%04x", c);
        } else {
            out[len++] = (char)c;
        }
    }
    out[len] = '\0';
    return len;
}

/* A message may hold text of a client or another server, which must not look like a line of its own
 * or control a terminal. */
static void replace_control_characters(char *text)
{
    for (; *text != '\0'; text++) {
        unsigned char c = (unsigned char)*text;
        *text = c < 0x20 || c == 0x7F ? ' ' : *text;
    }
}

/* Appends the fields to the message: `"name":"value",` or ` name=value`. */
static void format_fields(char *out, size_t size, const struct log_field *fields, size_t count)
{
    enum { VALUE_MAX = 256 };
    size_t len = 0;
    out[0] = '\0';
    for (size_t i = 0; i < MIN(count, (size_t)LOG_FIELDS_MAX); i++) {
        char value[VALUE_MAX + 1];
        char escaped[VALUE_MAX + 1];
        snprintf(value, sizeof(value), "%.*s", (int)MIN(fields[i].value.len, (size_t)VALUE_MAX),
                 fields[i].value.data == NULL ? "" : fields[i].value.data);
        escape(escaped, sizeof(escaped), value);
        int added = snprintf(out + len, size - len,
                             current_format == LOG_JSON ? "\"%s\":\"%s\"," : " %s=%s",
                             fields[i].name, escaped);
        len += (size_t)added < size - len ? (size_t)added : 0;
        out[len] = '\0';
    }
}

enum { TIME_SIZE = 40 };

/* 2026-11-19T15:29:30.123Z */
static void format_time(int64_t ms, char out[TIME_SIZE])
{
    time_t seconds = (time_t)(ms / 1000);
    struct tm utc;
    gmtime_r(&seconds, &utc);
    size_t len = strftime(out, TIME_SIZE, "%Y-%m-%dT%H:%M:%S", &utc);
    snprintf(out + len, TIME_SIZE - len, ".%03dZ", (int)(ms % 1000));
}

static void write_line(enum log_level level, const char *module, const struct log_field *fields,
                       size_t field_count, const char *format, va_list args)
{
    char message[1024];
    vsnprintf(message, sizeof(message), format, args);

    char time[TIME_SIZE];
    format_time(clock_wall_ms(), time);
    char more[LOG_FIELDS_MAX * 320];
    format_fields(more, sizeof(more), fields, field_count);
    char line[2560 + sizeof(more)];
    int len;
    if (atomic_load_explicit(&current_format, memory_order_relaxed) == LOG_JSON) {
        char escaped[2048];
        escape(escaped, sizeof(escaped), message);
        len =
            snprintf(line, sizeof(line),
                     "{\"time\":\"%s\",\"level\":\"%s\",\"module\":\"%s\",%s\"message\":\"%s\"}\n",
                     time, level_names[level], module, more, escaped);
    } else {
        replace_control_characters(message);
        len = snprintf(line, sizeof(line), "%s %-5s %s: %s%s\n", time, level_names[level], module,
                       message, more);
    }
    /* One write per line keeps lines of different threads apart. */
    ssize_t written = write(atomic_load_explicit(&log_fd, memory_order_relaxed), line,
                            MIN((size_t)len, sizeof(line) - 1));
    (void)written; /* a failed log write cannot be reported */
}

void log_write(enum log_level level, const char *module, const char *format, ...)
{
    if (log_enabled(level)) {
        va_list args;
        va_start(args, format);
        write_line(level, module, NULL, 0, format, args);
        va_end(args);
    }
}

void log_write_fields(enum log_level level, const char *module, const struct log_field *fields,
                      size_t field_count, const char *format, ...)
{
    if (log_enabled(level)) {
        va_list args;
        va_start(args, format);
        write_line(level, module, fields, field_count, format, args);
        va_end(args);
    }
}
