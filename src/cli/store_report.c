/* Prints findings about stores. Called on the main thread of `gramme check` and `gramme repair`. */
#include "cli/store_report.h"

#include <stdarg.h>

#include "json/writer.h"
#include "store/store.h"

/* Of a key that is shown in hexadecimal. */
enum { KEY_SHOWN_MAX = 40 };

bool store_report_is_directory(const char *argument, struct err *err)
{
    struct str url = str_from_c(argument);
    if (store_url_is_shared(url)) {
        return err_set(err, ERR_VALIDATION,
                       "this is for a store in a directory; a store on PostgreSQL is backed up and "
                       "repaired with PostgreSQL's tools, such as pg_dump and pg_basebackup");
    }
    return !store_knows_url(url) ||
           err_set(err, ERR_VALIDATION,
                   "give the directory of the store without the prefix of its URL: not '%s'",
                   argument);
}

static const char *severity_name(enum finding_severity severity)
{
    static const char *const names[] = {
        [FINDING_NOTE] = "note", [FINDING_CORRECTED] = "corrected", [FINDING_DAMAGE] = "damage"};
    return names[severity];
}

static void count(struct store_report *report, enum finding_severity severity)
{
    report->damage_count += severity == FINDING_DAMAGE;
    report->corrected_count += severity == FINDING_CORRECTED;
}

static void print_line(struct store_report *report, struct buf *line)
{
    store_report_end_progress(report);
    buf_add_char(line, '\n');
    fwrite(line->data, 1, line->len, stdout);
    buf_finish(line);
}

static void add_key(struct buf *out, struct str key)
{
    for (size_t i = 0; i < MIN(key.len, (size_t)KEY_SHOWN_MAX); i++) {
        buf_format(out, "%02x", (uint8_t)key.data[i]);
    }
    buf_add(out, key.len > KEY_SHOWN_MAX ? STR("...") : STR(""));
}

static void add_space(struct store_report *report, struct buf *out, struct str key)
{
    if (report->describe_space == NULL || key.len < STORE_SPACE_LEN) {
        return;
    }
    struct arena arena;
    arena_init(&arena);
    struct str name = report->describe_space(report->context, store_key_space(key), &arena);
    buf_add(out, STR(" ("));
    buf_add(out, name);
    buf_add(out, STR(")"));
    arena_finish(&arena);
}

/* "rows from KEY (items of table "a") to KEY (...)" */
static void add_range(struct store_report *report, struct buf *out, const struct finding *finding)
{
    buf_add(out, STR("versions of rows from "));
    add_key(out, finding->first);
    add_space(report, out, finding->first);
    buf_add(out, STR(" to "));
    if (str_is_null(finding->last)) {
        buf_add(out, STR("the last"));
    } else {
        add_key(out, finding->last);
        add_space(report, out, finding->last);
    }
}

static void print_file_text(struct store_report *report, const struct finding *finding)
{
    struct buf line = {0};
    buf_format(&line, "%-9s  %s", severity_name(finding->severity), finding->file);
    if (finding->offset >= 0) {
        buf_format(&line, ", offset %lld", (long long)finding->offset);
    }
    if (finding->record > 0) {
        buf_format(&line, ", record %llu", (unsigned long long)finding->record);
    }
    if (finding->record_count > 1) {
        buf_format(&line, " and %llu after it", (unsigned long long)finding->record_count - 1);
    }
    buf_format(&line, ": %s", finding->text);
    if (finding->has_range) {
        buf_add(&line, STR("; lost: "));
        add_range(report, &line, finding);
    }
    print_line(report, &line);
}

static void add_member(struct buf *out, const char *name, struct str value)
{
    buf_format(out, "%s\"%s\":", out->len > 1 ? "," : "", name);
    json_write_string(out, value);
}

static void add_number(struct buf *out, const char *name, uint64_t value)
{
    buf_format(out, ",\"%s\":%llu", name, (unsigned long long)value);
}

static void print_file_json(struct store_report *report, const struct finding *finding)
{
    struct buf line = {0};
    buf_add_char(&line, '{');
    add_member(&line, "severity", str_from_c(severity_name(finding->severity)));
    add_member(&line, "file", str_from_c(finding->file));
    if (finding->offset >= 0) {
        add_number(&line, "offset", (uint64_t)finding->offset);
    }
    if (finding->record > 0) {
        add_number(&line, "record", finding->record);
        add_number(&line, "records", MAX(finding->record_count, (uint64_t)1));
    }
    add_member(&line, "text", str_from_c(finding->text));
    if (finding->has_range) {
        struct buf range = {0};
        add_range(report, &range, finding);
        add_member(&line, "lost", buf_str(&range));
        buf_finish(&range);
    }
    buf_add_char(&line, '}');
    print_line(report, &line);
}

void store_report_file(void *context, const struct finding *finding)
{
    struct store_report *report = context;
    count(report, finding->severity);
    report->lost_range_count += finding->has_range || finding->record_count > 0;
    if (report->is_json) {
        print_file_json(report, finding);
    } else {
        print_file_text(report, finding);
    }
}

void store_report_change(struct store_report *report, const char *kind, struct str table,
                         const char *text)
{
    struct buf line = {0};
    if (report->is_json) {
        buf_add_char(&line, '{');
        add_member(&line, "severity", str_from_c(kind));
        add_member(&line, "table", table);
        add_member(&line, "text", str_from_c(text));
        buf_add_char(&line, '}');
    } else if (table.len > 0) {
        buf_format(&line, "%-9s  table \"%.*s\": %s", kind, STR_ARG(table), text);
    } else {
        buf_format(&line, "%-9s  %s", kind, text);
    }
    print_line(report, &line);
}

void store_report_rows(void *context, const struct verify_finding *finding)
{
    struct store_report *report = context;
    enum finding_severity severity = finding->is_harmless ? FINDING_NOTE : FINDING_DAMAGE;
    count(report, severity);
    store_report_change(report, severity_name(severity), finding->table, finding->text);
}

void store_report_line(struct store_report *report, const char *format, ...)
{
    store_report_end_progress(report);
    if (report->is_json) {
        return;
    }
    va_list args;
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    putchar('\n');
}

void store_report_progress(struct store_report *report, const char *verb, uint64_t done_bytes,
                           uint64_t total_bytes)
{
    progress_show(&report->progress,
                  total_bytes > 0 ? (double)done_bytes / (double)total_bytes : PROGRESS_UNKNOWN,
                  "%s %llu of %llu MiB", verb, (unsigned long long)(done_bytes >> 20),
                  (unsigned long long)(total_bytes >> 20));
}

void store_report_end_progress(struct store_report *report)
{
    progress_end(&report->progress);
}
