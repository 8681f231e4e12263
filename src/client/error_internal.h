/* client/error_internal.h: makes the errors that calls return. */
#ifndef GRAMME_CLIENT_ERROR_INTERNAL_H
#define GRAMME_CLIENT_ERROR_INTERNAL_H

#include "client/value_tree_internal.h"
#include "err/err.h"

struct gramme_error {
    struct tree *tree; /* all of the error's memory; its root is the service's answer, if any */
    const char *code;
    const char *message;
    int status;
    bool retryable;
    int attempts;
    const char *request_id;
};

/* Destroys *error and sets it to NULL. `error` may be NULL, here and below. */
void error_clear(struct gramme_error **error);
/* Sets an error of the library itself. Returns false. */
bool error_set(struct gramme_error **error, const char *code, const char *format, ...)
    PRINTF_LIKE(3, 4);
/* Sets the error that the body of an answer describes. Returns it, or NULL if `error` is NULL. */
struct gramme_error *error_set_answer(struct gramme_error **error, int status, struct str body,
                                      struct str request_id);

#endif
