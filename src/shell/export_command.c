/* `gramme export`: the items of a table as lines on standard output or in a file, or an export to a
 * bucket by the server. Uses libgramme, so it works with any DynamoDB and with a store that no
 * server has open. Main thread. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/terminal.h"
#include "shell/commands_internal.h"
#include "shell/schema_internal.h"
#include "shell/shell.h"
#include "shell/subcommand_internal.h"

static const char help[] =
    "Usage: gramme export [options] TABLE\n\n"
    "Writes the items of a table to standard output or a file, one per line; or, with "
    "--to-bucket,\n"
    "lets the server export them to a bucket (ExportTableToPointInTime) and waits for its end.\n\n"
    "Options:\n"
    "  -u, --url URL          http://HOST:PORT, https://HOST, aws:, or a store that no server has\n"
    "                         open, rocksdb:DIRECTORY (default GRAMME_ENDPOINT, or\n"
    "                         http://127.0.0.1:8000)\n"
    "  -f, --format FORMAT    typed, or dynamodb-json: {\"Item\": ...} as DynamoDB exports it,\n"
    "                         without loss (the default); json: plain JSON; csv; with --to-bucket\n"
    "                         typed or ion\n"
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
    struct subcommand command;
    const char *table;
    const char *format;
    const char *output;
    const char *bucket;
    const char *prefix;
};

static bool is_one_of(const char *text, const char *a, const char *b, const char *c)
{
    return strcmp(text, a) == 0 || strcmp(text, b) == 0 || strcmp(text, c) == 0;
}

static int check_arguments(struct arguments *arguments)
{
    const struct subcommand *command = &arguments->command;
    const char *format = text_or(arguments->format, "typed");
    arguments->format = strcmp(format, "dynamodb-json") == 0 ? "typed" : format;
    if (arguments->table == NULL) {
        return subcommand_complain(command, "which table?", "");
    }
    if (arguments->bucket == NULL) {
        return !is_one_of(arguments->format, "typed", "json", "csv")
                   ? subcommand_complain(command, "no such format: ", format)
               : arguments->prefix != NULL
                   ? subcommand_complain(command, "--prefix is of buckets", "")
                   : EXIT_GOOD;
    }
    if (arguments->output != NULL) {
        return subcommand_complain(command, "--output and --to-bucket exclude each other", "");
    }
    return is_one_of(arguments->format, "typed", "ion", "typed")
               ? EXIT_GOOD
               : subcommand_complain(command, "no such format of an export to a bucket: ", format);
}

/* As subcommand_read(). */
static int read_arguments(int argc, char **argv, struct arguments *out, bool *out_is_over)
{
    const struct suboption options[] = {
        {"--format", "-f", &out->format, false},    {"--output", "-o", &out->output, false},
        {"--to-bucket", NULL, &out->bucket, false}, {"--prefix", NULL, &out->prefix, false},
        {NULL, NULL, &out->table, false},           {0},
    };
    int status = subcommand_read(&out->command, options, argc, argv, out_is_over);
    if (!*out_is_over) {
        status = check_arguments(out);
        *out_is_over = status != EXIT_GOOD;
    }
    return status;
}

/* --- lines --- */

/* Runs \\export of the shell with these words. */
static bool export_lines(struct arguments *arguments)
{
    struct session session = {.db = arguments->command.db,
                              .url = arguments->command.url,
                              .is_terminal = isatty(STDOUT_FILENO) == 1};
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
        subcommand_fail(&arguments->command, "",
                        session.message.len > 0 ? session.message.data : strerror(errno));
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

/* Polls until the export has ended. NULL: the failure was reported. The service does not report
 * progress, so the elapsed time is shown. */
static struct gramme_answer *wait_for_export(struct subcommand *command, const char *arn)
{
    int64_t start_us = clock_monotonic_us();
    struct gramme_answer *answer;
    for (;;) {
        answer = subcommand_ask_about(command, "DescribeExport", "ExportArn", arn);
        const struct gramme_value *export =
            answer == NULL ? NULL : gramme_get(gramme_answer_root(answer), "ExportDescription");
        const char *status = gramme_get_string(export, "ExportStatus");
        if (status == NULL || strcmp(status, "IN_PROGRESS") != 0) {
            break;
        }
        gramme_answer_destroy(answer);
        progress_show(&command->progress, PROGRESS_UNKNOWN, "exporting, %.0f s",
                      (double)(clock_monotonic_us() - start_us) / 1e6);
        usleep(SUBCOMMAND_POLL_US);
    }
    progress_end(&command->progress);
    return answer;
}

static struct gramme_answer *start_export(struct arguments *arguments)
{
    struct subcommand *command = &arguments->command;
    struct gramme_answer *described =
        subcommand_ask_about(command, "DescribeTable", "TableName", arguments->table);
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
    struct gramme_answer *answer = subcommand_ask(command, "ExportTableToPointInTime", parameters);
    gramme_value_destroy(parameters);
    gramme_answer_destroy(described);
    return answer;
}

/* Prints the result of the export. */
static bool print_export(struct subcommand *command, const struct gramme_value *export)
{
    const char *status = text_or(gramme_get_string(export, "ExportStatus"), "");
    if (strcmp(status, "COMPLETED") != 0) {
        subcommand_fail(
            command, text_or(gramme_get_string(export, "FailureCode"), status),
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

static bool export_to_bucket(struct arguments *arguments)
{
    struct subcommand *command = &arguments->command;
    struct gramme_answer *started = start_export(arguments);
    if (started == NULL) {
        return false;
    }
    const char *arn = gramme_get_string(
        gramme_get(gramme_answer_root(started), "ExportDescription"), "ExportArn");
    struct gramme_answer *ended = wait_for_export(command, text_or(arn, ""));
    bool good = ended != NULL &&
                print_export(command, gramme_get(gramme_answer_root(ended), "ExportDescription"));
    gramme_answer_destroy(ended);
    gramme_answer_destroy(started);
    return good;
}

int export_main(int argc, char **argv)
{
    struct arguments arguments = {.command = {.name = "export", .help = help}};
    bool is_over;
    int status = read_arguments(argc, argv, &arguments, &is_over);
    if (is_over) {
        return status;
    }
    signal(SIGPIPE, SIG_IGN); /* `| head` ends the export without a message */
    if (!subcommand_open(&arguments.command)) {
        return EXIT_USAGE;
    }
    bool good = arguments.bucket != NULL ? export_to_bucket(&arguments) : export_lines(&arguments);
    gramme_close(arguments.command.db);
    return good ? EXIT_GOOD : EXIT_FAILED;
}
