/* `gramme import`: loads a file, or standard input, into a table of any DynamoDB with
 * BatchWriteItem; or has a server import a table from a bucket, and waits (import_table.c). Main
 * thread of gramme-client. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "archive/decompress.h"
#include "archive/window.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/terminal.h"
#include "json/writer.h"
#include "shell/file_source_internal.h"
#include "shell/import_internal.h"
#include "shell/shell.h"
#include "wire/value_json.h"

enum { BATCH_ITEMS = 25, BATCH_BYTES = 4 * 1024 * 1024, ROUNDS_MAX = 12 };

static const char help[] =
    "Usage: gramme import [options] TABLE [FILE]\n"
    "       gramme import [options] --bucket BUCKET --key KEY TABLE\n"
    "\n"
    "The first form writes the items of FILE, or of standard input, to a table that exists: of a\n"
    "server, or of a store that no server has open. The second one has a server make a table from\n"
    "objects in a bucket (ImportTable), and waits for it.\n"
    "\n"
    "Options:\n"
    "  -u, --url URL        http://HOST:PORT, https://HOST, aws: or rocksdb:DIRECTORY (default\n"
    "                       GRAMME_ENDPOINT, or http://127.0.0.1:8000)\n"
    "  -f, --format FORMAT  typed, or dynamodb-json: {\"Item\": {\"pk\": {\"S\": \"x\"}}} per "
    "line, as\n"
    "                       gramme export writes it (the default); json: {\"pk\": \"x\"} per "
    "line;\n"
    "                       ion; csv (the default of files called .csv)\n"
    "  --compression KIND   none, gzip or zstd; default by the name of the file: .gz, .zst\n"
    "  --delimiter C        of csv; default a comma\n"
    "  --bucket BUCKET      import the objects of a bucket\n"
    "  --prefix PREFIX      those whose keys start with it\n"
    "  --key KEY            of the new table: pk or pk,sk, each with a type: pk:S,sk:N\n"
    "  --quiet              no progress on standard error\n"
    "  --region NAME        of the service\n"
    "  --profile NAME       of the AWS configuration files\n"
    "  --ca-file FILE       certificates to trust instead of the system's, for https://\n"
    "\n"
    "Exit status: 0 all was written, 1 some records were not, 2 the command line is wrong.\n"
    "\n"
    "Examples:\n"
    "  gramme import Music music.json.gz\n"
    "  zcat dump.csv.gz | gramme import --format csv --url rocksdb:./data Music\n"
    "  gramme import --bucket my-bucket --prefix music/ --key Artist,Song Music\n";

/* --- progress --- */

/* The share is that of the file's bytes, compressed ones too. */
static void show_written(struct loading *loading)
{
    double seconds = (double)(clock_monotonic_us() - loading->start_us) / 1e6;
    double share = loading->file_bytes > 0 ? (double)ftello(loading->file) / loading->file_bytes
                                           : PROGRESS_UNKNOWN;
    progress_show(&loading->command->progress, share, "%zu items, %.0f a second, %zu errors",
                  loading->written, (double)loading->written / (seconds > 0 ? seconds : 1),
                  loading->errors);
}

/* Says why a record was not written. */
static void note_error(struct loading *loading, size_t number, struct str message)
{
    struct buf safe = {0};
    loading->errors++;
    progress_end(&loading->command->progress);
    terminal_add_text(&safe, message);
    fprintf(stderr, "gramme import: record %zu: %.*s\n", number, STR_ARG(buf_str(&safe)));
    buf_finish(&safe);
}

/* --- the table --- */

/* Copies the definitions of attributes from the description of the table. */
static void keep_definitions(struct loading *loading, const struct gramme_value *list)
{
    size_t count = gramme_value_count(list);
    struct attribute_definition *definitions =
        ARENA_ARRAY(&loading->arena, struct attribute_definition, count + 1);
    for (size_t i = 0; i < count; i++) {
        const struct gramme_value *one = gramme_value_at(list, i);
        definitions[i].name =
            arena_copy(&loading->arena, str_from_c(gramme_get_string(one, "AttributeName")));
        definitions[i].type =
            value_type_from_name(str_from_c(gramme_get_string(one, "AttributeType")));
    }
    loading->table.definitions = definitions;
    loading->table.definition_count = count;
}

