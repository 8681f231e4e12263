/* shell/run_internal.h: the loops over statements and commands. */
#ifndef GRAMME_SHELL_RUN_INTERNAL_H
#define GRAMME_SHELL_RUN_INTERNAL_H

#include <stdio.h>

#include "shell/session_internal.h"

/* Runs a script as it is read from a file. Returns whether all succeeded. */
MUST_USE bool run_stream(struct session *session, FILE *file);
/* Runs what a person types until the end. */
void run_typed(struct session *session);

#endif
