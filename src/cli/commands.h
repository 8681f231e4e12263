/* cli/commands.h: the functions behind the commands of commands.def. */
#ifndef GRAMME_CLI_COMMANDS_H
#define GRAMME_CLI_COMMANDS_H

#include <stdbool.h>

/* Each takes the arguments after the command's name and returns the exit status: 0 on success, 2
 * if the command line is wrong, anything else as the command's help says. */
#define COMMAND(function, name, arguments, summary) int function(int argc, char **argv);
#include "cli/commands.def"
#undef COMMAND

/* Replaces this process with gramme-client, which runs the command `name`. Returns on failure only:
 * the exit status. */
int client_command(const char *name, int argc, char **argv);

/* Whether the argument asks for help: --help, -h or help. */
bool is_help_argument(const char *argument);

#endif
