/* apps/common/app.h: what an application is made of: tables, routes of a REST API, sample data, and
 * sometimes work of its own beside the requests.
 *
 * A handler runs on a worker thread, so it may wait for the database. It reads its request with the
 * request_...() functions and gives exactly one answer with one of the answer_...() functions. Text
 * that it gets lives until it returns. Text is UTF-8 and ends with NUL. */
#ifndef GRAMME_APPS_APP_H
#define GRAMME_APPS_APP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "apps/common/identity.h"
#include "apps/common/page.h"
#include "apps/common/stream.h"
#include "gramme/gramme.h"

struct app;
struct app_request;

struct app_route {
    const char *method;
    const char *path; /* "/calls/{callId}/status", behind the application's base */
    void (*handle)(struct app_request *request);
};

/* Live updates: what the items of an application's table are, see live.h. */
struct app_live {
    const char *table;
    bool is_always_read; /* apply() is needed even if nobody listens */
    /* Whether they may listen at all; may add to their roles. NULL: who is signed in may. False:
     * something has been answered. */
    bool (*may_listen)(struct app_request *request, struct identity *who);
    /* What kind of thing an item is, for clients ("call"); NULL: none that is told. */
    const char *(*type)(const struct gramme_value *item);
    bool (*may_see)(const struct identity *who, const struct gramme_value *item);
    /* The item as the REST API shows it to them. */
    void (*show)(const struct identity *who, const struct gramme_value *item,
                 struct gramme_value *out);
    /* Whether a change alters what somebody may see at all: then their connection is ended, and the
     * page has to ask again. May be NULL. */
    bool (*must_rejoin)(const struct identity *who, const struct gramme_value *old_item,
                        const struct gramme_value *new_item);
    /* For an application that keeps something of its table in memory; may be NULL. Called on the
     * stream's thread with the old and the new item, NULL if there is none. */
    void (*apply)(void *state, const struct gramme_value *old_item,
                  const struct gramme_value *new_item);
    /* Changes may have been missed: what was kept in memory is to be read anew. May be NULL. */
    void (*restart)(void *state);
};

/* Acts on every change of a table, also on those that were made while no server ran, as long as the
 * table's stream holds them (24 hours). All functions run on one thread of their own; see
 * follower.h. */
struct app_follower {
    const char *table;
    /* Acts on a change. Must have the same effect when it is called again with the same change, as
     * happens after a crash and with several servers. *out_acted: the change is one that matters
     * here. False: it could not, and is called again later; *error says why. */
    bool (*act)(struct gramme_db *db, const struct stream_change *change, bool *out_acted,
                struct gramme_error **error);
    /* Reads the positions that `save` has written, a map; the caller destroys it. *out NULL: there
     * are none yet. False: the database failed. */
    bool (*load)(struct gramme_db *db, struct gramme_value **out, struct gramme_error **error);
    bool (*save)(struct gramme_db *db, const struct gramme_value *positions,
                 struct gramme_error **error);
};

/* The JSON files of an application as texts, which the build has made of them
 * (apps/common/files.h). */
struct app_files {
    const char *schema; /* its table, as `aws dynamodb create-table --cli-input-json` takes it */
    const char *patterns;
    const char *workload;
};

/* What main.c knows of an application; each folder defines one. */
struct app_definition {
    const char *name; /* its folder: /NAME/ is its page, /NAME/api its REST API */
    const struct app_files *files;
    const struct app_route *routes;
    size_t route_count;
    /* Nobody need be signed in for them: request_identity() may be NULL. */
    bool routes_are_public;
    /* Files beside the pages, such as /NAME/feed.ics; public too. May be NULL. */
    const struct app_route *page_routes;
    size_t page_route_count;
    const struct app_live *live;         /* NULL: no live updates */
    const struct app_follower *follower; /* NULL: none */
    /* Writes sample data; may be run again. */
    bool (*load_samples)(struct gramme_db *db, struct gramme_error **error);
    /* Work beside the requests, if it has any, else NULL. `start` returns what request_state()
     * gives and `stop` ends; NULL: *error says why not. */
    void *(*start)(struct gramme_db *db, struct gramme_error **error);
    void (*stop)(void *state);
};

/* --- the request --- */

/* Returns the database. */
struct gramme_db *request_db(const struct app_request *request);
/* Returns what the application's start() returned. */
void *request_state(const struct app_request *request);
/* A part of the path, by the name in the route's braces; decoded; not empty. */
const char *request_param(const struct app_request *request, const char *name);
/* The same for one that must pass a check. NULL: it does not, and 404 "There is no such `what`" has
 * been answered. */
