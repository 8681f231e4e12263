/* `gramme backup` and `gramme restore` of whole stores; gramme-client does those of tables
 * (src/shell/table_backup_command.c). Run on the main thread. A backup of a store in use gets a
 * checkpoint from the server through its control socket; for a store that no server uses, the
 * command opens the store itself. The command copies the files, with low priority. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "cli/commands.h"
#include "cli/store_report.h"
#include "server/control.h"
#include "store/backup/store_backup.h"
#include "store/disk/files.h"
#include "store/disk/identity.h"
#include "store/rocks/rocks.h"

enum { EXIT_GOOD = 0, EXIT_DAMAGED = 1, EXIT_FAILED = 2 };
static const int64_t default_rate_mb = 50;
static const size_t offline_cache_bytes = (size_t)64 << 20;

/* Arguments ------------------------------------------------------------------------------------ */

struct arguments {
    const char *from;
    const char *to;
    uint64_t bytes_per_second;
};

#define BACKUP_COMMON_OPTIONS                                                                      \
    "  -u, --url URL      http://HOST:PORT, https://HOST, aws:, or a store that no server has\n"   \
    "                     open, rocksdb:DIRECTORY (default GRAMME_ENDPOINT, or\n"                  \
    "                     http://127.0.0.1:8000)\n"                                                \
    "  --region NAME      of the service\n"                                                        \
    "  --profile NAME     of the AWS configuration files\n"                                        \
    "  --ca-file FILE     certificates to trust instead of the system's, for https://\n"

static int print_backup_help(int status)
{
    fprintf(
        status == 0 ? stdout : stderr,
        "Usage: gramme backup [--rate-mb N] DIR TARGET\n"
        "       gramme backup [options] --table TABLE\n"
        "       gramme backup [options] --list\n\n"
        "The first form copies the store in DIR to the directory TARGET, which must be empty or\n"
        "not exist. The copy contains every write that was acknowledged before the command began.\n"
        "A server may use DIR meanwhile; then the command must run on its machine, as the same\n"
        "user or root. If no server uses DIR, the command opens and closes the store itself. It\n"
        "reads the copy again and checks it.\n\n"
        "The second form makes a backup of one table, which stays in the store (CreateBackup),\n"
        "and prints its ARN. The third one lists such backups, of all tables or of --table.\n\n"
        "Options:\n"
        "  --rate-mb N        MiB per second that are copied (default %lld); 0: no limit\n"
        "  --table TABLE      the table\n"
        "  --name NAME        of its backup; default: its name and the time\n"
        "  --list             list backups\n" BACKUP_COMMON_OPTIONS
        "\nExit status: 0 the backup is complete; 1 it is complete, but the store has damaged "
        "blocks;\n"
        "2 there is no backup. Of tables: 0 success, 1 the operation failed, 2 wrong options or "
        "no\n"
        "such address.\n\n"
        "Examples:\n"
        "  gramme backup /var/lib/gramme/data /backup/monday\n"
        "  gramme backup --table Music\n"
        "  gramme backup --list --table Music\n",
        (long long)default_rate_mb);
    return status;
}

static int print_restore_help(int status)
{
    fputs(
        "Usage: gramme restore [--rate-mb N] BACKUP DIR\n"
        "       gramme restore [options] --backup ARN --as NEW\n"
        "       gramme restore [options] --table TABLE --to TIME --as NEW\n\n"
        "The first form creates a store in DIR, which must be empty or not exist, from a backup\n"
        "of a store. Checks every file while it is copied.\n\n"
        "The other forms make a new table, from a backup of a table, or as a table was at a time\n"
        "(point-in-time recovery must be on), and wait until it is complete.\n\n"
        "Options:\n"
        "  --rate-mb N        MiB per second that are copied (default 0: no limit)\n"
        "  --backup ARN       a backup of a table (gramme backup --list)\n"
        "  --table TABLE      the table\n"
        "  --to TIME          2026-11-18T07:30:00Z, seconds since 1970, or latest\n"
        "  --as NEW           name of the new table\n" BACKUP_COMMON_OPTIONS
        "\nExit status: 0 the store is complete, 2 there is no store. Of tables: 0 success, 1 the\n"
        "operation failed, 2 wrong options or no such address.\n\n"
        "Examples:\n"
        "  gramme restore /backup/monday /var/lib/gramme/data\n"
        "  gramme restore --table Music --to 2026-11-18T07:30:00Z --as Music-0730\n",
        status == 0 ? stdout : stderr);
    return status;
}

/* Whether a word asks for help: `help` does as the first word only, because a table or a directory
 * can have this name. */
