/* shell/call_thread_internal.h: calls that Ctrl-C can abandon. */
#ifndef GRAMME_SHELL_CALL_THREAD_INTERNAL_H
#define GRAMME_SHELL_CALL_THREAD_INTERNAL_H

#include "shell/session_internal.h"

/* Installs the handling of Ctrl-C for an interactive session: the signal is blocked except where
 * the shell waits for a call or for input. Called before other threads start. */
void interrupts_init(void);
/* Waits until `fd` is readable, at most `timeout_ms` (-1: no limit), while Ctrl-C is accepted.
 * Returns 1 if it is readable, 0 after the time, -1 if Ctrl-C was pressed. */
int wait_readable(int fd, int timeout_ms);

/* Sends an operation and waits for the answer, which the caller destroys. `parameters` is a request
 * as gramme_request_root() has it. False: the failure is recorded; if Ctrl-C was pressed,
 * session->was_interrupted, and the request may still be carried out. Adds to session->usage and to
 * `usage`, which may be NULL. */
MUST_USE bool call(struct session *session, struct gramme_db *db, const char *operation,
                   const struct gramme_value *parameters, struct gramme_answer **out,
                   struct usage *usage);
/* The same with parameters as JSON. */
MUST_USE bool call_json(struct session *session, struct gramme_db *db, const char *operation,
                        struct str json, struct gramme_answer **out, struct usage *usage);
/* Fetches a page of Gramme's insight API: "cost", with a map of parameters. */
MUST_USE bool call_insight(struct session *session, const char *page,
                           const struct gramme_value *parameters, struct gramme_answer **out);
/* Whether abandoned calls are still running; if `wait`, waits for them first. */
MUST_USE bool calls_are_pending(bool wait);

#endif
