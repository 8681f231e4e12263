/* `gramme patterns`: lists the access patterns that a server has seen, writes them down as a
 * contract, and checks traffic against one. Runs on the main thread. */
#include "base/base.h"
#include "base/terminal.h"
#include "cli/commands.h"
#include "cli/contract.h"
#include "cli/insight_client.h"
#include "json/writer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
    "Usage: gramme patterns list|record|check FILE|reset [options]\n\n"
    "  list          prints the patterns, those with most units first\n"
    "  record        writes a contract with all patterns to standard output\n"
    "  check FILE    compares the patterns with a contract; exit status 1 if they violate it\n"
    "  reset         deletes all counts\n\n"
    "Options:\n"
    "  --endpoint URL   of the server (default " REMOTE_DEFAULT ", or GRAMME_ENDPOINT)\n"
    "  --ca-file FILE   authorities that an https:// server is trusted by (default: those of the\n"
    "                   system, or AWS_CA_BUNDLE)\n"
    "  --table NAME     only this table\n"
    "  --json           list: prints JSON, one pattern per line, as the insight API returns them\n"
    "  --junit FILE     check: writes the result as JUnit XML, too\n"
    "  --require-all    check: fails if no call of a declared pattern succeeded\n\n"
    "Requests are signed if AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY are set.\n\n"
    "In a test run:\n"
    "  gramme patterns reset && run-the-tests && gramme patterns check patterns.json\n";

struct arguments {
    const char *command;
    const char *file;
    const char *endpoint;
    const char *ca_file;
    const char *table;
    const char *junit;
    bool json;
    bool requires_all;
};

static int complain(const char *text, const char *about)
{
    fprintf(stderr, "gramme patterns: %s%s (gramme patterns --help)\n", text, about);
    return 2;
}

/* 0: understood. */
static int read_arguments(int argc, char **argv, struct arguments *out)
{
    const struct {
        const char *name;
        const char **value;
    } options[] = {
        {"--endpoint", &out->endpoint},
        {"--ca-file", &out->ca_file},
        {"--table", &out->table},
        {"--junit", &out->junit},
    };
    for (int i = 0; i < argc; i++) {
        size_t k = 0;
        while (k < COUNT_OF(options) && strcmp(argv[i], options[k].name) != 0) {
            k++;
        }
        if (k < COUNT_OF(options)) {
            if (i + 1 == argc) {
                return complain("a value is missing behind ", argv[i]);
            }
            *options[k].value = argv[++i];
        } else if (strcmp(argv[i], "--json") == 0) {
            out->json = true;
        } else if (strcmp(argv[i], "--require-all") == 0) {
            out->requires_all = true;
        } else if (argv[i][0] == '-') {
            return complain("unknown option ", argv[i]);
        } else if (out->command == NULL) {
            out->command = argv[i];
        } else if (out->file == NULL) {
            out->file = argv[i];
        } else {
            return complain("too many arguments: ", argv[i]);
        }
    }
    bool is_check = out->command != NULL && strcmp(out->command, "check") == 0;
    if (is_check && out->file == NULL) {
        return complain("check needs the file of a contract", "");
    }
    if (out->json && (out->command == NULL || strcmp(out->command, "list") != 0)) {
        return complain("--json is for list", "");
    }
    if (out->requires_all && !is_check) {
        return complain("--require-all is for check", "");
    }
    return !is_check && out->file != NULL ? complain("too many arguments: ", out->file) : 0;
}

/* All patterns, page by page, as one list. */
static bool fetch_all(struct insight_client *client, const struct arguments *arguments,
                      struct json_node **out, struct err *err)
{
    struct json_node **end = out;
    *out = NULL;
    for (size_t offset = 0;; offset += 1000) {
        struct json_node *page;
        struct str path = arena_format(client->arena, "patterns?limit=1000&offset=%zu%s%s", offset,
                                       arguments->table != NULL ? "&table=" : "",
                                       arguments->table != NULL ? arguments->table : "");
        if (!insight_client_call(client, "GET", path.data, &page, err)) {
            return false;
        }
        const struct json_node *list = json_get(page, "patterns");
        *end = list == NULL ? NULL : list->first;
        if (*end == NULL) {
            return true;
        }
        while (*end != NULL) {
            end = &(*end)->next;
        }
        if ((double)(offset + 1000) >= json_get_number(page, "total")) {
            return true;
        }
    }
}

static void write_json(struct buf *out, const struct json_node *node)
{
    bool is_object = node->kind == JSON_OBJECT;
    if (!is_object && node->kind != JSON_ARRAY) {
        if (node->kind == JSON_STRING) {
            json_write_string(out, node->text);
        } else if (node->kind == JSON_BOOL) {
            json_write_bool(out, node->truth);
        } else {
            buf_add(out, node->kind == JSON_NULL ? STR("null") : node->text);
        }
        return;
    }
    buf_add_char(out, is_object ? '{' : '[');
    for (const struct json_node *member = node->first; member != NULL; member = member->next) {
        if (is_object) {
            json_write_string(out, member->name);
            buf_add_char(out, ':');
        }
        write_json(out, member);
        buf_add(out, member->next != NULL ? STR(",") : STR(""));
    }
    buf_add_char(out, is_object ? '}' : ']');
}

