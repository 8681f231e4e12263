/* `gramme bench`: replaces this process with the load generator, the program gramme-bench in the
 * same directory. It is a program of its own so that the server does not contain it. Runs on the
 * main thread. */
#include "base/mem.h"
#include "cli/commands.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define BENCH_PROGRAM "gramme-bench"

/* Writes the path of gramme-bench to `out`. False: the path is not known or too long. */
static bool find_program(char out[PATH_MAX])
{
    ssize_t len = readlink("/proc/self/exe", out, PATH_MAX - sizeof(BENCH_PROGRAM));
    if (len <= 0 || len == PATH_MAX - (ssize_t)sizeof(BENCH_PROGRAM)) {
        return false;
    }
    out[len] = 0;
    char *slash = strrchr(out, '/');
    memcpy(slash + 1, BENCH_PROGRAM, sizeof(BENCH_PROGRAM));
    return true;
}

int bench_command(int argc, char **argv)
{
    char path[PATH_MAX];
    if (!find_program(path)) {
        fprintf(stderr, "gramme: cannot find " BENCH_PROGRAM "\n");
        return 1;
    }
    char **arguments = mem_zalloc(((size_t)argc + 2) * sizeof(*arguments));
    arguments[0] = path;
    memcpy(arguments + 1, argv, (size_t)argc * sizeof(*arguments));
    execv(path, arguments);
    fprintf(stderr, "gramme: cannot run %s: %s\n", path, strerror(errno));
    mem_free(arguments);
    return 1;
}
