/* \import and \export: items of a table from and to files. JSON lines (plain, or typed as DynamoDB
 * exports them: {"Item": {...}}) and CSV. Main thread. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "archive/record.h"
#include "archive/window.h"
#include "base/mem.h"
#include "base/progress.h"
#include "base/terminal.h"
#include "shell/commands_internal.h"
#include "shell/file_source_internal.h"
#include "shell/results_internal.h"

enum { BATCH_ITEMS = 25, ROUNDS_MAX = 12, FIELDS_MAX = 4096 };

static bool ends_with(const char *path, const char *end)
{
    size_t len = strlen(path);
    size_t end_len = strlen(end);
    return len >= end_len && strcmp(path + len - end_len, end) == 0;
}

/* Finds the format: as given, or by the file's name; typed, which loses nothing, by default. */
static bool choose_format(struct session *session, const struct invocation *invocation,
                          enum format *out)
{
    struct str given = word_at(invocation, 3);
    const char *path = invocation->words.text[2].data;
    if (str_is_null(given)) {
        *out = ends_with(path, ".csv") ? FORMAT_CSV : FORMAT_TYPED;
        return true;
    }
    *out = str_eq(given, STR("csv"))    ? FORMAT_CSV
           : str_eq(given, STR("json")) ? FORMAT_JSON
                                        : FORMAT_TYPED;
    return *out != FORMAT_TYPED || str_eq(given, STR("typed")) ||
           str_eq(given, STR("dynamodb-json")) || fail_usage(session, invocation);
}

/* --- \export --- */

struct export
{
    struct session *session;
    FILE *file;
    enum format format;
    struct target target;
    struct columns columns; /* CSV: known once all items were seen */
    size_t count;
    size_t read_count; /* in this pass */
    struct progress progress;
};

/* What DescribeTable says of the number of items may be old. */
static void show_progress(struct export *out)
{
    int64_t total = gramme_get_int(out->target.description, "ItemCount", 0);
    progress_show(&out->progress,
                  total > 0 ? (double)out->read_count / (double)total : PROGRESS_UNKNOWN,
                  "%zu items", out->read_count);
}

/* The parameters of the first Scan of an export. */
static struct gramme_value *scan_parameters(const struct export *out)
{
    struct gramme_value *parameters = gramme_map_create();
    gramme_set_string(parameters, "ReturnConsumedCapacity", "TOTAL");
    gramme_set_string(parameters, "TableName", out->target.table);
    if (out->target.index != NULL) {
        gramme_set_string(parameters, "IndexName", out->target.index);
    }
    return parameters;
}

/* Reads all items and calls visit with each page. */
static bool scan_all(struct session *session, struct export *out,
                     bool (*visit)(struct export *out, const struct gramme_value *items))
{
    struct gramme_value *parameters = scan_parameters(out);
    bool good = true;
    bool has_more = true;
    out->read_count = 0;
    while (good && has_more) {
        struct gramme_answer *answer;
        good = call(session, session->db, "Scan", parameters, &answer, NULL);
        if (good) {
            const struct gramme_value *next =
                gramme_get(gramme_answer_root(answer), "LastEvaluatedKey");
            gramme_set_value(parameters, "ExclusiveStartKey", next);
            has_more = next != NULL;
            out->read_count += gramme_value_count(gramme_answer_items(answer));
            show_progress(out);
            good = visit(out, gramme_answer_items(answer));
            gramme_answer_destroy(answer);
        }
    }
    gramme_value_destroy(parameters);
    return good;
}

