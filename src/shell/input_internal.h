/* shell/input_internal.h: the line editor: lines with history and completion, and questions. Of
 * interactive sessions only. Uses libedit. */
#ifndef GRAMME_SHELL_INPUT_INTERNAL_H
#define GRAMME_SHELL_INPUT_INTERNAL_H

#include "shell/session_internal.h"

enum input_result { INPUT_LINE, INPUT_END, INPUT_INTERRUPTED };

/* Starts the editor and loads the history. */
MUST_USE struct input *input_open(struct session *session);
/* Ends it and restores the terminal. Accepts NULL. */
void input_close(struct input *input);
/* Reads a line, which is valid until the next call. `pending` is the text before it of the same
 * statement, for completion. */
enum input_result input_read(struct input *input, const char *prompt, struct str pending,
                             struct str *out);
/* Adds a statement or command to the history and its file. */
void input_remember(struct input *input, struct str text);
/* Asks a question; true if the answer starts with y. */
MUST_USE bool input_ask_yes(struct input *input, const char *question);
/* Asks whether to show the next screen; true if so. */
MUST_USE bool input_ask_more(struct input *input);

#endif
