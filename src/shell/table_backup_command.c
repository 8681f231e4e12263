/* `gramme backup --table`, `gramme backup --list` and `gramme restore --as`: backups and restores
 * of tables, by the operations of the service. Uses libgramme, so it works with any DynamoDB and
 * with a store that no server has open. src/cli prints the help, and copies whole stores. Main
 * thread. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/terminal.h"
#include "shell/shell.h"
#include "shell/subcommand_internal.h"

struct arguments {
    struct subcommand command;
    const char *table;
    const char *name;
    const char *list;
    const char *backup;
    const char *to;
    const char *as;
};

/* --- times --- */

static void add_time(struct buf *out, double seconds)
{
    bool is_valid = seconds >= 0 && seconds < 253402300800.0; /* the year 10000 */
    time_t whole = is_valid ? (time_t)seconds : 0;
    struct tm parts = {0};
    char text[32] = "";
    gmtime_r(&whole, &parts);
    strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &parts);
    buf_add(out, str_from_c(text));
}

/* Seconds since 1970, or a time of UTC: 2026-11-18T07:30:00Z, also with a space and without Z. */
static bool read_time(const char *text, double *out)
{
    struct tm parts = {0};
    char *end;
    *out = strtod(text, &end);
    if (end != text && *end == '\0') {
        return isfinite(*out) && *out >= 0;
    }
    const char *rest = strptime(text, "%Y-%m-%dT%H:%M:%S", &parts);
    rest = rest != NULL ? rest : strptime(text, "%Y-%m-%d %H:%M:%S", &parts);
    if (rest == NULL || (strcmp(rest, "") != 0 && strcmp(rest, "Z") != 0)) {
        return false;
    }
    *out = (double)timegm(&parts);
    return true;
}

/* --- gramme backup --- */

static void add_backup(struct buf *out, const struct gramme_value *backup)
{
    static const char *const members[] = {"BackupStatus", "BackupType", "TableName", "BackupName",
                                          "BackupArn"};
    add_time(out, gramme_get_double(backup, "BackupCreationDateTime", 0));
    for (size_t i = 0; i < COUNT_OF(members); i++) {
        buf_add(out, STR("  "));
        terminal_add_text(out, str_from_c(text_or(gramme_get_string(backup, members[i]), "")));
    }
    buf_add_char(out, '\n');
}

static void print_backups(const struct gramme_value *list)
{
    struct buf lines = {0};
    for (size_t i = 0; i < gramme_value_count(list); i++) {
        add_backup(&lines, gramme_value_at(list, i));
    }
    printf("%.*s", STR_ARG(buf_str(&lines)));
    buf_finish(&lines);
}

static bool list_backups(struct arguments *arguments)
{
    struct gramme_value *parameters = gramme_map_create();
    gramme_set_string(parameters, "BackupType", "ALL");
    if (arguments->table != NULL) {
        gramme_set_string(parameters, "TableName", arguments->table);
    }
    bool good = true;
    bool has_more = true;
    while (good && has_more) {
        struct gramme_answer *answer =
            subcommand_ask(&arguments->command, "ListBackups", parameters);
        const struct gramme_value *root = answer == NULL ? NULL : gramme_answer_root(answer);
        const char *last = gramme_get_string(root, "LastEvaluatedBackupArn");
        print_backups(gramme_get(root, "BackupSummaries"));
        good = answer != NULL;
        has_more = last != NULL;
        if (has_more) {
            gramme_set_string(parameters, "ExclusiveStartBackupArn", last);
        }
        gramme_answer_destroy(answer);
    }
    gramme_value_destroy(parameters);
    return good;
}

