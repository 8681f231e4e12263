/* shell/commands_internal.h: the commands of commands.def. */
#ifndef GRAMME_SHELL_COMMANDS_INTERNAL_H
#define GRAMME_SHELL_COMMANDS_INTERNAL_H

#include "shell/session_internal.h"
#include "shell/split_internal.h"

/* A command as it was typed. */
struct invocation {
    struct arena *arena; /* for this command */
    struct words words;  /* [0] is the command itself */
    struct str rest;     /* everything behind its name */
};

struct command {
    /* Runs the command and prints the result; false: the failure is recorded. */
    bool (*run)(struct session *session, const struct invocation *invocation);
    const char *name;
    const char *alias;
    const char *arguments;
    const char *places;
    const char *summary;
};

/* What a word of a command can be. */
enum place {
    PLACE_NONE,
    PLACE_ANY,
    PLACE_TABLE,
    PLACE_FILE,
    PLACE_SETTING,
    PLACE_VALUE,
    PLACE_COMMAND,
    PLACE_STATEMENT,
};

#define COMMAND(function, name, alias, arguments, places, summary)                                 \
    bool function(struct session *session, const struct invocation *invocation);
#include "shell/commands.def"
#undef COMMAND

/* Returns the number of commands. */
size_t commands_count(void);
/* Returns one of them. */
const struct command *commands_at(size_t i);
/* Finds a command by its name or alias, with or without the backslash; NULL: there is none. */
const struct command *commands_find(struct str name);
/* Returns what a word of a command can be; word 1 is the first after its name. */
enum place commands_place(const struct command *command, size_t word);
/* Calls visit with the name of each setting. */
void commands_each_setting(void (*visit)(void *context, const char *name), void *context);
/* Calls visit with each word that a setting can have; there are none for numbers. */
void commands_each_value(struct str setting, void (*visit)(void *context, struct str value),
                         void *context);
/* Runs a command, given with its backslash. */
MUST_USE bool commands_run(struct session *session, struct str text);
/* Runs a PartiQL statement, given without its semicolon. */
MUST_USE bool statement_run(struct session *session, struct str text);
/* Changes a setting. */
MUST_USE bool settings_set(struct session *session, struct str name, struct str value);
/* Fails, with the command's syntax. */
bool fail_usage(struct session *session, const struct invocation *invocation);
/* Returns a word of a command; STR_NULL if there are fewer. */
struct str word_at(const struct invocation *invocation, size_t i);

#endif
