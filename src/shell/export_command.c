/* `gramme export`: the items of a table as lines on standard output or in a file, or an export to a
 * bucket by the server. Uses libgramme, so it works with any DynamoDB and with a store that no
 * server has open. Main thread. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/terminal.h"
#include "shell/commands_internal.h"
#include "shell/schema_internal.h"
#include "shell/shell.h"

#define URL_DEFAULT "http://127.0.0.1:8000"

enum { EXIT_GOOD = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };
enum { POLL_US = 200 * 1000 };

static const char help[] =
    "Usage: gramme export [options] TABLE\n\n"
    "Writes the items of a table to standard output or a file, one per line; or, with "
    "--to-bucket,\n"
    "lets the server export them to a bucket (ExportTableToPointInTime) and waits for its end.\n\n"
    "Options:\n"
    "  -u, --url URL          http://HOST:PORT, https://HOST, aws:, or a store that no server has\n"
    "                         open, rocksdb:DIRECTORY (default GRAMME_ENDPOINT, or " URL_DEFAULT
    ")\n"
    "  -f, --format FORMAT    typed: {\"Item\": ...} as DynamoDB exports it, without loss\n"
    "                         (the default); json: plain JSON; csv; with --to-bucket typed or ion\n"
    "  -o, --output FILE      a new file instead of standard output\n"
    "  --to-bucket BUCKET     export to this bucket; point-in-time recovery must be on\n"
    "  --prefix PREFIX        what keys in the bucket start with\n"
    "  --region NAME          of the service\n"
    "  --profile NAME         of the AWS configuration files\n"
    "  --ca-file FILE         certificates to trust instead of the system's, for https://\n\n"
    "Items that are written meanwhile may be missing; an export to a bucket is of one instant.\n\n"
    "Exit status: 0 success, 1 the export failed, 2 wrong options or no such address.\n\n"
    "Examples:\n"
    "  gramme export Music > music.jsonl\n"
    "  gramme export --format csv --output music.csv Music\n"
    "  gramme export --url rocksdb:./data Music\n"
    "  gramme export --to-bucket exports Music\n";

struct arguments {
    const char *url;
    const char *table;
    const char *format;
    const char *output;
    const char *bucket;
    const char *prefix;
    struct gramme_options options;
};

static int complain(const char *text, const char *about)
{
    fprintf(stderr, "gramme export: %s%s (gramme export --help)\n", text, about);
    return EXIT_USAGE;
}

static bool read_option(const char *name, const char *value, struct arguments *out)
{
    const struct {
        const char *name;
        const char *letter;
        const char **value;
    } options[] = {
        {"--url", "-u", &out->url},
        {"--format", "-f", &out->format},
        {"--output", "-o", &out->output},
        {"--to-bucket", "", &out->bucket},
        {"--prefix", "", &out->prefix},
        {"--region", "", &out->options.region},
        {"--profile", "", &out->options.profile},
        {"--ca-file", "", &out->options.ca_file},
    };
    for (size_t i = 0; i < COUNT_OF(options); i++) {
        if (strcmp(name, options[i].name) == 0 || strcmp(name, options[i].letter) == 0) {
            *options[i].value = value;
            return true;
        }
    }
    return false;
}

static bool is_one_of(const char *text, const char *a, const char *b, const char *c)
{
    return strcmp(text, a) == 0 || strcmp(text, b) == 0 || strcmp(text, c) == 0;
}

static int check_arguments(struct arguments *arguments)
{
    const char *endpoint = getenv("GRAMME_ENDPOINT");
    bool has_endpoint = endpoint != NULL && endpoint[0] != '\0';
    arguments->url = arguments->url != NULL ? arguments->url
                     : has_endpoint         ? endpoint
                                            : URL_DEFAULT;
    arguments->format = arguments->format != NULL ? arguments->format : "typed";
    if (arguments->table == NULL) {
        return complain("which table?", "");
    }
    if (arguments->bucket == NULL) {
        return is_one_of(arguments->format, "typed", "json", "csv")
                   ? arguments->prefix == NULL ? EXIT_GOOD : complain("--prefix is of buckets", "")
                   : complain("no such format: ", arguments->format);
    }
    if (arguments->output != NULL) {
        return complain("--output and --to-bucket exclude each other", "");
    }
    return is_one_of(arguments->format, "typed", "ion", "typed")
               ? EXIT_GOOD
               : complain("no such format of an export to a bucket: ", arguments->format);
}

/* EXIT_GOOD: understood. */
static int read_arguments(int argc, char **argv, struct arguments *out)
{
    for (int i = 0; i < argc; i++) {
        const char *next = i + 1 < argc ? argv[i + 1] : NULL;
        if (argv[i][0] != '-') {
            if (out->table != NULL) {
                return complain("too many arguments: ", argv[i]);
            }
            out->table = argv[i];
            continue;
        }
        if (!read_option(argv[i], next, out)) {
            return complain("unknown option ", argv[i]);
        }
        if (next == NULL) {
            return complain("a value is missing behind ", argv[i]);
        }
        i++;
    }
    return check_arguments(out);
}