/* Waits until the backup is AVAILABLE, and prints its ARN. */
static bool wait_for_backup(struct subcommand *command, const char *arn)
{
    int64_t start_us = clock_monotonic_us();
    for (;;) {
        struct gramme_answer *answer =
            subcommand_ask_about(command, "DescribeBackup", "BackupArn", arn);
        if (answer == NULL) {
            return false;
        }
        const struct gramme_value *details = gramme_get(
            gramme_get(gramme_answer_root(answer), "BackupDescription"), "BackupDetails");
        bool is_made =
            strcmp(text_or(gramme_get_string(details, "BackupStatus"), ""), "AVAILABLE") == 0;
        gramme_answer_destroy(answer);
        if (is_made) {
            progress_end(&command->progress);
            struct buf line = {0};
            terminal_add_text(&line, str_from_c(arn));
            printf("%.*s\n", STR_ARG(buf_str(&line)));
            buf_finish(&line);
            return true;
        }
        progress_show(&command->progress, PROGRESS_UNKNOWN, "making the backup, %.0f s",
                      (double)(clock_monotonic_us() - start_us) / 1e6);
        usleep(SUBCOMMAND_POLL_US / 10);
    }
}

/* TABLE-20261118-073000 */
static void default_name(const char *table, struct buf *out)
{
    time_t now = (time_t)(clock_wall_ms() / 1000);
    struct tm parts;
    char text[32];
    gmtime_r(&now, &parts);
    strftime(text, sizeof(text), "%Y%m%d-%H%M%S", &parts);
    buf_format(out, "%.200s-%s", table, text);
}

static bool back_up(struct arguments *arguments)
{
    struct gramme_value *parameters = gramme_map_create();
    struct buf name = {0};
    default_name(arguments->table, &name);
    gramme_set_string(parameters, "TableName", arguments->table);
    gramme_set_string(parameters, "BackupName", text_or(arguments->name, name.data));
    struct gramme_answer *answer = subcommand_ask(&arguments->command, "CreateBackup", parameters);
    gramme_value_destroy(parameters);
    buf_finish(&name);
    if (answer == NULL) {
        return false;
    }
    const char *arn =
        gramme_get_string(gramme_get(gramme_answer_root(answer), "BackupDetails"), "BackupArn");
    bool good = wait_for_backup(&arguments->command, text_or(arn, ""));
    gramme_answer_destroy(answer);
    return good;
}

int backup_main(int argc, char **argv)
{
    struct arguments arguments = {.command = {.name = "backup"}};
    const struct suboption options[] = {
        {"--table", NULL, &arguments.table, false},
        {"--name", NULL, &arguments.name, false},
        {"--list", NULL, &arguments.list, true},
        {0},
    };
    struct subcommand *command = &arguments.command;
    bool is_over;
    int status = subcommand_read(command, options, argc, argv, &is_over);
    if (is_over) {
        return status;
    }
    if (arguments.list != NULL && arguments.name != NULL) {
        return subcommand_complain(command, "--list and --name exclude each other", "");
    }
    if (arguments.list == NULL && arguments.table == NULL) {
        return subcommand_complain(command, "--table is missing", "");
    }
    if (!subcommand_open(command)) {
        return EXIT_USAGE;
    }
    bool good = arguments.list != NULL ? list_backups(&arguments) : back_up(&arguments);
    gramme_close(command->db);
    return good ? EXIT_GOOD : EXIT_FAILED;
}

/* --- gramme restore --- */

/* The number of items that are to be restored, as far as it is known; -1: the failure was
 * reported. */
static int64_t count_items(struct arguments *arguments)
{
    bool is_backup = arguments->backup != NULL;
    struct gramme_answer *answer = is_backup
                                       ? subcommand_ask_about(&arguments->command, "DescribeBackup",
                                                              "BackupArn", arguments->backup)
                                       : subcommand_ask_about(&arguments->command, "DescribeTable",
                                                              "TableName", arguments->table);
    if (answer == NULL) {
        return -1;
    }
    const struct gramme_value *root = gramme_answer_root(answer);
    const struct gramme_value *details =
        is_backup ? gramme_get(gramme_get(root, "BackupDescription"), "SourceTableDetails")
                  : gramme_get(root, "Table");
    int64_t count = gramme_get_int(details, "ItemCount", 0);
    gramme_answer_destroy(answer);
    return count;
}

