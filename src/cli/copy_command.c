/* `gramme copy`: copies a whole store to another place or kind of store. Runs on the main
 * thread. */
#include <stdio.h>
#include <string.h>

#include "cli/commands.h"
#include "engine/copy.h"

enum { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };
static const size_t cache_bytes = (size_t)256 << 20;

static int print_help(int status)
{
    fprintf(
        status == 0 ? stdout : stderr,
        "Usage: gramme copy SOURCE TARGET\n\n"
        "Copies everything of the store SOURCE to the store TARGET, which must be empty: tables,\n"
        "items, indexes, streams, tokens. Both are URLs (%s).\n"
        "No server may change SOURCE meanwhile. A copy that was interrupted is continued by the\n"
        "same command. At the end both stores are read and compared: each table by items, bytes "
        "and a\n"
        "checksum, and all counters.\n\n"
        "Exit status: 0 the copy is complete and equal, 1 it is not.\n\n"
        "Example:\n"
        "  gramme copy rocksdb:./data postgresql://gramme@db.example.com/gramme\n",
        store_url_kinds());
    return status;
}

static void print_progress(void *context, const struct copy_progress *progress)
{
    (void)context;
    printf("%s %llu rows, %.1f MiB\n", progress->is_comparing ? "compared" : "copied",
           (unsigned long long)progress->rows, (double)progress->bytes / (1 << 20));
    fflush(stdout);
}

static void print_table(void *context, const struct copy_table *table)
{
    (void)context;
    printf("equal: table %.*s, %llu items, %llu rows with %llu bytes, checksum %016llx\n",
           STR_ARG(table->name), (unsigned long long)table->items, (unsigned long long)table->rows,
           (unsigned long long)table->bytes, (unsigned long long)table->checksum);
}

static bool copy(struct str from, struct str to, struct copy_result *result, struct err *err)
{
    struct store *source = NULL;
    struct store *target = NULL;
    struct store_options options = {.cache_bytes = cache_bytes, .worker_count = 1};
    bool ok = store_open(from, &options, &source, err);
    if (ok) {
        options.seed = store_seed(source);
        options.owner = store_owner(source);
        options.claims = true;
        ok = store_open(to, &options, &target, err);
    }
    struct copy_options copy_options = {.progress = print_progress, .table = print_table};
    ok = ok && copy_check_finished(source, err) &&
         store_copy(source, target, &copy_options, result, err);
    store_close(target);
    store_close(source);
    return ok;
}

int copy_command(int argc, char **argv)
{
    if (argc > 0 && is_help_argument(argv[0])) {
        return print_help(EXIT_DONE);
    }
    if (argc != 2 || strcmp(argv[0], argv[1]) == 0) {
        return print_help(EXIT_USAGE);
    }
    struct arena arena;
    arena_init(&arena);
    struct err err = ERR_INIT(&arena);
    struct copy_result result;
    bool ok = copy(str_from_c(argv[0]), str_from_c(argv[1]), &result, &err);
    if (ok) {
        printf("%s: %llu rows with %llu bytes and %llu counters are equal\n",
               result.was_resumed ? "continued and finished" : "finished",
               (unsigned long long)result.rows, (unsigned long long)result.bytes,
               (unsigned long long)result.counters);
    } else {
        fprintf(stderr, "gramme: %.*s\n", STR_ARG(err.message));
    }
    arena_finish(&arena);
    return ok ? EXIT_DONE : EXIT_FAILED;
}