/* --- calls --- */

/* Prints why the command failed. Texts of a server may contain control characters, which are
 * replaced. */
static void say_failure(const char *code, const char *message)
{
    struct buf safe = {0};
    terminal_add_text(&safe, str_from_c(code));
    buf_add(&safe, code[0] == '\0' ? STR("") : STR(": "));
    terminal_add_text(&safe, str_from_c(message));
    fprintf(stderr, "gramme export: %.*s\n", STR_ARG(buf_str(&safe)));
    buf_finish(&safe);
}

static bool report(struct gramme_error *error)
{
    say_failure(gramme_error_code(error), gramme_error_message(error));
    gramme_error_destroy(error);
    return false;
}

static struct gramme_answer *ask(struct gramme_db *db, const char *operation,
                                 const struct gramme_value *parameters)
{
    struct gramme_error *error = NULL;
    size_t len;
    char *json = gramme_value_to_json(parameters, GRAMME_WIRE, &len);
    struct gramme_answer *answer = gramme_call(db, operation, json, len, &error);
    gramme_free(json);
    if (answer == NULL) {
        report(error);
    }
    return answer;
}

static struct gramme_answer *describe_table(struct gramme_db *db, const char *table)
{
    struct gramme_value *parameters = gramme_map_create();
    gramme_set_string(parameters, "TableName", table);
    struct gramme_answer *answer = ask(db, "DescribeTable", parameters);
    gramme_value_destroy(parameters);
    return answer;
}

/* --- lines --- */

/* Runs \\export of the shell with these words. */
static bool export_lines(struct gramme_db *db, const struct arguments *arguments)
{
    struct session session = {
        .db = db, .url = arguments->url, .is_terminal = isatty(STDOUT_FILENO) == 1};
    struct arena arena;
    arena_init(&arena);
    const char *path = arguments->output != NULL ? arguments->output : "-";
    struct str words[] = {STR("\\export"), str_from_c(arguments->table), str_from_c(path),
                          str_from_c(arguments->format)};
    struct invocation invocation = {.arena = &arena, .words.count = COUNT_OF(words)};
    memcpy(invocation.words.text, words, sizeof(words));
    memcpy(invocation.words.raw, words, sizeof(words));
    bool good = run_export(&session, &invocation) && fflush(stdout) == 0;
    if (!good) {
        say_failure("", session.message.len > 0 ? session.message.data : strerror(errno));
    } else if (arguments->output != NULL) {
        fwrite(session.out.data, 1, session.out.len, stderr);
    }
    schema_finish(&session);
    gramme_error_destroy(session.error);
    buf_finish(&session.out);
    buf_finish(&session.message);
    arena_finish(&arena);
    return good;
}

/* --- buckets --- */

/* Shows the elapsed time on standard error, if that is a terminal: the service does not report
 * progress. */
static void show_wait(int64_t start_us)
{
    if (isatty(STDERR_FILENO) == 1) {
        fprintf(stderr, "\r\033[Kexporting, %.0f s",
                (double)(clock_monotonic_us() - start_us) / 1e6);
        fflush(stderr);
    }
}

static void end_wait(void)
{
    if (isatty(STDERR_FILENO) == 1) {
        fputs("\r\033[K", stderr);
    }
}