const char *request_param_id(struct app_request *request, const char *name,
                             bool (*is_valid)(const char *text), const char *what);
/* A parameter of the query, decoded; NULL: not given. */
const char *request_query(const struct app_request *request, const char *name);
/* NULL: not sent. */
const char *request_header(const struct app_request *request, const char *name);
/* Who is asking; NULL on a public route if nobody is signed in. */
const struct identity *request_identity(const struct app_request *request);
/* Whether they have one of the roles. False: 403 has been answered. */
bool request_require(struct app_request *request, unsigned roles);
/* Whether they are the user of this id, have one of the roles, or are an admin. False: 403 has been
 * answered. */
bool request_require_user(struct app_request *request, const char *user_id, unsigned roles);
/* Makes a token that only this server can make, for a purpose of the application's ("feed"), that
 * holds a text. */
const char *request_token_make(const struct app_request *request, const char *purpose,
                               const char *text);
/* Returns the text of a token that this server made for the purpose; NULL: it did not. */
const char *request_token_read(const struct app_request *request, const char *purpose,
                               const char *token);
/* live_sync() of this application. */
bool request_sync(const struct app_request *request);
/* The body as a map whose fields are all among `fields`, which ends with NULL:
 * request_body(request, FIELDS("status", "reason")). NULL: it is none, and 400 has been answered.
 */
const struct gramme_value *request_body(struct app_request *request, const char *const *fields);
#define FIELDS(...) ((const char *const[]){__VA_ARGS__, NULL})
/* The same for a map inside of the body. False: 400 has been answered. */
bool request_fields(struct app_request *request, const struct gramme_value *map,
                    const char *const *fields);
/* A number between min and max from the query. False: it is none, and 400 has been answered. */
bool request_query_int(struct app_request *request, const char *name, int64_t min, int64_t max,
                       int64_t fallback, int64_t *out);
/* The page of a list that the query asks for: `limit`, 1 to 100, and `cursor`. False: it is none,
 * and 400 has been answered. */
bool request_page(struct app_request *request, struct page *out);
/* A parameter of the query with 1 to `len_max` characters. NULL: it is not there or does not fit,
 * and 400 has been answered. */
const char *request_query_text(struct app_request *request, const char *name, size_t len_max);
/* A text of the body with 1 to `len_max` characters, not all of them blank. NULL: it is not there
 * or does not fit, and 400 has been answered. */
const char *request_text(struct app_request *request, const struct gramme_value *body,
                         const char *name, size_t len_max);
/* The version that If-Match names, "7" with its quotes. False: it is missing or malformed, and 428
 * or 400 has been answered. */
bool request_version(struct app_request *request, int64_t *out);

/* --- the answer --- */

/* Adds a header to the answer that comes; before it. */
void answer_header(struct app_request *request, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* ETag of a version: "7". */
void answer_version(struct app_request *request, int64_t version);
/* The value as plain JSON; copied. */
void answer_value(struct app_request *request, int status, const struct gramme_value *value);
/* Text of a type of its own. */
void answer_text(struct app_request *request, const char *content_type, const char *text);
/* 204, no body. */
void answer_nothing(struct app_request *request);
/* Any status, no body. */
void answer_empty(struct app_request *request, int status);
/* 400 bad_parameter about one field of the body or the query. */
void answer_bad_field(struct app_request *request, const char *field, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* 403 not_allowed. */
void answer_not_allowed(struct app_request *request);
/* {"error": {"code": CODE, "message": ...}}: the one shape of errors. `code` is for programs:
 * "not_found", "overlap", ... */
void answer_problem(struct app_request *request, int status, const char *code, const char *format,
                    ...) __attribute__((format(printf, 4, 5)));
/* The same with `details` (a map, copied) inside of "error". */
void answer_problem_details(struct app_request *request, int status, const char *code,
                            const struct gramme_value *details, const char *message);
/* What the database failed with, where the handler has nothing better to say: 503 if it may pass,
 * 400 if it does not like the query's cursor, else 500. */
void answer_error(struct app_request *request, const struct gramme_error *error);
/* A page of a list: {"items": [...], "cursor": "..."}; no cursor at the end. Takes what `show`
 * makes of each item of the answer (a map that it fills) for who is asking. */
void answer_page(struct app_request *request, const struct gramme_answer *answer,
                 void (*show)(const struct identity *who, const struct gramme_value *item,
                              struct gramme_value *out));

#endif
