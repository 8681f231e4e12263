/* client/request_internal.h: a request: the name of an operation and a tree. */
#ifndef GRAMME_CLIENT_REQUEST_INTERNAL_H
#define GRAMME_CLIENT_REQUEST_INTERNAL_H

#include "client/value_tree_internal.h"

struct gramme_request {
    struct tree *tree;
    const char *operation; /* "PutItem"; of a part of a transaction: "Put" */
    struct gramme_value *root;
    bool is_part; /* part of a transaction, in whose tree it is */
};

/* Sets a text member of the root. */
void request_set_text(struct gramme_request *request, const char *name, const char *text);
/* Whether the request is for that operation; if not, the mistake is recorded in its tree. */
MUST_USE bool request_is(const struct gramme_request *request, const char *operation);

#endif
