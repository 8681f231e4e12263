/* `gramme backup` and `gramme restore`. Run on the main thread. A backup of a store in use gets a
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
#include "store/backup/backup.h"
#include "store/rocks/identity.h"
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

static int print_backup_help(int status)
{
    fprintf(
        status == 0 ? stdout : stderr,
        "Usage: gramme backup [--rate-mb N] DIR TARGET\n\n"
        "Copies the store in DIR to the directory TARGET, which must be empty or not exist. The\n"
        "copy contains every write that was acknowledged before the command began. A server may\n"
        "use DIR meanwhile; then the command must run on its machine, as the same user or root.\n"
        "If no server uses DIR, the command opens and closes the store itself. It reads the copy\n"
        "again and checks it.\n\n"
        "  --rate-mb N   MiB per second that are copied (default %lld); 0: no limit\n\n"
        "Exit status: 0 the backup is complete; 1 it is complete, but the store has damaged "
        "blocks;\n"
        "2 there is no backup.\n",
        (long long)default_rate_mb);
    return status;
}

static int print_restore_help(int status)
{
    fputs("Usage: gramme restore [--rate-mb N] BACKUP DIR\n\n"
          "Creates a store in DIR, which must be empty or not exist, from a backup. Checks every\n"
          "file while it is copied.\n\n"
          "  --rate-mb N   MiB per second that are copied (default 0: no limit)\n\n"
          "Exit status: 0 the store is complete, 2 there is no store.\n",
          status == 0 ? stdout : stderr);
    return status;
}

/* False: the caller returns *out_status. */
static bool read_arguments(int argc, char **argv, int (*print_help)(int), struct arguments *out,
                           int *out_status)
{
    for (int i = 0; i < argc; i++) {
        if (is_help_argument(argv[i])) {
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
    source->format = STORE_FORMAT;
    buf_format(&source->path, "%s/" CONTROL_CHECKPOINT_NAME, directory);
    control_delete_checkpoint(directory);
    return rocks_checkpoint(source->store, source->path.data, err);
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
    bool good = backup_open(arguments.from, &arena, &manifest, &err) &&
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
