/* `gramme check`: verifies a store that no server has open, without changing a byte. Runs on the
 * main thread. The files are read and checked by store/image, their contents by engine/verify. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "cli/commands.h"
#include "cli/store_report.h"
#include "store/backup/store_backup.h"
#include "store/image/image.h"

enum { EXIT_GOOD = 0, EXIT_DAMAGED = 1, EXIT_CANNOT_CHECK = 2 };
enum { ROWS_PER_LOOK = 4096 };

static int print_help(int status)
{
    fputs(
        "Usage: gramme check [--json] DIR\n\n"
        "Verifies a store that no server has open: every file, block and record of its log; items\n"
        "against index entries, sizes, expiry and streams. For a backup: every file and block.\n"
        "Changes nothing.\n\n"
        "  --json    print each finding as one line with a JSON object\n\n"
        "Exit status: 0 no damage was found, 1 the store is damaged, 2 it cannot be checked.\n"
        "gramme repair DIR NEWDIR copies the readable rows of a damaged store to a new one.\n",
        status == 0 ? stdout : stderr);
    return status;
}

static void print_progress(void *context, uint64_t done_bytes, uint64_t total_bytes)
{
    store_report_progress(context, "checked", done_bytes, total_bytes);
}

static struct str describe_space(void *context, uint32_t space, struct arena *arena)
{
    return verifier_describe_space(context, space, arena);
}

/* Gives all rows to the verifier, once or twice. */
static void verify_rows(struct image *image, struct verifier *verifier, struct store_report *report)
{
    bool again = true;
    while (again) {
        struct image_row row;
        size_t count = 0;
        while (image_next(image, &row)) {
            verifier_add(verifier, row.key, row.value);
            if (++count % ROWS_PER_LOOK == 0) {
                store_report_progress(report, "checked", image_bytes_read(image),
                                      image_summary(image)->sst_bytes);
            }
        }
        again = verifier_end_pass(verifier);
        if (again) {
            image_rewind(image);
        }
    }
    store_report_end_progress(report);
}

static void print_totals(struct store_report *report, const struct image_summary *summary,
                         const struct verify_totals *totals)
{
    if (report->is_json) {
        printf(
            "{\"damaged\":%s,\"findings\":%llu,\"corrected\":%llu,\"files\":%llu,\"bytes\":%llu,"
            "\"records\":%llu,\"rows\":%llu,\"tables\":%llu,\"items\":%llu,\"indexEntries\":%llu,"
            "\"streamRecords\":%llu,\"earlierVersions\":%llu}\n",
            report->damage_count > 0 ? "true" : "false", (unsigned long long)report->damage_count,
            (unsigned long long)report->corrected_count, (unsigned long long)summary->sst_count,
            (unsigned long long)summary->sst_bytes, (unsigned long long)summary->record_count,
            (unsigned long long)totals->rows, (unsigned long long)totals->tables,
            (unsigned long long)totals->items, (unsigned long long)totals->index_entries,
            (unsigned long long)totals->stream_records,
            (unsigned long long)totals->earlier_versions);
        return;
    }
    printf("%llu SST files (%llu MiB), %llu WAL records behind them: %llu rows\n",
           (unsigned long long)summary->sst_count, (unsigned long long)(summary->sst_bytes >> 20),
           (unsigned long long)summary->record_count, (unsigned long long)totals->rows);
    printf("%llu tables: %llu items, %llu index entries, %llu stream records, "
           "%llu earlier versions of items\n",
           (unsigned long long)totals->tables, (unsigned long long)totals->items,
           (unsigned long long)totals->index_entries, (unsigned long long)totals->stream_records,
           (unsigned long long)totals->earlier_versions);
}