static bool asks_for_help(char **argv, int number)
{
    return is_help_argument(argv[number]) && (number == 0 || argv[number][0] == '-');
}

/* Whether one of the words is an option that only the forms for tables have. */
static bool is_about_tables(int argc, char **argv)
{
    static const char *const options[] = {"--table", "--list", "--backup", "--as"};
    bool found = false;
    for (int i = 0; i < argc; i++) {
        if (asks_for_help(argv, i)) {
            return false;
        }
        for (size_t k = 0; k < COUNT_OF(options); k++) {
            found = found || strcmp(argv[i], options[k]) == 0;
        }
    }
    return found;
}

/* False: the caller returns *out_status. */
static bool read_arguments(int argc, char **argv, int (*print_help)(int), struct arguments *out,
                           int *out_status)
{
    for (int i = 0; i < argc; i++) {
        if (asks_for_help(argv, i)) {
            *out_status = print_help(0);
            return false;
        }
        int64_t rate_mb;
        if (strcmp(argv[i], "--rate-mb") == 0 && i + 1 < argc &&
            str_to_int64(str_from_c(argv[i + 1]), &rate_mb) && rate_mb >= 0 && rate_mb <= 1 << 20) {
            out->bytes_per_second = (uint64_t)rate_mb << 20;
            i++;
        } else if (argv[i][0] != '-' && out->from == NULL) {
            out->from = argv[i];
        } else if (argv[i][0] != '-' && out->to == NULL) {
            out->to = argv[i];
        } else {
            *out_status = print_help(EXIT_FAILED);
            return false;
        }
    }
    *out_status = out->to != NULL ? 0 : print_help(EXIT_FAILED);
    return out->to != NULL;
}

static void print_progress(void *context, uint64_t done_bytes, uint64_t total_bytes)
{
    store_report_progress(context, "copied and checked", done_bytes, total_bytes);
}

/* Where the tables come from ------------------------------------------------------------------- */

struct source {
    int control_fd;      /* of the server; -1: there is none */
    struct store *store; /* opened here; NULL: a server has it */
    struct buf path;     /* of the checkpoint */
    uint64_t seed;
    uint32_t format;
};

/* One line, without its end. */
static bool read_answer(int fd, char *out, size_t capacity)
{
    size_t len = 0;
    while (len + 1 < capacity) {
        ssize_t got = recv(fd, out + len, capacity - len - 1, 0);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            return false;
        }
        len += (size_t)got;
        if (out[len - 1] == '\n') {
            out[len - 1] = '\0';
            return true;
        }
    }
    return false;
}

static bool ask_server(struct source *source, const char *directory, struct err *err)
{
    char answer[1024];
    char name[256];
    unsigned long long seed;
    unsigned format;
    if (send(source->control_fd, "checkpoint\n", 11, MSG_NOSIGNAL) != 11 ||
        !read_answer(source->control_fd, answer, sizeof(answer))) {
        return err_set(err, ERR_INTERNAL, "the server of %s does not answer", directory);
    }
    if (sscanf(answer, "ok %16llx %u %255s", &seed, &format, name) != 3) {
        const char *message = strncmp(answer, "error ", 6) == 0 ? answer + 6 : answer;
        return err_set(err, ERR_INTERNAL, "the server of %s: %s", directory, message);
    }
    source->seed = seed;
    source->format = format;
    buf_format(&source->path, "%s/%s", directory, name);
    return true;
}

static bool open_here(struct source *source, const char *directory, struct err *err)
{
    struct store_options options = {.cache_bytes = offline_cache_bytes, .worker_count = 1};
    if (access(directory, F_OK) != 0) { /* to open it would create a store */
        return err_set(err, ERR_INTERNAL, "%s: %s", directory, strerror(errno));
    }
    struct buf identity = {0};
    buf_format(&identity, "%s/STORE", directory);
    bool is_store = access(identity.data, F_OK) == 0;
    buf_finish(&identity);
    if (!is_store) {
        return err_set(err, ERR_INTERNAL, "there is no store in %s", directory);
    }
    if (!rocks_open_directory(str_from_c(directory), &options, &source->store, err)) {
        return false;
    }
    source->seed = store_seed(source->store);
    buf_format(&source->path, "%s/" CONTROL_CHECKPOINT_NAME, directory);
    control_delete_checkpoint(directory);
    return rocks_checkpoint(source->store, source->path.data, &source->format, err);
}

static bool open_source(struct source *source, const char *directory, struct err *err)
{
    *source = (struct source){.control_fd = control_connect(directory)};
    if (source->control_fd >= 0) {
        return ask_server(source, directory, err);
    }
    if (errno != ENOENT && errno != ECONNREFUSED) {
        return err_set(err, ERR_INTERNAL, "cannot ask the server of %s: %s", directory,
                       strerror(errno));
    }
    return open_here(source, directory, err);
}

