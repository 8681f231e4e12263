/* The program: one binary with sub-commands. */
#include <stdio.h>
#include <stdlib.h>

#include "bench/bench.h"
#include "server/serve.h"

static void print_help(void)
{
    printf("gramme %s: a DynamoDB-compatible database\n\n"
           "Usage:\n"
           "  gramme serve [options]   serve DynamoDB's HTTP API (gramme serve --help)\n"
           "  gramme bench WORK        measure any DynamoDB endpoint (gramme bench --help)\n"
           "  gramme version           print the version\n"
           "  gramme help              print this\n\n"
           "Any AWS SDK and the AWS CLI can talk to it:\n"
           "  aws dynamodb list-tables --endpoint-url http://127.0.0.1:8000\n",
           GRAMME_VERSION);
}

static void print_serve_help(void)
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
           "  gramme serve --listen 0.0.0.0:8000 --store rocksdb:/var/lib/gramme\n");
}

static bool is_help(const char *argument)
{
    return strcmp(argument, "--help") == 0 || strcmp(argument, "-h") == 0 ||
           strcmp(argument, "help") == 0;
}

static int run_serve(int argc, char **argv)
{
    if (argc > 0 && is_help(argv[0])) {
        print_serve_help();
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

int main(int argc, char **argv)
{
    const char *command = argc > 1 ? argv[1] : "help";
    if (strcmp(command, "serve") == 0) {
        return run_serve(argc - 2, argv + 2);
    }
    if (strcmp(command, "bench") == 0) {
        return bench(argc - 2, argv + 2);
    }
    if (strcmp(command, "version") == 0 || strcmp(command, "--version") == 0) {
        printf("gramme %s\n", GRAMME_VERSION);
        return 0;
    }
    print_help();
    if (is_help(command)) {
        return argc > 1 ? 0 : 2;
    }
    fprintf(stderr, "\ngramme: unknown command '%s'\n", command);
    return 2;
}