/* Files of a backup against its manifest, and every block of its SST files. */
static int check_backup(const char *directory, struct store_report *report, struct err *err)
{
    struct backup_options options = {
        .progress = print_progress, .report = store_report_file, .context = report};
    struct backup_manifest manifest;
    bool good = backup_open(directory, err->arena, &manifest, err) &&
                backup_verify(&options, directory, &manifest, err);
    store_report_end_progress(report);
    if (!good) {
        struct finding finding = {.severity = FINDING_DAMAGE,
                                  .file = "the backup",
                                  .offset = -1,
                                  .text = arena_copy_c(err->arena, err->message).data};
        store_report_file(report, &finding);
    }
    if (report->is_json) {
        printf("{\"damaged\":%s,\"findings\":%llu,\"files\":%zu}\n",
               report->damage_count > 0 ? "true" : "false",
               (unsigned long long)report->damage_count, good ? manifest.file_count : 0);
    }
    store_report_line(report, "%s: %s", directory,
                      report->damage_count == 0 ? "a good backup" : "a damaged backup");
    return report->damage_count == 0 ? EXIT_GOOD : EXIT_DAMAGED;
}

/* Appends a word for a shell, in single quotes if it needs them. */
static void add_shell_word(struct buf *out, const char *word)
{
    static const char plain[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-./:@%+=,";
    if (word[strspn(word, plain)] == '\0') {
        buf_add(out, str_from_c(word));
        return;
    }
    buf_add_char(out, '\'');
    for (; *word != '\0'; word++) {
        buf_add(out, *word == '\'' ? STR("'\\''") : str_make(word, 1));
    }
    buf_add_char(out, '\'');
}

/* Makes the name of a directory beside the store that does not exist yet. */
static void make_new_name(struct buf *out, const char *directory)
{
    char *full = realpath(directory, NULL); /* "." and "store/" have no name to add to */
    buf_format(out, "%s-repaired", full != NULL ? full : directory);
    free(full);
    size_t len = out->len;
    for (int number = 2; access(out->data, F_OK) == 0; number++) {
        out->len = len;
        buf_format(out, "-%d", number);
    }
}

/* Prints the command that saves what is left. */
static void print_repair(struct store_report *report, const char *directory)
{
    struct buf command = {0};
    struct buf target = {0};
    make_new_name(&target, directory);
    add_shell_word(&command, directory);
    buf_add_char(&command, ' ');
    add_shell_word(&command, target.data);
    store_report_line(report, "%s: damaged, %llu findings; this saves what is left:", directory,
                      (unsigned long long)report->damage_count);
    store_report_line(report, "gramme repair %.*s", STR_ARG(buf_str(&command)));
    buf_finish(&command);
    buf_finish(&target);
}

static int check_store(const char *directory, struct store_report *report, struct err *err)
{
    if (!store_report_is_directory(directory, err)) {
        return EXIT_CANNOT_CHECK;
    }
    if (backup_is_one(directory)) {
        return check_backup(directory, report, err);
    }
    struct image_options options = {
        .directory = directory, .report = store_report_file, .context = report};
    struct image *image;
    if (!image_open(&options, &image, err)) {
        return EXIT_CANNOT_CHECK;
    }
    struct verifier *verifier =
        verifier_create(image_summary(image)->seed, store_report_rows, report);
    report->describe_space = describe_space;
    report->context = verifier;
    verify_rows(image, verifier, report);
    struct verify_totals totals;
    verifier_totals(verifier, &totals);
    print_totals(report, image_summary(image), &totals);
    verifier_destroy(verifier);
    image_close(image);
    if (report->damage_count == 0) {
        store_report_line(report, "%s: good", directory);
        return EXIT_GOOD;
    }
    print_repair(report, directory);
    return EXIT_DAMAGED;
}

int check_command(int argc, char **argv)
{
    struct store_report report = {0};
    const char *directory = NULL;
    for (int i = 0; i < argc; i++) {
        if (is_help_argument(argv[i])) {
            return print_help(0);
        }
        if (strcmp(argv[i], "--json") == 0) {
            report.is_json = true;
        } else if (argv[i][0] == '-' || directory != NULL) {
            return print_help(EXIT_CANNOT_CHECK);
        } else {
            directory = argv[i];
        }
    }
    if (directory == NULL) {
        return print_help(EXIT_CANNOT_CHECK);
    }
    struct arena arena;
    arena_init(&arena);
    struct err err = ERR_INIT(&arena);
    int status = check_store(directory, &report, &err);
    if (status == EXIT_CANNOT_CHECK) {
        fprintf(stderr, "gramme check: %.*s\n", STR_ARG(err.message));
    }
    arena_finish(&arena);
    return status;
}