/* Reads the definitions and the key of the table, for CSV and for batches without equal keys. */
static bool describe(struct loading *loading, const char *name, struct gramme_error **error)
{
    struct gramme_request *request = gramme_request_create("DescribeTable", name);
    struct gramme_answer *answer = gramme_send(loading->command->db, request, error);
    gramme_request_destroy(request);
    if (answer == NULL) {
        return false;
    }
    const struct gramme_value *table = gramme_get(gramme_answer_root(answer), "Table");
    keep_definitions(loading, gramme_get(table, "AttributeDefinitions"));
    const struct gramme_value *key = gramme_get(table, "KeySchema");
    for (size_t i = 0; i < 2 && i < gramme_value_count(key); i++) {
        loading->key[i] =
            arena_copy(&loading->arena,
                       str_from_c(gramme_get_string(gramme_value_at(key, i), "AttributeName")));
    }
    gramme_answer_destroy(answer);
    return true;
}

/* --- batches --- */

/* The text of a member of an answer; STR_NULL: there is none. */
static struct str raw_member(struct arena *arena, struct str json, const char *wanted)
{
    struct json_reader reader;
    struct json_string name;
    struct str raw = STR_NULL;
    json_reader_init(&reader, arena, json);
    bool more = json_enter_object(&reader);
    while (more && json_next_member(&reader, &name)) {
        more = json_read_raw(&reader, &raw);
        if (more && str_eq(name.text, str_from_c(wanted))) {
            return raw;
        }
    }
    return STR_NULL;
}

/* Sends RequestItems, and after a pause the unprocessed items. */
static bool send_items(struct loading *loading, struct str request_items,
                       struct gramme_error **error)
{
    struct buf rest = {0};
    bool good = true;
    buf_add(&rest, request_items);
    for (int round = 0; good && rest.len > 2; round++) {
        struct buf body = {0};
        if (round > 0) {
            usleep((useconds_t)MIN(50 << round, 5000) * 1000);
        }
        buf_format(&body, "{\"RequestItems\":%.*s}", STR_ARG(buf_str(&rest)));
        struct gramme_answer *answer =
            gramme_call(loading->command->db, "BatchWriteItem", body.data, body.len, error);
        buf_finish(&body);
        good = answer != NULL;
        rest.len = 0;
        if (answer != NULL) {
            size_t len;
            const char *json = gramme_answer_json(answer, &len);
            buf_add(&rest, raw_member(&loading->scratch, str_make(json, len), "UnprocessedItems"));
            good = rest.len <= 2 || round < ROUNDS_MAX;
        }
        gramme_answer_destroy(answer);
    }
    buf_finish(&rest);
    return good;
}

static void add_put(struct buf *out, struct value item)
{
    JSON_PUT(out, "{\"PutRequest\":{\"Item\":");
    value_json_write_item(out, item);
    JSON_PUT(out, "}}");
}

static bool send_some(struct loading *loading, size_t first, size_t count,
                      struct gramme_error **error)
{
    struct buf body = {0};
    buf_add_char(&body, '{');
    json_write_string(&body, loading->table.name);
    JSON_PUT(&body, ":[");
    for (size_t i = first; i < first + count; i++) {
        buf_add(&body, i > first ? STR(",") : STR(""));
        add_put(&body, loading->items[i]);
    }
    JSON_PUT(&body, "]}");
    bool good = send_items(loading, buf_str(&body), error);
    buf_finish(&body);
    loading->written += good ? count : 0;
    return good;
}

/* One item that the server refuses makes it refuse the whole batch: then they are sent one by one.
 */
static bool send_one_by_one(struct loading *loading)
{
    for (size_t i = 0; i < loading->count; i++) {
        struct gramme_error *error = NULL;
        if (!send_some(loading, i, 1, &error)) {
            bool is_refused = error != NULL && gramme_error_is(error, "ValidationException");
            if (!is_refused) {
                subcommand_fail_with(loading->command, error);
                return false;
            }
            note_error(loading, loading->numbers[i], str_from_c(gramme_error_message(error)));
            gramme_error_destroy(error);
        }
    }
    return true;
}

