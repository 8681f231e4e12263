/* client/client_internal.h: the handle, and a call with its retries. */
#ifndef GRAMME_CLIENT_CLIENT_INTERNAL_H
#define GRAMME_CLIENT_CLIENT_INTERNAL_H

#include "aws/retry.h"
#include "client/error_internal.h"
#include "client/request_internal.h"
#include "client/transport_internal.h"

struct gramme_db {
    struct transport *transport;
    struct retry_quota quota;
};

struct gramme_answer {
    struct tree *tree;
    struct buf json; /* followed by a NUL that is not counted */
};

/* Makes an answer without JSON, with an empty map. */
MUST_USE struct gramme_answer *answer_create(void);
/* Makes a call, with retries. NULL: *error is set. */
MUST_USE struct gramme_answer *call_service(struct gramme_db *db, struct str operation,
                                            struct str body, struct gramme_error **error);
/* Reads a page of the server, with retries. `page` is its path and query in canonical form, with a
 * NUL. NULL: *error is set. */
MUST_USE struct gramme_answer *call_page(struct gramme_db *db, struct str page,
                                         struct gramme_error **error);

#endif