/* CSV: adds the names of new attributes. */
static bool collect_names(struct export *out, const struct gramme_value *items)
{
    struct items list = {.keys = {&out->target.key, &out->target.table_key}};
    struct gramme_value *known = gramme_map_create();
    for (size_t i = 0; i < out->columns.count; i++) {
        gramme_set_null(known, out->columns.names[i]);
    }
    items_add(&list, known);
    for (size_t i = 0; i < gramme_value_count(items); i++) {
        items_add(&list, gramme_value_at(items, i));
    }
    struct columns found;
    columns_collect(&list, &found);
    for (size_t i = 0; i < found.count; i++) {
        found.names[i] = mem_strdup(found.names[i]);
    }
    for (size_t i = 0; i < out->columns.count; i++) {
        mem_free((char *)out->columns.names[i]);
    }
    mem_free(out->columns.names);
    out->columns = found;
    items_finish(&list);
    gramme_value_destroy(known);
    return true;
}

/* A file gets fields as they are, a terminal without control characters. */
static void add_csv_row(struct buf *line, const struct export *out, const struct gramme_value *item)
{
    bool is_safe = out->file == stdout && out->session->is_terminal;
    struct buf field = {0};
    struct buf safe = {0};
    for (size_t c = 0; c < out->columns.count; c++) {
        field.len = 0;
        if (item == NULL) {
            buf_add(&field, str_from_c(out->columns.names[c]));
        } else {
            results_add_plain(&field, gramme_get(item, out->columns.names[c]));
        }
        buf_add(line, c == 0 ? STR("") : STR(","));
        safe.len = 0;
        if (is_safe) {
            terminal_add_text(&safe, buf_str(&field));
        }
        results_add_csv(line, buf_str(is_safe ? &safe : &field));
    }
    buf_add_char(line, '\n');
    buf_finish(&safe);
    buf_finish(&field);
}

static bool write_items(struct export *out, const struct gramme_value *items)
{
    struct buf lines = {0};
    for (size_t i = 0; i < gramme_value_count(items); i++) {
        const struct gramme_value *item = gramme_value_at(items, i);
        if (out->format == FORMAT_CSV) {
            add_csv_row(&lines, out, item);
        } else if (out->format == FORMAT_JSON) {
            results_add_json(&lines, item, GRAMME_PLAIN);
        } else {
            buf_add(&lines, STR("{\"Item\":"));
            results_add_json(&lines, item, GRAMME_TYPED);
            lines.len--; /* the newline */
            buf_add(&lines, STR("}\n"));
        }
        out->count++;
    }
    bool good = lines.len == 0 || fwrite(lines.data, 1, lines.len, out->file) == lines.len;
    buf_finish(&lines);
    return good || fail(out->session, "cannot write: %s", strerror(errno));
}

static bool export_items(struct export *out)
{
    struct session *session = out->session;
    if (out->format != FORMAT_CSV) {
        return scan_all(session, out, write_items);
    }
    if (!scan_all(session, out, collect_names)) { /* a first pass: the header names all columns */
        return false;
    }
    struct buf header = {0};
    add_csv_row(&header, out, NULL);
    bool good = fwrite(header.data, 1, header.len, out->file) == header.len;
    buf_finish(&header);
    return good ? scan_all(session, out, write_items)
                : fail(session, "cannot write: %s", strerror(errno));
}

/* Closes the file of an export, and says how many items it has. */
static bool close_export(struct export *out, const char *path, bool good)
{
    struct session *session = out->session;
    if (fclose(out->file) != 0 && good) {
        good = fail(session, "%s: %s", path, strerror(errno));
    }
    if (good) {
        buf_format(&session->out, "%zu item%s written to %s\n", out->count, PLURAL(out->count),
                   path);
    } else {
        remove(path); /* an incomplete file must not be mistaken for a complete one */
    }
    return good;
}