static bool start_restore(struct arguments *arguments, double seconds)
{
    struct gramme_value *parameters = gramme_map_create();
    gramme_set_string(parameters, "TargetTableName", arguments->as);
    if (arguments->backup != NULL) {
        gramme_set_string(parameters, "BackupArn", arguments->backup);
    } else if (strcmp(arguments->to, "latest") == 0) {
        gramme_set_string(parameters, "SourceTableName", arguments->table);
        gramme_set_bool(parameters, "UseLatestRestorableTime", true);
    } else {
        gramme_set_string(parameters, "SourceTableName", arguments->table);
        gramme_set_double(parameters, "RestoreDateTime", seconds);
    }
    struct gramme_answer *answer = subcommand_ask(
        &arguments->command,
        arguments->backup != NULL ? "RestoreTableFromBackup" : "RestoreTableToPointInTime",
        parameters);
    gramme_value_destroy(parameters);
    bool good = answer != NULL;
    gramme_answer_destroy(answer);
    return good;
}

/* Waits until the table is ACTIVE. Other servers than Gramme may not count items before. */
static bool wait_for_table(struct arguments *arguments, int64_t total)
{
    struct subcommand *command = &arguments->command;
    for (;;) {
        struct gramme_answer *answer =
            subcommand_ask_about(command, "DescribeTable", "TableName", arguments->as);
        if (answer == NULL) {
            return false;
        }
        const struct gramme_value *table = gramme_get(gramme_answer_root(answer), "Table");
        int64_t count = gramme_get_int(table, "ItemCount", 0);
        bool is_active =
            strcmp(text_or(gramme_get_string(table, "TableStatus"), ""), "ACTIVE") == 0;
        gramme_answer_destroy(answer);
        if (is_active) {
            progress_end(&command->progress);
            printf("%lld items restored to %s\n", (long long)count, arguments->as);
            return true;
        }
        progress_show(&command->progress,
                      count > 0 && total > 0 ? (double)count / (double)total : PROGRESS_UNKNOWN,
                      "%lld items", (long long)count);
        usleep(SUBCOMMAND_POLL_US / 4);
    }
}

static int check_restore(const struct arguments *arguments, double *out_seconds)
{
    const struct subcommand *command = &arguments->command;
    if (arguments->as == NULL) {
        return subcommand_complain(command, "--as NEW is missing", "");
    }
    if ((arguments->backup != NULL) == (arguments->table != NULL)) {
        return subcommand_complain(command, "either --backup or --table is needed", "");
    }
    if ((arguments->table != NULL) != (arguments->to != NULL)) {
        return subcommand_complain(command, "--table and --to need each other", "");
    }
    return arguments->to == NULL || strcmp(arguments->to, "latest") == 0 ||
                   read_time(arguments->to, out_seconds)
               ? EXIT_GOOD
               : subcommand_complain(command, "not a time: ", arguments->to);
}

int restore_main(int argc, char **argv)
{
    struct arguments arguments = {.command = {.name = "restore"}};
    const struct suboption options[] = {
        {"--backup", NULL, &arguments.backup, false},
        {"--table", NULL, &arguments.table, false},
        {"--to", NULL, &arguments.to, false},
        {"--as", NULL, &arguments.as, false},
        {0},
    };
    struct subcommand *command = &arguments.command;
    double seconds = 0;
    bool is_over;
    int status = subcommand_read(command, options, argc, argv, &is_over);
    status = is_over ? status : check_restore(&arguments, &seconds);
    if (status != EXIT_GOOD) {
        return status;
    }
    if (!subcommand_open(command)) {
        return EXIT_USAGE;
    }
    int64_t total = count_items(&arguments);
    bool good =
        total >= 0 && start_restore(&arguments, seconds) && wait_for_table(&arguments, total);
    gramme_close(command->db);
    return good ? EXIT_GOOD : EXIT_FAILED;
}
