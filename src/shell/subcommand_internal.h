/* shell/subcommand_internal.h: what `gramme export`, `gramme import`, `gramme backup` and `gramme
 * restore` share: options, the handle, calls and failures. Main thread. */
#ifndef GRAMME_SHELL_SUBCOMMAND_INTERNAL_H
#define GRAMME_SHELL_SUBCOMMAND_INTERNAL_H

#include "base/progress.h"
#include "base/str.h"
#include "gramme/gramme.h"

enum { EXIT_GOOD = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };
enum { SUBCOMMAND_POLL_US = 200 * 1000 };

struct subcommand {
    const char *name; /* as the user typed it: "export" */
    const char *help; /* NULL: another program prints it */
    const char *url;  /* NULL: not given */
    struct gramme_options options;
    struct gramme_db *db; /* after subcommand_open() */
    struct progress progress;
};

/* An option with a value, or one of the words that stand alone. */
struct suboption {
    const char *name;   /* "--format"; NULL: words without a name */
    const char *letter; /* "-f", or NULL */
    const char **value;
    bool is_flag; /* it has no value: *value becomes its name */
};

/* Reads the command line: `options`, which end with {0}, and those that all have: --url, --region,
 * --profile, --ca-file. Each nameless option takes one word, in their order. Returns EXIT_GOOD;
 * otherwise the command is over: *out_is_over, and the status to return. */
MUST_USE int subcommand_read(struct subcommand *command, const struct suboption *options, int argc,
                             char **argv, bool *out_is_over);
/* Prints what is wrong with the command line. Returns EXIT_USAGE. */
int subcommand_complain(const struct subcommand *command, const char *text, const char *about);

/* Opens the database of --url, of GRAMME_ENDPOINT, or of this machine. False: it was reported. */
MUST_USE bool subcommand_open(struct subcommand *command);
/* Sends an operation. NULL: the failure was reported; else the caller destroys the answer. */
MUST_USE struct gramme_answer *subcommand_ask(struct subcommand *command, const char *operation,
                                              const struct gramme_value *parameters);
/* The same with a single parameter, a text. */
MUST_USE struct gramme_answer *subcommand_ask_about(struct subcommand *command,
                                                    const char *operation, const char *parameter,
                                                    const char *value);
/* Prints why the command failed; `code` may be empty. Texts of a server may contain control
 * characters, which are replaced. */
void subcommand_fail(struct subcommand *command, const char *code, const char *message);
/* The same with an error of the library, which it frees; NULL: the server does not keep up. */
void subcommand_fail_with(struct subcommand *command, struct gramme_error *error);

/* Returns `text`, or `other` if it is NULL. */
static inline const char *text_or(const char *text, const char *other)
{
    return text != NULL ? text : other;
}

#endif