bool run_export(struct session *session, const struct invocation *invocation)
{
    struct export out = {.session = session};
    if (invocation->words.count < 3 || invocation->words.count > 4) {
        return fail_usage(session, invocation);
    }
    if (!choose_format(session, invocation, &out.format) ||
        !schema_find(session, invocation->arena, &invocation->words, 1, &out.target)) {
        return false;
    }
    const char *path = invocation->words.text[2].data;
    bool is_output = strcmp(path, "-") == 0;
    out.file = is_output ? stdout : fopen(path, "wxe"); /* an existing file is not overwritten */
    if (out.file == NULL) {
        return fail(session, "%s: %s", path, strerror(errno));
    }
    out.progress.is_hidden = is_output && session->is_terminal;
    bool good = export_items(&out);
    progress_end(&out.progress);
    good = is_output ? good : close_export(&out, path, good);
    for (size_t i = 0; i < out.columns.count; i++) {
        mem_free((char *)out.columns.names[i]);
    }
    mem_free(out.columns.names);
    return good;
}

/* --- \import --- */

struct import {
    struct session *session;
    struct target target;
    enum format format;
    size_t line; /* of the file, from 1 */
    size_t count;
    struct gramme_value *batch; /* list of items */
};

/* The parameters of a BatchWriteItem that writes the batch. */
static struct gramme_value *batch_parameters(const struct import *in)
{
    struct gramme_value *parameters = gramme_map_create();
    gramme_set_string(parameters, "ReturnConsumedCapacity", "TOTAL");
    struct gramme_value *list =
        gramme_set_list(gramme_set_map(parameters, "RequestItems"), in->target.table);
    for (size_t i = 0; i < gramme_value_count(in->batch); i++) {
        struct gramme_value *put = gramme_set_map(gramme_add_map(list), "PutRequest");
        gramme_set_value(put, "Item", gramme_value_at(in->batch, i));
    }
    return parameters;
}

/* Sends the parameters and, after a pause, those of the unprocessed items. */
static bool send_batch(struct session *session, struct gramme_value *parameters)
{
    bool good = true;
    bool has_rest = true;
    for (int round = 0; good && has_rest; round++) {
        struct gramme_answer *answer;
        good = call(session, session->db, "BatchWriteItem", parameters, &answer, NULL);
        if (!good) {
            break;
        }
        const struct gramme_value *rest =
            gramme_get(gramme_answer_root(answer), "UnprocessedItems");
        has_rest = gramme_value_count(rest) > 0;
        gramme_set_value(parameters, "RequestItems", rest);
        gramme_answer_destroy(answer);
        if (has_rest && round == ROUNDS_MAX) {
            good = fail(session, "the server does not keep up");
        } else if (has_rest && wait_readable(-1, MIN(50 << round, 5000)) < 0) {
            session->was_interrupted = true;
            good = fail(session, "interrupted");
        }
    }
    return good;
}

/* Writes the batch and begins the next one. */
static bool write_batch(struct import *in)
{
    size_t count = gramme_value_count(in->batch);
    struct gramme_value *parameters = batch_parameters(in);
    bool good = count == 0 || send_batch(in->session, parameters);
    gramme_value_destroy(parameters);
    gramme_value_destroy(in->batch);
    in->batch = gramme_list_create();
    in->count += good ? count : 0;
    return good;
}

/* Whether the batch holds an item with the same key: one BatchWriteItem must not. */
static bool has_same_key(const struct import *in, const struct gramme_value *item)
{
    for (size_t i = 0; i < gramme_value_count(in->batch); i++) {
        bool is_same = true;
        for (size_t part = 0; part < 2 && in->target.table_key.name[part] != NULL; part++) {
            const char *name = in->target.table_key.name[part];
            is_same = is_same && gramme_value_equal(gramme_get(gramme_value_at(in->batch, i), name),
                                                    gramme_get(item, name));
        }
        if (is_same) {
            return true;
        }
    }
    return false;
}

static bool add_item(struct import *in, const struct gramme_value *item)
{
    if (gramme_value_type(item) != GRAMME_MAP) {
        return fail(in->session, "an item is a JSON object");
    }
    if (has_same_key(in, item) && !write_batch(in)) {
        return false;
    }
    gramme_add_value(in->batch, item);
    return gramme_value_count(in->batch) < BATCH_ITEMS || write_batch(in);
}