/* False: the server cannot be written to. */
static bool flush(struct loading *loading)
{
    struct gramme_error *error = NULL;
    bool good = loading->count == 0 || send_some(loading, 0, loading->count, &error);
    if (!good && error != NULL && gramme_error_is(error, "ValidationException")) {
        gramme_error_destroy(error);
        good = send_one_by_one(loading);
    } else if (!good) {
        subcommand_fail_with(loading->command, error);
    }
    loading->count = 0;
    loading->bytes = 0;
    arena_reset(&loading->scratch);
    return good;
}

static bool has_same_key(const struct loading *loading, struct value item)
{
    for (size_t i = 0; i < loading->count; i++) {
        bool is_same = true;
        for (size_t part = 0; part < 2 && !str_is_null(loading->key[part]); part++) {
            is_same = is_same && value_eq(value_map_get(loading->items[i], loading->key[part]),
                                          value_map_get(item, loading->key[part]));
        }
        if (is_same) {
            return true;
        }
    }
    return false;
}

/* Adds an item, which is in loading->scratch. */
static bool add_item(struct loading *loading, struct value item)
{
    if (has_same_key(loading, item)) { /* the item is copied: flush() frees it */
        struct str copy = str_make(mem_alloc(item.len), item.len);
        memcpy((char *)copy.data, item.data, item.len);
        bool good = flush(loading);
        struct str kept = arena_copy(&loading->scratch, copy);
        item.data = (const uint8_t *)kept.data;
        mem_free((char *)copy.data);
        if (!good) {
            return false;
        }
    }
    loading->numbers[loading->count] = loading->records;
    loading->items[loading->count++] = item;
    loading->bytes += item.len;
    return (loading->count < BATCH_ITEMS && loading->bytes < BATCH_BYTES) || flush(loading);
}

/* --- records --- */

/* Loads the next record. `out`: what it was. */
static bool load_record(struct loading *loading, struct record_reader *reader,
                        enum record_result *out)
{
    bool good = true;
    struct arena_mark mark = arena_mark(&loading->scratch);
    struct err err = ERR_INIT(&loading->scratch);
    struct record record;
    *out = record_reader_next(reader, &loading->scratch, &record, &err);
    loading->records += *out != RECORD_END;
    if (*out == RECORD_ITEM) {
        good = add_item(loading, record.item);
    } else if (*out == RECORD_FAILED) {
        note_error(loading, loading->records, err.message);
        good = false;
    } else if (*out != RECORD_END) {
        note_error(loading, loading->records, record.error);
        arena_rewind(&loading->scratch, mark); /* a file may have bad records only */
    }
    show_written(loading);
    return good;
}

static bool load_records(const struct import_arguments *arguments, struct loading *loading,
                         struct byte_source *source)
{
    struct record_options options = {
        .format = arguments->format == IMPORT_CSV   ? RECORD_CSV
                  : arguments->format == IMPORT_ION ? RECORD_ION
                                                    : RECORD_DYNAMODB_JSON,
        .delimiter = arguments->delimiter,
        .table = &loading->table,
    };
    struct record_reader *reader = record_reader_create(&options, source);
    bool good = true;
    enum record_result result = RECORD_ITEM;
    while (good && result != RECORD_END && result != RECORD_BROKEN) {
        good = load_record(loading, reader, &result);
    }
    record_reader_destroy(reader);
    return good;
}

/* An item in typed JSON. */
static bool load_typed(struct loading *loading, struct str text)
{
    struct arena_mark mark = arena_mark(&loading->scratch);
    struct json_reader json;
    json_reader_init(&json, &loading->scratch, text);
    struct value_reader reader = {.json = &json, .complaint = STR_NULL};
    builder_init(&reader.builder, &loading->scratch, text.len);
    if (value_json_read_item(&reader, PLACE_MEMBER) && reader.problem.fault == FAULT_NONE) {
        return add_item(loading, builder_finish(&reader.builder));
    }
    note_error(loading, loading->records,
               reader.problem.fault == FAULT_NONE
                   ? STR("it is not an item")
                   : value_problem_text(&reader.problem, WORDING_OLDER, &loading->scratch));
    arena_rewind(&loading->scratch, mark);
    return true;
}

