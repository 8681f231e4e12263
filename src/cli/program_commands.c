/* Commands that are programs of their own, installed beside `gramme`, so that the server does not
 * contain them: `gramme bench` (gramme-bench), `gramme shell`, `gramme export`, `gramme import`,
 * `gramme mcp`, and backups and restores of tables (gramme-client).
 * Replaces this process with the program. Runs on the main thread. */
#include "base/mem.h"
#include "cli/commands.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Writes the path of a program in the directory of this one. False: it is not known or too long. */
static bool find_program(const char *name, char out[PATH_MAX])
{
    ssize_t len = readlink("/proc/self/exe", out, PATH_MAX);
    char *slash = len <= 0 || len == PATH_MAX ? NULL : memrchr(out, '/', (size_t)len);
    if (slash == NULL || (size_t)(slash + 1 - out) + strlen(name) >= PATH_MAX) {
        return false;
    }
    memcpy(slash + 1, name, strlen(name) + 1);
    return true;
}

/* Runs the program, with `command` before the arguments if it is not NULL. Returns on failure only.
 */
static int run_program(const char *name, char *command, int argc, char **argv)
{
    char path[PATH_MAX];
    if (!find_program(name, path)) {
        fprintf(stderr, "gramme: cannot find %s\n", name);
        return 1;
    }
    char **arguments = mem_zalloc(((size_t)argc + 3) * sizeof(*arguments));
    size_t count = 0;
    arguments[count++] = path;
    if (command != NULL) {
        arguments[count++] = command;
    }
    memcpy(arguments + count, argv, (size_t)argc * sizeof(*arguments));
    execv(path, arguments);
    fprintf(stderr, "gramme: cannot run %s: %s\n", path, strerror(errno));
    mem_free(arguments);
    return 1;
}

int bench_command(int argc, char **argv)
{
    return run_program("gramme-bench", NULL, argc, argv);
}

int client_command(const char *name, int argc, char **argv)
{
    char command[16];
    snprintf(command, sizeof(command), "%s", name);
    return run_program("gramme-client", command, argc, argv);
}

int shell_command(int argc, char **argv)
{
    return client_command("shell", argc, argv);
}

int export_command(int argc, char **argv)
{
    return client_command("export", argc, argv);
}

int mcp_command(int argc, char **argv)
{
    return client_command("mcp", argc, argv);
}

int import_command(int argc, char **argv)
{
    return client_command("import", argc, argv);
}