/* A line of JSON: {"Item": {typed}} as in exports, typed, or plain. */
static bool import_json(struct import *in, struct str line)
{
    struct gramme_error *error = NULL;
    struct gramme_value *plain = gramme_value_from_json(line.data, line.len, GRAMME_PLAIN, &error);
    if (plain == NULL) {
        return fail_with(in->session, error);
    }
    const struct gramme_value *inner = gramme_get(plain, "Item");
    bool is_wrapped = gramme_value_count(plain) == 1 && gramme_value_type(inner) == GRAMME_MAP;
    struct gramme_value *item = plain;
    if (in->format == FORMAT_TYPED) {
        size_t len;
        char *json = gramme_value_to_json(is_wrapped ? inner : plain, GRAMME_PLAIN, &len);
        item = gramme_value_from_json(json, len, GRAMME_TYPED, &error);
        gramme_free(json);
        gramme_value_destroy(plain);
    }
    bool good = item != NULL ? add_item(in, item) : fail_with(in->session, error);
    gramme_value_destroy(item);
    return good;
}

/* --- CSV --- */

enum csv_result {
    CSV_RECORD,
    CSV_CUT, /* the text ends within the record, or where it may continue */
    CSV_WIDE /* too many fields */
};

/* Reads the field at *at, without its quotes, into `out`, which has room for the rest of the text.
 * Moves *at behind it and returns its length. */
static size_t read_field(struct str text, size_t *at, char *out, bool *out_is_open)
{
    size_t i = *at;
    size_t len = 0;
    bool is_quoted = i < text.len && text.data[i] == '"';
    i += is_quoted;
    while (i < text.len && (is_quoted || memchr(",\r\n", text.data[i], 3) == NULL)) {
        if (is_quoted && text.data[i] == '"') {
            i++;
            is_quoted = i < text.len && text.data[i] == '"';
            if (!is_quoted) {
                continue;
            }
        }
        out[len++] = text.data[i++];
    }
    *at = i;
    *out_is_open = is_quoted;
    return len;
}

/* Reads one record at the start of `text`; quoted fields may hold newlines. The last one of a file
 * is CSV_CUT, and complete if no quote is open. *out_len is the length of the record. */
static enum csv_result read_record(struct arena *arena, struct str text, struct str *fields,
                                   size_t *count, size_t *out_len, bool *out_is_open)
{
    size_t i = 0;
    *count = 0;
    for (;;) {
        size_t size = text.len - i + 1; /* what is not needed is given back */
        char *field = arena_bytes(arena, size);
        size_t len = read_field(text, &i, field, out_is_open);
        field[len] = '\0';
        arena_trim(arena, field, size, len + 1);
        if (*count == FIELDS_MAX) {
            return CSV_WIDE;
        }
        fields[(*count)++] = str_make(field, len);
        if (i == text.len || text.data[i] != ',') {
            break;
        }
        i++;
    }
    bool has_return = i < text.len && text.data[i] == '\r';
    i += has_return;
    bool is_cut = i == text.len;
    i += !is_cut && text.data[i] == '\n';
    *out_len = i;
    return is_cut ? CSV_CUT : CSV_RECORD;
}

/* A file of records, of which a part is in memory. */
struct csv_file {
    struct file_source file;
    struct window window;
    struct arena arena; /* of the fields of one record */
};

/* Reads as much again as there is, because a record that is cut is read from its start again. */
static bool fill_window(struct window *window, struct err *err)
{
    size_t wanted = 2 * window_text(window).len + 1;
    bool good = true;
    while (good && !window->is_end && window_text(window).len < wanted) {
        good = window_fill(window, err);
    }
    return good;
}

