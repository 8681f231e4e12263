/* shell/complete_internal.h: completion: the words that can follow in a statement or command. */
#ifndef GRAMME_SHELL_COMPLETE_INTERNAL_H
#define GRAMME_SHELL_COMPLETE_INTERNAL_H

#include "base/arena.h"
#include "shell/session_internal.h"

enum { CANDIDATES_MAX = 500 };

struct candidates {
    struct arena *arena;
    struct str word;                 /* the part that is typed already: the end of the text */
    struct str list[CANDIDATES_MAX]; /* whole words that start with it; sorted, no duplicates */
    size_t count;
};

/* Finds the words that could complete the last word of `text`, which is everything of the
 * statement up to the cursor. May ask the server for names of tables. */
void complete_find(struct session *session, struct arena *arena, struct str text,
                   struct candidates *out);

#endif
