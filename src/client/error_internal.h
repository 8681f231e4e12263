/* client/error_internal.h: making the errors that calls leave behind. */
#ifndef GRAMME_CLIENT_ERROR_INTERNAL_H
#define GRAMME_CLIENT_ERROR_INTERNAL_H

#include "err/err.h"
#include "client/value_internal.h"

struct gramme_error {
    struct tree *tree; /* all of the error's memory; its root is the service's answer, if any */
    const char *code;
    const char *message;
    int status;
    bool retryable;
    int attempts;
    const char *request_id;
};

/* Destroys the error that is there and leaves none. `error` may be NULL, here and below. */
void error_clear(struct gramme_error **error);
/* Leaves an error of our own; returns false. */
bool error_set(struct gramme_error **error, const char *code, const char *format, ...)
    PRINTF_LIKE(3, 4);
/* Leaves the error that the body of an answer tells of. Returns it, or NULL if nobody wants it. */
struct gramme_error *error_set_answer(struct gramme_error **error, int status, struct str body,
                                      struct str request_id);

#endif