/* Takes the next record. False: the failure is recorded. */
static bool take_record(struct import *in, struct csv_file *csv, struct arena *arena,
                        struct str *fields, size_t *count)
{
    for (;;) {
        struct arena_mark mark = arena_mark(arena);
        struct err err = ERR_INIT(&csv->arena);
        size_t len;
        bool is_open;
        enum csv_result result =
            read_record(arena, window_text(&csv->window), fields, count, &len, &is_open);
        if (result == CSV_WIDE) {
            return fail(in->session, "there are too many fields");
        }
        if (result == CSV_RECORD || csv->window.is_end) {
            window_take(&csv->window, len);
            return !is_open || fail(in->session, "a quote is not closed");
        }
        arena_rewind(arena, mark);
        if (!fill_window(&csv->window, &err)) {
            return fail(in->session, "%.*s", STR_ARG(err.message));
        }
    }
}

/* Whether there are more records. */
static bool has_record(struct import *in, struct csv_file *csv, bool *out_good)
{
    struct err err = ERR_INIT(&csv->arena);
    if (window_text(&csv->window).len == 0 && !fill_window(&csv->window, &err)) {
        *out_good = fail(in->session, "%.*s", STR_ARG(err.message));
        return false;
    }
    return window_text(&csv->window).len > 0;
}

/* Whether a text is a number as JSON writes it. */
static bool is_json_number(struct str text)
{
    if (text.len == 0 || (!isdigit((unsigned char)text.data[0]) && text.data[0] != '-')) {
        return false;
    }
    struct gramme_error *error = NULL;
    struct gramme_value *value = gramme_value_from_json(text.data, text.len, GRAMME_PLAIN, &error);
    bool good = gramme_value_type(value) == GRAMME_NUMBER;
    gramme_value_destroy(value);
    gramme_error_destroy(error);
    return good;
}

/* Sets an attribute that is in no key from a field that is not empty. */
static void set_untyped(struct gramme_value *item, const char *name, struct str text)
{
    struct gramme_value *container = NULL;
    if (text.data[0] == '{' || text.data[0] == '[') {
        container = gramme_value_from_json(text.data, text.len, GRAMME_PLAIN, NULL);
    }
    if (container != NULL) {
        gramme_set_value(item, name, container);
    } else if (is_json_number(text)) {
        gramme_set_number(item, name, text.data);
    } else if (str_eq(text, STR("true")) || str_eq(text, STR("false"))) {
        gramme_set_bool(item, name, text.data[0] == 't');
    } else {
        gramme_set_text(item, name, text.data, text.len);
    }
    gramme_value_destroy(container);
}

/* Sets an attribute from a field: keys by their type; others are numbers, JSON containers, true,
 * false, or text. An empty field is no attribute. */
static bool set_field(struct import *in, struct gramme_value *item, const char *name,
                      struct str text)
{
    for (size_t part = 0; part < 2; part++) {
        const char *key = in->target.table_key.name[part];
        if (key != NULL && strcmp(key, name) == 0) {
            return schema_set_typed(in->session, item, name, in->target.table_key.type[part], text);
        }
    }
    if (text.len > 0) {
        set_untyped(item, name, text);
    }
    return true;
}

/* Adds the item of a record. */
static bool add_fields(struct import *in, const struct str *header, size_t column_count,
                       const struct str *fields, size_t count)
{
    if (count != column_count) {
        return (count == 1 && fields[0].len == 0) ||
               fail(in->session, "the record has %zu fields, the header %zu", count, column_count);
    }
    struct gramme_value *item = gramme_map_create();
    bool good = true;
    for (size_t c = 0; good && c < count; c++) {
        good = set_field(in, item, header[c].data, fields[c]);
    }
    good = good && add_item(in, item);
    gramme_value_destroy(item);
    return good;
}

