/* cli/insight_client.h: calls the insight API of a running server, for `gramme patterns` and
 * `gramme top`: a small blocking HTTP client, and JSON as a tree. */
#ifndef GRAMME_CLI_INSIGHT_CLIENT_H
#define GRAMME_CLI_INSIGHT_CLIENT_H

#include "base/buf.h"
#include "cli/connection.h"
#include "err/err.h"
#include "json/reader.h"

/* A value of a JSON text. */
struct json_node {
    enum json_kind kind;
    struct str text; /* of a string; of a number as it is written */
    bool truth;
    struct str name;         /* as a member of an object */
    struct json_node *first; /* members or elements */
    struct json_node *next;  /* the next member or element of the same parent */
};

/* Parses `text` into a tree in `arena`; both must outlive it. NULL: it is not valid JSON. */
MUST_USE struct json_node *json_parse(struct arena *arena, struct str text);
/* Returns the member of this name; NULL if there is none, or if `node` is NULL or not an object. */
struct json_node *json_get(const struct json_node *node, const char *name);
/* Returns the value of a member that is a number; 0 if there is none. */
double json_get_number(const struct json_node *node, const char *name);
/* Returns the value of a member that is a string; an empty text if there is none. */
struct str json_get_text(const struct json_node *node, const char *name);
/* Returns the value of a member that is a boolean; false if there is none. */
bool json_get_bool(const struct json_node *node, const char *name);

struct insight_client {
    struct arena *arena;
    struct address address;
    struct str host; /* with the port, for the Host header */
};

#define REMOTE_DEFAULT "http://127.0.0.1:8000"

/* Reads an endpoint, http://HOST:PORT or https://HOST:PORT; `ca_file` as in address_parse(). Fails
 * with ERR_VALIDATION. */
MUST_USE bool insight_client_init(struct insight_client *client, struct arena *arena,
                                  const char *endpoint, const char *ca_file, struct err *err);
/* Sends GET or POST (with an empty body) to /_gramme/api/PATH and parses the answer. Signed with
 * AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY (and AWS_SESSION_TOKEN, of temporary credentials) if
 * these are set. *err says what went wrong. */
MUST_USE bool insight_client_call(struct insight_client *client, const char *method,
                                  const char *path, struct json_node **out, struct err *err);

#endif
