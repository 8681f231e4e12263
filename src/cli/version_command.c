/* `gramme version`: version, commit, stored formats, libraries. Runs on the main thread. */
#include "cli/build_commit.h"
#include "cli/commands.h"
#include "store/formats.h"

#include <stdio.h>
#include <string.h>

static const char help[] =
    "Usage: gramme version [--json]\n\n"
    "Prints the version, the commit it was built from, the formats of stores that it reads and\n"
    "writes, and the libraries that it was built with.\n\n"
    "Options:\n"
    "  --json   print one JSON object\n";

/* BUILD_LIBRARIES: "name version, name version", from the build. */
static void print_text(void)
{
    printf("gramme %s\ncommit %s\nstore format %d (upgrades %d to %d), on PostgreSQL %d (upgrades "
           "%d)\n"
           "libraries %s\n",
           GRAMME_VERSION, build_commit, STORE_FORMAT, STORE_FORMAT_OLDEST, STORE_FORMAT - 1,
           PG_FORMAT, PG_FORMAT - 1, BUILD_LIBRARIES);
}

static void print_json(void)
{
    printf("{\"version\":\"%s\",\"commit\":\"%s\",\"formats\":{\"store\":%d,\"storeOldest\":%d,"
           "\"postgresql\":%d},\"libraries\":{",
           GRAMME_VERSION, build_commit, STORE_FORMAT, STORE_FORMAT_OLDEST, PG_FORMAT);
    const char *separator = "";
    for (const char *at = BUILD_LIBRARIES; *at != '\0';) {
        size_t name_len = strcspn(at, " ");
        size_t len = strcspn(at, ",");
        printf("%s\"%.*s\":\"%.*s\"", separator, (int)name_len, at, (int)(len - name_len - 1),
               at + name_len + 1);
        separator = ",";
        at += len;
        at += strspn(at, ", ");
    }
    printf("}}\n");
}

int version_command(int argc, char **argv)
{
    if (argc > 0 && is_help_argument(argv[0])) {
        fputs(help, stdout);
        return 0;
    }
    bool is_json = argc == 1 && strcmp(argv[0], "--json") == 0;
    if (argc > 0 && !is_json) {
        fprintf(stderr, "gramme version: unknown option %s (gramme version --help)\n", argv[0]);
        return 2;
    }
    (is_json ? print_json : print_text)();
    return 0;
}