/* Reads records one by one, so that a file may be larger than memory. */
static bool import_csv(struct import *in, FILE *file)
{
    struct arena arena; /* of the header */
    struct csv_file csv = {.file = file_source_make(file)};
    arena_init(&arena);
    arena_init(&csv.arena);
    window_init(&csv.window, &csv.file.source, RECORD_BYTES_MAX);
    struct str *header = ARENA_ARRAY(&arena, struct str, FIELDS_MAX);
    struct str *fields = ARENA_ARRAY(&arena, struct str, FIELDS_MAX);
    size_t column_count;
    size_t count;
    in->line = 1;
    bool good = take_record(in, &csv, &arena, header, &column_count);
    while (good && has_record(in, &csv, &good)) {
        in->line++;
        good = take_record(in, &csv, &csv.arena, fields, &count) &&
               add_fields(in, header, column_count, fields, count);
        arena_reset(&csv.arena);
    }
    window_finish(&csv.window);
    arena_finish(&csv.arena);
    arena_finish(&arena);
    return good;
}

/* Reads lines one by one, so that a file may be larger than memory. */
static bool import_lines(struct import *in, FILE *file)
{
    char *line = NULL;
    size_t capacity = 0;
    ssize_t len;
    bool good = true;
    while (good && (len = getline(&line, &capacity, file)) >= 0) {
        in->line++;
        while (len > 0 && isspace((unsigned char)line[len - 1])) {
            len--;
        }
        good = len == 0 || import_json(in, str_make(line, (size_t)len));
    }
    if (good && ferror(file) != 0) {
        good = fail(in->session, "cannot read: %s", strerror(errno));
    }
    free(line); /* getline()'s */
    return good;
}

/* Asks a person before items may be replaced, that is, if the table has any, or may not be scanned.
 * A script may replace items, as PutItem does. */
static bool confirm_import(struct session *session, const struct import *in)
{
    if (!session->is_interactive || session->assume_yes) {
        return true;
    }
    struct gramme_value *parameters = gramme_map_create();
    struct gramme_answer *answer;
    gramme_set_string(parameters, "TableName", in->target.table);
    gramme_set_string(parameters, "ReturnConsumedCapacity", "TOTAL");
    gramme_set_int(parameters, "Limit", 1);
    bool good = call(session, session->db, "Scan", parameters, &answer, NULL);
    gramme_value_destroy(parameters);
    if (session->was_interrupted) {
        return false;
    }
    bool is_empty = good && gramme_value_count(gramme_answer_items(answer)) == 0;
    gramme_answer_destroy(answer);
    return is_empty ||
           confirm(session, "Replace items of %s that have the same key", in->target.table);
}

/* Says how many items were written, and where the import has failed. */
static void report_import(const struct import *in, const char *path, bool good)
{
    struct session *session = in->session;
    if (!good && in->line > 0) {
        struct buf why = session->message;
        session->message = (struct buf){0};
        fail(session, "%s line %zu: %s; %zu item%s were written", path, in->line, why.data,
             in->count, PLURAL(in->count));
        buf_finish(&why);
    } else if (good) {
        buf_format(&session->out, "%zu item%s written to %s\n", in->count, PLURAL(in->count),
                   in->target.table);
    }
}

bool run_import(struct session *session, const struct invocation *invocation)
{
    struct import in = {.session = session};
    if (invocation->words.count < 3 || invocation->words.count > 4) {
        return fail_usage(session, invocation);
    }
    if (!choose_format(session, invocation, &in.format) ||
        !schema_find(session, invocation->arena, &invocation->words, 1, &in.target)) {
        return false;
    }
    const char *path = invocation->words.text[2].data;
    if (!confirm_import(session, &in)) {
        return false;
    }
    in.batch = gramme_list_create();
    FILE *file = strcmp(path, "-") == 0 ? stdin : fopen(path, "re");
    bool good = file == NULL              ? fail(session, "%s: %s", path, strerror(errno))
                : in.format == FORMAT_CSV ? import_csv(&in, file)
                                          : import_lines(&in, file);
    if (file != NULL && file != stdin) {
        fclose(file);
    }
    good = good && write_batch(&in);
    report_import(&in, path, good);
    gramme_value_destroy(in.batch);
    return good;
}