/* Polls until the export has ended. NULL: the failure was reported. */
static struct gramme_answer *wait_for_export(struct gramme_db *db, const char *arn)
{
    int64_t start_us = clock_monotonic_us();
    struct gramme_value *parameters = gramme_map_create();
    gramme_set_string(parameters, "ExportArn", arn);
    struct gramme_answer *answer;
    for (;;) {
        answer = ask(db, "DescribeExport", parameters);
        const struct gramme_value *export =
            answer == NULL ? NULL : gramme_get(gramme_answer_root(answer), "ExportDescription");
        const char *status = gramme_get_string(export, "ExportStatus");
        if (status == NULL || strcmp(status, "IN_PROGRESS") != 0) {
            break;
        }
        gramme_answer_destroy(answer);
        show_wait(start_us);
        usleep(POLL_US);
    }
    end_wait();
    gramme_value_destroy(parameters);
    return answer;
}

static const char *text_or(const char *text, const char *other)
{
    return text != NULL ? text : other;
}

static struct gramme_answer *start_export(struct gramme_db *db, const struct arguments *arguments)
{
    struct gramme_answer *described = describe_table(db, arguments->table);
    if (described == NULL) {
        return NULL;
    }
    const struct gramme_value *table = gramme_get(gramme_answer_root(described), "Table");
    struct gramme_value *parameters = gramme_map_create();
    gramme_set_string(parameters, "TableArn", text_or(gramme_get_string(table, "TableArn"), ""));
    gramme_set_string(parameters, "S3Bucket", arguments->bucket);
    gramme_set_string(parameters, "ExportFormat",
                      strcmp(arguments->format, "ion") == 0 ? "ION" : "DYNAMODB_JSON");
    if (arguments->prefix != NULL) {
        gramme_set_string(parameters, "S3Prefix", arguments->prefix);
    }
    struct gramme_answer *answer = ask(db, "ExportTableToPointInTime", parameters);
    gramme_value_destroy(parameters);
    gramme_answer_destroy(described);
    return answer;
}

/* Prints the result of the export. */
static bool print_export(const struct gramme_value *export)
{
    const char *status = text_or(gramme_get_string(export, "ExportStatus"), "");
    if (strcmp(status, "COMPLETED") != 0) {
        say_failure(
            text_or(gramme_get_string(export, "FailureCode"), status),
            text_or(gramme_get_string(export, "FailureMessage"), "the export has not ended"));
        return false;
    }
    struct buf place = {0};
    terminal_add_text(&place, str_from_c(gramme_get_string(export, "S3Bucket")));
    buf_add(&place, STR(", "));
    terminal_add_text(&place, str_from_c(gramme_get_string(export, "ExportManifest")));
    printf("%lld items exported to %.*s\n", (long long)gramme_get_int(export, "ItemCount", 0),
           STR_ARG(buf_str(&place)));
    buf_finish(&place);
    return true;
}

static bool export_to_bucket(struct gramme_db *db, const struct arguments *arguments)
{
    struct gramme_answer *started = start_export(db, arguments);
    if (started == NULL) {
        return false;
    }
    const char *arn = gramme_get_string(
        gramme_get(gramme_answer_root(started), "ExportDescription"), "ExportArn");
    struct gramme_answer *ended = wait_for_export(db, text_or(arn, ""));
    bool good =
        ended != NULL && print_export(gramme_get(gramme_answer_root(ended), "ExportDescription"));
    gramme_answer_destroy(ended);
    gramme_answer_destroy(started);
    return good;
}

int export_main(int argc, char **argv)
{
    struct arguments arguments = {0};
    for (int i = 0; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            fputs(help, stdout);
            return EXIT_GOOD;
        }
    }
    int status = read_arguments(argc, argv, &arguments);
    if (status != EXIT_GOOD) {
        return status;
    }
    signal(SIGPIPE, SIG_IGN); /* `| head` ends the export without a message */
    struct gramme_error *error = NULL;
    struct gramme_db *db = gramme_open(arguments.url, &arguments.options, &error);
    if (db == NULL) {
        report(error);
        return EXIT_USAGE;
    }
    bool good =
        arguments.bucket != NULL ? export_to_bucket(db, &arguments) : export_lines(db, &arguments);
    gramme_close(db);
    return good ? EXIT_GOOD : EXIT_FAILED;
}
