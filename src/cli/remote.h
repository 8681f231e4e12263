/* cli/remote.h: asks a running server's insight API, for `gramme patterns` and `gramme top`: a
 * small blocking HTTP client, and JSON as a tree. The caller's thread waits. */
#ifndef GRAMME_CLI_REMOTE_H
#define GRAMME_CLI_REMOTE_H

#include "base/buf.h"
#include "cli/connection.h"
#include "err/err.h"
#include "json/reader.h"

/* A value of a JSON text. */
struct json_node {
    enum json_kind kind;
    struct str text; /* a string's, or a number's as it stands */
    bool truth;
    struct str name;         /* as a member of an object */
    struct json_node *first; /* members or elements */
    struct json_node *next;  /* the next member or element of the same parent */
};

/* Parses `text` into `arena`, which both must outlive the tree. NULL: it is no JSON. */
MUST_USE struct json_node *json_parse(struct arena *arena, struct str text);
/* The member of that name; NULL: there is none, or `node` is NULL or no object. */
struct json_node *json_get(const struct json_node *node, const char *name);
/* A member's value; if it is not there, 0, an empty text, or false. */
double json_get_number(const struct json_node *node, const char *name);
struct str json_get_text(const struct json_node *node, const char *name);
bool json_get_bool(const struct json_node *node, const char *name);

struct remote {
    struct arena *arena;
    struct address address;
    struct str host; /* with the port, for the Host header */
};

#define REMOTE_DEFAULT "http://127.0.0.1:8000"

/* Reads an endpoint, http://HOST:PORT or https://HOST:PORT; `ca_file` as in address_parse(). Fails
 * with ERR_VALIDATION. */
MUST_USE bool remote_init(struct remote *remote, struct arena *arena, const char *endpoint,
                          const char *ca_file, struct err *err);
/* Sends GET or POST (with an empty body) to /_gramme/api/PATH and parses the answer. Signed with
 * AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY (and AWS_SESSION_TOKEN, of temporary credentials) if
 * these are set. *err says what went wrong. */
MUST_USE bool remote_call(struct remote *remote, const char *method, const char *path,
                          struct json_node **out, struct err *err);

#endif