static void list_json(const struct json_node *patterns)
{
    struct buf line = {0};
    for (; patterns != NULL; patterns = patterns->next) {
        line.len = 0;
        write_json(&line, patterns);
        buf_add_char(&line, '\n');
        fwrite(line.data, 1, line.len, stdout);
    }
    buf_finish(&line);
}

static void list(struct arena *arena, const struct json_node *patterns)
{
    printf("%10s %8s %10s %10s %9s %9s %9s  %s\n", "calls", "errors", "read units", "write units",
           "returned", "p50 us", "p99 us", "pattern");
    for (; patterns != NULL; patterns = patterns->next) {
        const struct json_node *latency = json_get(patterns, "latency");
        struct str text = terminal_text(arena, json_get_text(patterns, "text"));
        double read = json_get_number(patterns, "itemsRead");
        char returned[32] = "";
        if (read > 0) {
            snprintf(returned, sizeof(returned), "%.0f %%",
                     100 * json_get_number(patterns, "itemsReturned") / read);
        }
        printf("%10.0f %8.0f %10.1f %11.1f %9s %9.0f %9.0f  %.*s\n",
               json_get_number(patterns, "calls"), json_get_number(patterns, "errors"),
               json_get_number(patterns, "readUnits"), json_get_number(patterns, "writeUnits"),
               returned, json_get_number(latency, "p50Us"), json_get_number(latency, "p99Us"),
               STR_ARG(text));
    }
}

static int check_contract(struct arena *arena, const struct arguments *arguments,
                          const struct json_node *patterns, struct err *err)
{
    struct contract contract;
    if (!contract_read(&contract, arena, arguments->file, err)) {
        fprintf(stderr, "gramme patterns: %.*s\n", STR_ARG(err->message));
        return 2;
    }
    struct contract_report report;
    contract_check(&contract, patterns, arguments->table, arguments->requires_all, arena, &report);
    contract_print(&report, arena, stdout);
    if (patterns == NULL) {
        printf("No calls were seen%s%s: nothing was checked.\n",
               arguments->table != NULL ? " of table " : "",
               arguments->table != NULL ? arguments->table : "");
    }
    if (arguments->junit != NULL && !contract_write_junit(&report, arguments->junit, err)) {
        fprintf(stderr, "gramme patterns: %.*s\n", STR_ARG(err->message));
        return 2;
    }
    bool is_empty = report.count == 0; /* with --table: perhaps a mistyped name */
    return report.failed_count > 0 || (arguments->requires_all && is_empty) ? 1 : 0;
}

static int run(struct arena *arena, struct insight_client *client,
               const struct arguments *arguments, struct err *err)
{
    struct json_node *patterns;
    if (strcmp(arguments->command, "reset") == 0) {
        return insight_client_call(client, "POST", "reset", &patterns, err) ? 0 : 3;
    }
    bool is_known = strcmp(arguments->command, "list") == 0 ||
                    strcmp(arguments->command, "record") == 0 ||
                    strcmp(arguments->command, "check") == 0;
    if (!is_known) {
        return complain("unknown command ", arguments->command);
    }
    if (!fetch_all(client, arguments, &patterns, err)) {
        return 3;
    }
    if (strcmp(arguments->command, "list") == 0) {
        if (arguments->json) {
            list_json(patterns);
        } else {
            list(arena, patterns);
        }
        return 0;
    }
    if (strcmp(arguments->command, "record") == 0) {
        contract_record(patterns, stdout);
        return 0;
    }
    return check_contract(arena, arguments, patterns, err);
}

int patterns_command(int argc, char **argv)
{
    struct arguments arguments = {.endpoint = getenv("GRAMME_ENDPOINT")};
    if (argc == 0 || is_help_argument(argv[0])) {
        fputs(help, argc == 0 ? stderr : stdout);
        return argc == 0 ? 2 : 0;
    }
    int status = read_arguments(argc, argv, &arguments);
    if (status != 0) {
        return status;
    }
    if (arguments.command == NULL) {
        return complain("a command is missing", "");
    }
    struct arena arena;
    arena_init(&arena);
    struct err err = ERR_INIT(&arena);
    struct insight_client client;
    const char *endpoint = arguments.endpoint != NULL ? arguments.endpoint : REMOTE_DEFAULT;
    status = insight_client_init(&client, &arena, endpoint, arguments.ca_file, &err)
                 ? run(&arena, &client, &arguments, &err)
                 : 2;
    if (err.code != ERR_NONE && status != 0) {
        fprintf(stderr, "gramme patterns: %.*s\n", STR_ARG(err.message));
    }
    arena_finish(&arena);
    return status;
}
