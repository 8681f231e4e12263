/* Finds and runs commands; \help, \quit and \i. Main thread. */
#include "shell/commands_internal.h"

#include <ctype.h>
#include <stdio.h>

enum { SCRIPT_DEPTH_MAX = 16 };

static const struct command commands[] = {
#define COMMAND(function, name, alias, arguments, places, summary)                                 \
    {function, name, alias, arguments, places, summary},
#include "shell/commands.def"
#undef COMMAND
};

size_t commands_count(void)
{
    return COUNT_OF(commands);
}

const struct command *commands_at(size_t i)
{
    return &commands[i];
}

const struct command *commands_find(struct str name)
{
    if (str_starts_with(name, STR("\\"))) {
        name = str_skip(name, 1);
    }
    for (size_t i = 0; name.len > 0 && i < COUNT_OF(commands); i++) {
        if (str_eq(name, str_from_c(commands[i].name)) ||
            str_eq(name, str_from_c(commands[i].alias))) {
            return &commands[i];
        }
    }
    return NULL;
}

enum place commands_place(const struct command *command, size_t word)
{
    size_t count = strlen(command->places);
    char place = count == 0 ? '\0' : command->places[MIN(word, count) - 1];
    if (place == 'p') {
        return PLACE_STATEMENT;
    }
    if (word > count) {
        return count == 0 ? PLACE_NONE : PLACE_ANY;
    }
    switch (place) {
    case 't':
        return PLACE_TABLE;
    case 'f':
        return PLACE_FILE;
    case 's':
        return PLACE_SETTING;
    case 'v':
        return PLACE_VALUE;
    case 'c':
        return PLACE_COMMAND;
    default:
        return PLACE_ANY;
    }
}

struct str word_at(const struct invocation *invocation, size_t i)
{
    return i < invocation->words.count ? invocation->words.text[i] : STR_NULL;
}

bool fail_usage(struct session *session, const struct invocation *invocation)
{
    const struct command *command = commands_find(invocation->words.text[0]);
    return fail(session, "usage: \\%s %s", command->name, command->arguments);
}

bool commands_run(struct session *session, struct str text)
{
    size_t len = 0;
    while (len < text.len && !isspace((unsigned char)text.data[len])) {
        len++;
    }
    const struct command *command = commands_find(str_make(text.data, len));
    if (command == NULL) {
        return fail(session, "unknown command %.*s; \\help lists them", (int)len, text.data);
    }
    struct arena arena;
    arena_init(&arena);
    struct invocation invocation = {.arena = &arena, .rest = str_skip(text, len)};
    while (invocation.rest.len > 0 && isspace((unsigned char)invocation.rest.data[0])) {
        invocation.rest = str_skip(invocation.rest, 1);
    }
    bool takes_statement = strcmp(command->places, "p") == 0; /* its quotes are PartiQL's */
    struct str words = takes_statement ? str_make(text.data, len) : text;
    const char *problem = split_words(&arena, words, &invocation.words);
    bool good = problem == NULL ? command->run(session, &invocation) : fail(session, "%s", problem);
    arena_finish(&arena);
    return good;
}

/* --- \help, \quit, \i --- */

static void print_command(struct session *session, const struct command *command)
{
    enum { SUMMARY_COLUMN = 36 };
    size_t start = session->out.len;
    buf_format(&session->out, "  \\%s %s", command->name, command->arguments);
    if (session->out.len - start >= SUMMARY_COLUMN) {
        buf_add_char(&session->out, '\n');
        start = session->out.len;
    }
    while (session->out.len - start < SUMMARY_COLUMN) {
        buf_add_char(&session->out, ' ');
    }
    buf_format(&session->out, "%s", command->summary);
    if (command->alias[0] != '\0') {
        buf_format(&session->out, " (also \\%s)", command->alias);
    }
    buf_add_char(&session->out, '\n');
}

bool run_help(struct session *session, const struct invocation *invocation)
{
    struct str name = word_at(invocation, 1);
    if (!str_is_null(name)) {
        const struct command *command = commands_find(name);
        if (command == NULL) {
            return fail(session, "there is no command %.*s", STR_ARG(name));
        }
        print_command(session, command);
        return true;
    }
    buf_add(&session->out,
            STR("PartiQL statements end with a semicolon and may have several lines:\n"
                "  SELECT * FROM \"Music\" WHERE Artist = 'Nina Simone';\n"
                "  INSERT INTO \"Music\" VALUE {'Artist': 'a', 'Song': 'b'};\n\n"
                "Commands end with their line:\n"));
    for (size_t i = 0; i < COUNT_OF(commands); i++) {
        print_command(session, &commands[i]);
    }
    buf_add(&session->out, STR("\nTab completes. Ctrl-C stops what runs, or drops the line. "
                               "Words with blanks need quotes: 'Nina Simone'.\n"));
    return true;
}

bool run_quit(struct session *session, const struct invocation *invocation)
{
    (void)invocation;
    session->is_quitting = true;
    return true;
}

bool run_include(struct session *session, const struct invocation *invocation)
{
    if (invocation->words.count != 2) {
        return fail_usage(session, invocation);
    }
    if (session->script_depth >= SCRIPT_DEPTH_MAX) {
        return fail(session, "files include each other too deeply");
    }
    struct buf text = {0};
    bool good = read_whole_file(session, invocation->words.text[1].data, &text);
    if (good) {
        session->script_depth++;
        good = run_script(session, buf_str(&text)) ||
               fail(session, "stopped in %s", invocation->words.text[1].data);
        session->script_depth--;
    }
    buf_finish(&text);
    return good;
}
