/* The program `gramme`: finds the command of commands.def that the first argument names, and runs
 * it. Runs on the main thread. */
#include "base/base.h"
#include "cli/commands.h"

#include <stdio.h>
#include <string.h>

struct command {
    int (*run)(int argc, char **argv);
    const char *name;
    const char *arguments;
    const char *summary;
};

static const struct command commands[] = {
#define COMMAND(function, name, arguments, summary) {function, name, arguments, summary},
#include "cli/commands.def"
#undef COMMAND
};

bool is_help_argument(const char *argument)
{
    return strcmp(argument, "--help") == 0 || strcmp(argument, "-h") == 0 ||
           strcmp(argument, "help") == 0;
}

int help_command(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    printf("gramme %s: a DynamoDB-compatible database\n\nUsage:\n", GRAMME_VERSION);
    for (size_t i = 0; i < COUNT_OF(commands); i++) {
        const struct command *command = &commands[i];
        int width = printf("  gramme %s %s", command->name, command->arguments);
        printf("%*s%s\n", MAX(37 - width, 2), "", command->summary);
    }
    printf("\nAny AWS SDK and the AWS CLI can talk to it:\n"
           "  aws dynamodb list-tables --endpoint-url http://127.0.0.1:8000\n");
    return 0;
}

static const struct command *find_command(const char *name)
{
    if (is_help_argument(name)) {
        name = "help";
    } else if (strcmp(name, "--version") == 0) {
        name = "version";
    }
    for (size_t i = 0; i < COUNT_OF(commands); i++) {
        if (strcmp(commands[i].name, name) == 0) {
            return &commands[i];
        }
    }
    return NULL;
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        help_command(0, NULL);
        return 2;
    }
    const struct command *command = find_command(argv[1]);
    if (command == NULL) {
        help_command(0, NULL);
        fprintf(stderr, "\ngramme: unknown command '%s'\n", argv[1]);
        return 2;
    }
    for (int i = 2; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0) { /* also behind other words: gramme key add --help */
            return command->run(1, &argv[i]);
        }
    }
    return command->run(argc - 2, argv + 2);
}
