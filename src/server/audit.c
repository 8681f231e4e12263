/* The audit log. Each line is one write() to a file that is open for appending, so lines of several
 * threads do not mix. Called by route.c on the thread of a request, and by serve.c. */
#include "server/audit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "json/writer.h"

enum { TEXT_BYTES_MAX = 2048 };

struct audit {
    char *path;
    bool everything;
    atomic_int fd;
    atomic_bool has_failed; /* the last line was not written, and the log says so */
};

static int open_file(const char *path)
{
    return open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}

static bool refuse(const char *path, struct err *err)
{
    return err_set(err, ERR_INTERNAL, "cannot open the audit file %s: %s", path, strerror(errno));
}

bool audit_open(struct str path, bool everything, struct audit **out, struct err *err)
{
    struct audit *audit = mem_zalloc(sizeof(*audit));
    audit->path = mem_zalloc(path.len + 1);
    memcpy(audit->path, path.data, path.len);
    audit->everything = everything;
    int fd = open_file(audit->path);
    atomic_init(&audit->fd, fd);
    atomic_init(&audit->has_failed, false);
    if (fd < 0) {
        refuse(audit->path, err);
        audit_close(audit);
        return false;
    }
    *out = audit;
    return true;
}

bool audit_records_all(const struct audit *audit)
{
    return audit != NULL && audit->everything;
}

/* A thread that is writing a line right now must not find its descriptor closed or reused: the new
 * file takes the old one's number. */
bool audit_reopen(struct audit *audit, struct err *err)
{
    int fd = open_file(audit->path);
    if (fd < 0) {
        return refuse(audit->path, err);
    }
    dup3(fd, atomic_load(&audit->fd), O_CLOEXEC);
    close(fd);
    return true;
}

void audit_close(struct audit *audit)
{
    if (audit == NULL) {
        return;
    }
    if (atomic_load(&audit->fd) >= 0) {
        close(atomic_load(&audit->fd));
    }
    mem_free(audit->path);
    mem_free(audit);
}

static void write_time(struct buf *out)
{
    int64_t now_ms = clock_wall_ms();
    time_t seconds = (time_t)(now_ms / 1000);
    struct tm parts;
    char text[32];
    gmtime_r(&seconds, &parts);
    strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &parts);
    buf_format(out, "{\"time\":\"%s.%03dZ\"", text, (int)(now_ms % 1000));
}

/* What a client sent may be anything; JSON must be valid UTF-8. */
static void write_text(struct buf *out, struct str text)
{
    if (utf8_is_valid(text)) {
        json_write_string(out, utf8_prefix(text, TEXT_BYTES_MAX));
    } else {
        JSON_PUT(out, "\"(not text)\"");
    }
}

static void write_member(struct buf *out, const char *name, struct str text)
{
    if (!str_is_null(text)) {
        buf_format(out, ",\"%s\":", name);
        write_text(out, text);
    }
}

static void write_list(struct buf *out, const char *name, const struct resource_list *list)
{
    if (list->count < 2) {
        return;
    }
    buf_format(out, ",\"%s\":[", name);
    for (size_t i = 0; i < list->count; i++) {
        buf_add(out, i == 0 ? STR("") : STR(","));
        write_text(out, list->arns[i]);
    }
    buf_add_char(out, ']');
}

static void write_entry(struct buf *out, const struct audit_entry *entry)
{
    write_time(out);
    write_member(out, "caller", entry->caller);
    write_member(out, "accessKeyId", entry->key_id);
    write_member(out, "sourceIp", entry->source);
    write_member(out, "service", entry->service);
    write_member(out, "operation", entry->operation);
    write_member(out, "resource", entry->resource);
    write_list(out, "resources", &entry->resources);
    write_list(out, "denied", &entry->denied);
    buf_format(out, ",\"status\":%d", entry->status);
    write_member(out, "error", entry->error);
    write_member(out, "reason", entry->reason);
    write_member(out, "wouldBeRefused", entry->warning);
    write_member(out, "requestId", entry->request_id);
    JSON_PUT(out, "}\n");
}

void audit_write(struct audit *audit, const struct audit_entry *entry)
{
    if (audit == NULL || !(audit->everything || entry->is_change || entry->is_refusal ||
                           !str_is_null(entry->warning))) {
        return;
    }
    struct buf line = {0};
    write_entry(&line, entry);
    bool good = write(atomic_load(&audit->fd), line.data, line.len) == (ssize_t)line.len;
    if (!good && !atomic_exchange(&audit->has_failed, true)) {
        log_write(LOG_ERROR, "audit", "cannot write to %s: %s", audit->path, strerror(errno));
    }
    if (good) {
        atomic_store(&audit->has_failed, false);
    }
    buf_finish(&line);
}
