/* Options, the handle, calls and failures of the commands of gramme-client that are not the shell:
 * see subcommand_internal.h. */
#include "shell/subcommand_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/terminal.h"

#define URL_DEFAULT "http://127.0.0.1:8000"

/* --- options --- */

int subcommand_complain(const struct subcommand *command, const char *text, const char *about)
{
    fprintf(stderr, "gramme %s: %s%s (gramme %s --help)\n", command->name, text, about,
            command->name);
    return EXIT_USAGE;
}

static bool has_name(const struct suboption *option, const char *word)
{
    return option->name != NULL && (strcmp(word, option->name) == 0 ||
                                    (option->letter != NULL && strcmp(word, option->letter) == 0));
}

static const struct suboption *find_option(const struct suboption *options, const char *word)
{
    const struct suboption *option = options;
    while (option->value != NULL && !has_name(option, word)) {
        option++;
    }
    return option->value != NULL ? option : NULL;
}

/* The first nameless option that has no value yet. */
static const struct suboption *find_word(const struct suboption *options)
{
    const struct suboption *option = options;
    while (option->value != NULL && (option->name != NULL || *option->value != NULL)) {
        option++;
    }
    return option->value != NULL ? option : NULL;
}

static bool is_option(const char *word)
{
    return word[0] == '-' && word[1] != '\0';
}

/* Reads one option or word, and increments *at if it has a value of its own. */
static int read_one(struct subcommand *command, const struct suboption *options, int argc,
                    char **argv, int *at)
{
    const struct suboption common[] = {
        {"--url", "-u", &command->url, false},
        {"--region", NULL, &command->options.region, false},
        {"--profile", NULL, &command->options.profile, false},
        {"--ca-file", NULL, &command->options.ca_file, false},
        {0},
    };
    const char *word = argv[*at];
    const struct suboption *option = is_option(word) ? find_option(options, word) : NULL;
    if (!is_option(word)) {
        option = find_word(options);
        if (option == NULL) {
            return subcommand_complain(command, "too many arguments: ", word);
        }
        *option->value = word;
        return EXIT_GOOD;
    }
    option = option != NULL ? option : find_option(common, word);
    if (option == NULL) {
        return subcommand_complain(command, "unknown option ", word);
    }
    if (!option->is_flag && *at + 1 == argc) {
        return subcommand_complain(command, "a value is missing behind ", word);
    }
    *option->value = option->is_flag ? option->name : argv[++*at];
    return EXIT_GOOD;
}

int subcommand_read(struct subcommand *command, const struct suboption *options, int argc,
                    char **argv, bool *out_is_over)
{
    int status = EXIT_GOOD;
    *out_is_over = false;
    for (int i = 0; i < argc; i++) {
        if (command->help != NULL &&
            (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)) {
            fputs(command->help, stdout);
            *out_is_over = true;
            return EXIT_GOOD;
        }
    }
    for (int i = 0; status == EXIT_GOOD && i < argc; i++) {
        status = read_one(command, options, argc, argv, &i);
    }
    *out_is_over = status != EXIT_GOOD;
    return status;
}

/* --- failures --- */

void subcommand_fail(struct subcommand *command, const char *code, const char *message)
{
    struct buf safe = {0};
    progress_end(&command->progress);
    terminal_add_text(&safe, str_from_c(code));
    buf_add(&safe, code[0] == '\0' ? STR("") : STR(": "));
    terminal_add_text(&safe, str_from_c(message));
    fprintf(stderr, "gramme %s: %.*s\n", command->name, STR_ARG(buf_str(&safe)));
    buf_finish(&safe);
}

void subcommand_fail_with(struct subcommand *command, struct gramme_error *error)
{
    if (error == NULL) {
        subcommand_fail(command, "", "the server does not keep up");
    } else {
        subcommand_fail(command, gramme_error_code(error), gramme_error_message(error));
    }
    gramme_error_destroy(error);
}

/* --- the handle and calls --- */

bool subcommand_open(struct subcommand *command)
{
    const char *endpoint = getenv("GRAMME_ENDPOINT");
    bool has_endpoint = endpoint != NULL && endpoint[0] != '\0';
    struct gramme_error *error = NULL;
    command->url = text_or(command->url, has_endpoint ? endpoint : URL_DEFAULT);
    command->db = gramme_open(command->url, &command->options, &error);
    if (command->db == NULL) {
        subcommand_fail_with(command, error);
    }
    return command->db != NULL;
}

struct gramme_answer *subcommand_ask(struct subcommand *command, const char *operation,
                                     const struct gramme_value *parameters)
{
    struct gramme_error *error = NULL;
    size_t len;
    char *json = gramme_value_to_json(parameters, GRAMME_WIRE, &len);
    if (json == NULL) {
        subcommand_fail(command, "",
                        text_or(gramme_value_problem(parameters), "the request cannot be written"));
        return NULL;
    }
    struct gramme_answer *answer = gramme_call(command->db, operation, json, len, &error);
    gramme_free(json);
    if (answer == NULL) {
        subcommand_fail_with(command, error);
    }
    return answer;
}

struct gramme_answer *subcommand_ask_about(struct subcommand *command, const char *operation,
                                           const char *parameter, const char *value)
{
    struct gramme_value *parameters = gramme_map_create();
    gramme_set_string(parameters, parameter, value);
    struct gramme_answer *answer = subcommand_ask(command, operation, parameters);
    gramme_value_destroy(parameters);
    return answer;
}