/* An item in plain JSON, read as the client library reads it. */
static bool load_plain(struct loading *loading, struct str line)
{
    struct gramme_error *error = NULL;
    struct gramme_value *plain = gramme_value_from_json(line.data, line.len, GRAMME_PLAIN, &error);
    size_t len = 0;
    char *typed = plain == NULL ? NULL : gramme_value_to_json(plain, GRAMME_TYPED, &len);
    gramme_value_destroy(plain);
    if (typed == NULL) {
        note_error(
            loading, loading->records,
            str_from_c(error != NULL ? gramme_error_message(error) : "it is not a JSON object"));
        gramme_error_destroy(error);
        return true;
    }
    bool good = load_typed(loading, str_make(typed, len));
    gramme_free(typed);
    return good;
}

/* Finds the next line, without its end, which is not taken; STR_NULL: there is none. */
static bool find_line(struct window *window, struct str *out, struct err *err)
{
    const char *end = NULL;
    struct str text = STR_NULL;
    for (bool is_over = false; !is_over;) {
        text = window_text(window);
        end = text.len == 0 ? NULL : memchr(text.data, '\n', text.len);
        is_over = end != NULL || window->is_end;
        if (!is_over && !window_fill(window, err)) {
            return false;
        }
    }
    size_t len = end == NULL ? text.len : (size_t)(end - text.data);
    *out = len == 0 && end == NULL ? STR_NULL : str_make(text.data, len);
    return true;
}

static bool load_lines(struct loading *loading, struct byte_source *source)
{
    struct window window;
    struct str line = STR("");
    struct err err = ERR_INIT(&loading->arena);
    bool good = true;
    window_init(&window, source, RECORD_BYTES_MAX);
    while (good && !str_is_null(line)) {
        if (!find_line(&window, &line, &err)) {
            note_error(loading, loading->records + 1, err.message);
            good = false;
        } else if (!str_is_null(line)) {
            bool is_blank = line.len == 0 || str_eq(line, STR("\r"));
            loading->records += !is_blank;
            good = is_blank || load_plain(loading, line);
            window_take(&window, MIN(line.len + 1, window_text(&window).len));
            show_written(loading);
        }
    }
    window_finish(&window);
    return good;
}

/* --- the command --- */

static FILE *open_file(struct import_arguments *arguments)
{
    if (arguments->path == NULL || strcmp(arguments->path, "-") == 0) {
        return stdin;
    }
    FILE *file = fopen(arguments->path, "rbe");
    if (file == NULL) {
        fprintf(stderr, "gramme import: %s: %s\n", arguments->path, strerror(errno));
    }
    return file;
}

static double file_size(FILE *file)
{
    struct stat info;
    bool is_known = fstat(fileno(file), &info) == 0 && S_ISREG(info.st_mode);
    return is_known ? (double)info.st_size : 0;
}

static bool load_source(struct import_arguments *arguments, struct loading *loading)
{
    struct file_source file = file_source_make(loading->file);
    struct gramme_error *error = NULL;
    if (!describe(loading, arguments->table, &error)) {
        subcommand_fail_with(&arguments->command, error);
        return false;
    }
    struct decompressor *decompressor = decompressor_create(arguments->compression, &file.source);
    struct byte_source *source = decompressor_source(decompressor);
    bool good = arguments->format == IMPORT_PLAIN ? load_lines(loading, source)
                                                  : load_records(arguments, loading, source);
    good = good && flush(loading);
    decompressor_destroy(decompressor);
    return good;
}

static int load_file(struct import_arguments *arguments)
{
    struct loading loading = {.command = &arguments->command,
                              .start_us = clock_monotonic_us(),
                              .file = open_file(arguments)};
    if (loading.file == NULL) {
        return EXIT_FAILED;
    }
    arena_init(&loading.arena);
    arena_init(&loading.scratch);
    loading.table.name = str_from_c(arguments->table);
    loading.file_bytes = file_size(loading.file);
    bool good = load_source(arguments, &loading);
    progress_end(&arguments->command.progress);
    if (loading.file != stdin) {
        fclose(loading.file);
    }
    printf("%zu items written to %s, %zu errors\n", loading.written, arguments->table,
           loading.errors);
    arena_finish(&loading.scratch);
    arena_finish(&loading.arena);
    return good && loading.errors == 0 ? EXIT_GOOD : EXIT_FAILED;
}

/* --- the command line --- */

static bool find_word(const char *const *words, const char *text, int *out)
{
    for (int i = 0; words[i] != NULL; i++) {
        if (strcmp(words[i], text) == 0) {
            *out = i;
            return true;
        }
    }
    return false;
}

