/* The program gramme-client: the commands of `gramme` that use libgramme. It is a program of its
 * own so that the server does not link the line editor. Main thread. */
#include <stdio.h>
#include <string.h>

#include "base/base.h"
#include "mcp/mcp.h"
#include "shell/shell.h"

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        int (*run)(int argc, char **argv);
    } commands[] = {
        {"shell", shell_main},   {"mcp", mcp_main},       {"export", export_main},
        {"import", import_main}, {"backup", backup_main}, {"restore", restore_main},
    };
    for (size_t i = 0; argc > 1 && i < COUNT_OF(commands); i++) {
        if (strcmp(argv[1], commands[i].name) == 0) {
            return commands[i].run(argc - 2, argv + 2);
        }
    }
    fputs("gramme-client: started by `gramme shell` and other commands; see gramme --help\n",
          stderr);
    return 2;
}
