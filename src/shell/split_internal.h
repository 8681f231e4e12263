/* shell/split_internal.h: where statements and commands end, and the words of commands. */
#ifndef GRAMME_SHELL_SPLIT_INTERNAL_H
#define GRAMME_SHELL_SPLIT_INTERNAL_H

#include "base/arena.h"

enum split_result {
    SPLIT_NOTHING, /* only white space and comments are left; all of it is skipped */
    SPLIT_ONE,     /* *out is a whole statement, without its semicolon, or a whole command */
    SPLIT_MORE,    /* it is not complete: more lines are needed */
};

/* Takes the first statement or command from *text, which then starts behind it. A statement ends
 * with a semicolon outside of quotes and comments; a command starts with a backslash and ends with
 * its line, or later while brackets of a JSON argument are open. */
enum split_result split_next(struct str *text, struct str *out);

/* Returns the first word of a statement (SELECT, DELETE): the letters behind white space, comments
 * and opening parentheses. Empty if something else stands there. */
struct str split_verb(struct str text);

enum { WORDS_MAX = 32 };

struct words {
    struct str text[WORDS_MAX]; /* without quotes; each ends with NUL */
    struct str raw[WORDS_MAX];  /* as typed */
    size_t count;
};

/* Splits a command into words. Quotes ('...' or "...", doubled inside) make one word of several; a
 * word that starts with { or [ extends to the bracket that closes it. Allocates from `arena`.
 * Returns NULL, or what is wrong. */
MUST_USE const char *split_words(struct arena *arena, struct str text, struct words *out);

#endif