static bool has_ending(const char *path, const char *ending)
{
    size_t len = path == NULL ? 0 : strlen(path);
    size_t ending_len = strlen(ending);
    return len >= ending_len && strcmp(path + len - ending_len, ending) == 0;
}

static bool choose_format(struct import_arguments *arguments)
{
    static const char *const formats[] = {"dynamodb-json", "ion", "csv", "json", NULL};
    const char *path = arguments->path;
    const char *word = arguments->format_word;
    int number = IMPORT_DYNAMODB_JSON;
    if (word == NULL &&
        (has_ending(path, ".csv") || has_ending(path, ".csv.gz") || has_ending(path, ".csv.zst"))) {
        number = IMPORT_CSV;
    }
    bool good = word == NULL || strcmp(word, "typed") == 0 || find_word(formats, word, &number);
    arguments->format = (enum import_format)number;
    return good;
}

static bool choose_compression(struct import_arguments *arguments)
{
    static const char *const compressions[] = {"none", "gzip", "zstd", NULL};
    const char *word = arguments->compression_word;
    int number = has_ending(arguments->path, ".gz")    ? COMPRESSION_GZIP
                 : has_ending(arguments->path, ".zst") ? COMPRESSION_ZSTD
                                                       : COMPRESSION_NONE;
    bool good = word == NULL || find_word(compressions, word, &number);
    arguments->compression = (enum compression)number;
    return good;
}

/* Checks the options that say where the objects are. */
static int check_bucket(const struct import_arguments *arguments)
{
    const struct subcommand *command = &arguments->command;
    bool is_bucket = arguments->bucket != NULL;
    if (is_bucket != (arguments->key != NULL)) {
        return subcommand_complain(command, "--bucket and --key need each other", "");
    }
    if (is_bucket && arguments->path != NULL) {
        return subcommand_complain(command, "a file and --bucket exclude each other", "");
    }
    if (is_bucket && arguments->format == IMPORT_PLAIN) {
        return subcommand_complain(command, "ImportTable does not read plain JSON", "");
    }
    return is_bucket || arguments->prefix == NULL
               ? EXIT_GOOD
               : subcommand_complain(command, "--prefix is of buckets", "");
}

static int check_arguments(struct import_arguments *arguments)
{
    const struct subcommand *command = &arguments->command;
    const char *delimiter = arguments->delimiter_word;
    arguments->delimiter = text_or(delimiter, "")[0];
    arguments->command.progress.is_hidden = arguments->quiet != NULL;
    if (arguments->table == NULL) {
        return subcommand_complain(command, "which table?", "");
    }
    if (!choose_format(arguments)) {
        return subcommand_complain(command, "no such format: ", arguments->format_word);
    }
    if (!choose_compression(arguments)) {
        return subcommand_complain(command, "no such compression: ", arguments->compression_word);
    }
    if (delimiter != NULL && strlen(delimiter) != 1) {
        return subcommand_complain(command, "a delimiter is one character: ", delimiter);
    }
    return check_bucket(arguments);
}

/* As subcommand_read(). */
static int read_arguments(int argc, char **argv, struct import_arguments *out, bool *out_is_over)
{
    const struct suboption options[] = {
        {"--format", "-f", &out->format_word, false},
        {"--compression", NULL, &out->compression_word, false},
        {"--delimiter", NULL, &out->delimiter_word, false},
        {"--bucket", NULL, &out->bucket, false},
        {"--prefix", NULL, &out->prefix, false},
        {"--key", NULL, &out->key, false},
        {"--quiet", NULL, &out->quiet, true},
        {NULL, NULL, &out->table, false},
        {NULL, NULL, &out->path, false},
        {0},
    };
    int status = subcommand_read(&out->command, options, argc, argv, out_is_over);
    if (!*out_is_over) {
        status = check_arguments(out);
        *out_is_over = status != EXIT_GOOD;
    }
    return status;
}

int import_main(int argc, char **argv)
{
    struct import_arguments arguments = {.command = {.name = "import", .help = help}};
    bool is_over;
    int status = read_arguments(argc, argv, &arguments, &is_over);
    if (is_over) {
        return status;
    }
    if (!subcommand_open(&arguments.command)) {
        return EXIT_USAGE;
    }
    status = arguments.bucket != NULL ? import_table(&arguments) : load_file(&arguments);
    gramme_close(arguments.command.db);
    return status;
}
