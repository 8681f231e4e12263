/* `gramme serve`: reads the settings and serves until a signal ends it. Runs on the main thread. */
#include "cli/commands.h"
#include "server/serve.h"

#include <stdio.h>

static void print_help(void)
{
    printf(
        "Usage: gramme serve [options]\n\n"
        "Serves DynamoDB's HTTP API until SIGTERM or SIGINT. Every write is on disk before it is\n"
        "answered, except with --store memory:.\n\n"
        "Options (also as GRAMME_NAME in the environment, e.g. GRAMME_LOG_LEVEL=debug):\n");
    config_print_help();
    printf("\nExamples:\n"
           "  gramme serve                                     data in ./data, port 8000\n"
           "  gramme serve --store memory: --listen 127.0.0.1:0    for a test run\n"
           "  gramme serve --listen 0.0.0.0:8000 --auth on --store rocksdb:/var/lib/gramme\n");
}

int serve_command(int argc, char **argv)
{
    if (argc > 0 && is_help_argument(argv[0])) {
        print_help();
        return 0;
    }
    struct arena arena;
    arena_init(&arena);
    struct err err = ERR_INIT(&arena);
    struct config config;
    int status = 2;
    if (config_read(&arena, argc, argv, &config, &err)) {
        status = serve(&config);
    } else {
        fprintf(stderr, "gramme: %.*s\n", STR_ARG(err.message));
    }
    arena_finish(&arena);
    return status;
}