static void close_source(struct source *source, const char *directory)
{
    if (source->control_fd >= 0) {
        close(source->control_fd); /* the server deletes the checkpoint */
    }
    if (source->store != NULL) {
        control_delete_checkpoint(directory);
        store_close(source->store);
    }
    buf_finish(&source->path);
}

/* Commands ------------------------------------------------------------------------------------- */

/* Gives the server precedence: for the processor, and for the disk if its scheduler supports
 * priorities. */
static void lower_priority(void)
{
    enum { IOPRIO_WHO_PROCESS = 1, IOPRIO_CLASS_IDLE = 3, IOPRIO_CLASS_SHIFT = 13 };
    int ignored = setpriority(PRIO_PROCESS, 0, 10);
    ignored += (int)syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, 0,
                            IOPRIO_CLASS_IDLE << IOPRIO_CLASS_SHIFT);
    (void)ignored;
}

static uint64_t size_of(const struct backup_manifest *manifest)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < manifest->file_count; i++) {
        bytes += manifest->files[i].size_bytes;
    }
    return bytes;
}

static bool back_up(const struct arguments *arguments, struct store_report *report,
                    struct arena *arena, struct backup_manifest *manifest, struct err *err)
{
    struct backup_options options = {.bytes_per_second = arguments->bytes_per_second,
                                     .progress = print_progress,
                                     .report = store_report_file,
                                     .context = report};
    struct source source;
    /* URLs first: a message about a path would print the password of one. */
    if (!store_report_is_directory(arguments->from, err) ||
        !store_report_is_directory(arguments->to, err) ||
        !files_check_outside(arguments->to, arguments->from, err)) {
        return false;
    }
    manifest->created_ms = clock_wall_ms();
    bool good = open_source(&source, arguments->from, err);
    if (good) {
        manifest->seed = source.seed;
        manifest->format = source.format;
        good = backup_write(&options, source.path.data, arguments->to, arena, manifest, err);
    }
    close_source(&source, arguments->from);
    store_report_end_progress(report);
    return good;
}

int backup_command(int argc, char **argv)
{
    struct arguments arguments = {.bytes_per_second = (uint64_t)default_rate_mb << 20};
    int status;
    if (is_about_tables(argc, argv)) {
        return client_command("backup", argc, argv);
    }
    if (!read_arguments(argc, argv, print_backup_help, &arguments, &status)) {
        return status;
    }
    struct arena arena;
    arena_init(&arena);
    struct err err = ERR_INIT(&arena);
    struct store_report report = {0};
    struct backup_manifest manifest = {0};
    lower_priority();
    status = EXIT_FAILED;
    if (!back_up(&arguments, &report, &arena, &manifest, &err)) {
        fprintf(stderr, "gramme backup: %.*s\n", STR_ARG(err.message));
    } else {
        status = report.damage_count > 0 ? EXIT_DAMAGED : EXIT_GOOD;
        printf("%s: %zu files, %llu MiB%s\n", arguments.to, manifest.file_count,
               (unsigned long long)(size_of(&manifest) >> 20),
               status == EXIT_DAMAGED ? "; the store has damaged blocks, and so has the backup"
                                      : "");
    }
    arena_finish(&arena);
    return status;
}

int restore_command(int argc, char **argv)
{
    struct arguments arguments = {0};
    int status;
    if (is_about_tables(argc, argv)) {
        return client_command("restore", argc, argv);
    }
    if (!read_arguments(argc, argv, print_restore_help, &arguments, &status)) {
        return status;
    }
    struct arena arena;
    arena_init(&arena);
    struct err err = ERR_INIT(&arena);
    struct store_report report = {0};
    struct backup_manifest manifest;
    struct backup_options options = {.bytes_per_second = arguments.bytes_per_second,
                                     .progress = print_progress,
                                     .context = &report};
    bool good = store_report_is_directory(arguments.from, &err) &&
                store_report_is_directory(arguments.to, &err) &&
                backup_open(arguments.from, &arena, &manifest, &err) &&
                backup_restore(&options, arguments.from, &manifest, arguments.to, &err);
    store_report_end_progress(&report);
    if (good) {
        printf("%s: %zu files, %llu MiB\n", arguments.to, manifest.file_count,
               (unsigned long long)(size_of(&manifest) >> 20));
    } else {
        fprintf(stderr, "gramme restore: %.*s\n", STR_ARG(err.message));
    }
    arena_finish(&arena);
    return good ? EXIT_GOOD : EXIT_FAILED;
}
