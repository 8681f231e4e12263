/* client/request_internal.h: a request: the name of an operation and a tree. */
#ifndef GRAMME_CLIENT_REQUEST_INTERNAL_H
#define GRAMME_CLIENT_REQUEST_INTERNAL_H

#include "client/value_internal.h"

struct gramme_request {
    struct tree *tree;
    const char *operation; /* "PutItem"; of a part of a transaction: "Put" */
    struct gramme_value *root;
    bool is_part; /* of a transaction, in whose tree it lives */
};

/* Text members of the root. */
void request_set_text(struct gramme_request *request, const char *name, const char *text);
MUST_USE bool request_is(const struct gramme_request *request, const char *operation);

#endif
