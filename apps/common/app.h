/* apps/common/app.h: the parts of an application: tables, routes of a REST API, sample data, and
 * possibly background work.
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
    /* "/calls/{callId}/status", behind the application's base; then the parameters that its query
     * may have: "/tickets?caller&limit&cursor", or "?*" if others decide which */
    const char *path;
    void (*handle)(struct app_request *request);
};

/* Live updates: how the items of an application's table are shown to clients; see live.h. */
struct app_live {
    const char *table;
    bool is_always_read; /* apply() is called even if no client is connected */
    /* Returns whether the user may get live updates; may add to the user's roles. NULL: every
     * signed-in user may. False: an error has been answered. */
    bool (*may_listen)(struct app_request *request, struct identity *who);
    /* Returns the type of an item for clients ("call"); NULL: its changes are not sent. */
    const char *(*type)(const struct gramme_value *item);
    bool (*may_see)(const struct identity *who, const struct gramme_value *item);
    /* may_see() may refuse one version of an item and accept another, without a change of the
     * user's permissions: a change to a refused version is not sent; otherwise it is sent as a
     * deletion. */
    bool hides_versions;
    /* Writes the item as the REST API returns it to this user. */
    void (*show)(const struct identity *who, const struct gramme_value *item,
                 struct gramme_value *out);
    /* Returns whether a change alters the user's permissions: then the connection is closed, and
     * the page must connect again. May be NULL. */
    bool (*must_rejoin)(const struct identity *who, const struct gramme_value *old_item,
                        const struct gramme_value *new_item);
    /* For an application that keeps something of its table in memory; may be NULL. Called on the
     * stream's thread with the old and the new item, NULL if there is none. */
    void (*apply)(void *state, const struct gramme_value *old_item,
                  const struct gramme_value *new_item);
    /* Called when changes may have been missed: data in memory must be read again. May be NULL. */
    void (*restart)(void *state);
};

/* Acts on every change of a table, also on those that were made while no server ran, as long as the
 * table's stream holds them (24 hours). All functions run on one thread; see follower.h. */
struct app_follower {
    const char *table;
    /* Acts on a change. Must have the same effect when it is called again with the same change, as
     * happens after a crash and with several servers. *out_acted: whether the change caused an
     * action. False: the action failed, and the function is called again later; *error says why. */
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

/* The definition of an application, for main.c; each folder defines one. */
struct app_definition {
    const char *name; /* its folder: /NAME/ is its page, /NAME/api its REST API */
    const struct app_files *files;
    const char *expiry; /* the attribute of the table's time to live; NULL: none */
    const struct app_route *routes;
    size_t route_count;
    /* The routes need no signed-in user: request_identity() may be NULL. */
    bool routes_are_public;
    /* Files beside the pages, such as /NAME/feed.ics; public too. May be NULL. */
    const struct app_route *page_routes;
    size_t page_route_count;
    const struct app_live *live;         /* NULL: no live updates */
    const struct app_follower *follower; /* NULL: none */
    /* Writes sample data; may be run again. */
    bool (*load_samples)(struct gramme_db *db, struct gramme_error **error);
    /* Background work, or NULL. `start` returns the state for request_state(), which `stop` ends;
     * NULL: *error says why it failed. */
    void *(*start)(struct gramme_db *db, struct gramme_error **error);
    void (*stop)(void *state);
};

/* --- the request --- */

/* Returns the database. */
struct gramme_db *request_db(const struct app_request *request);
/* Returns what the application's start() returned. */
void *request_state(const struct app_request *request);
/* Returns a part of the path, by the name in the route's braces; decoded; not empty. */
const char *request_param(const struct app_request *request, const char *name);
/* The same for a part that must pass a check. NULL: it does not, and 404 "There is no such `what`"
 * has been answered. */
const char *request_param_id(struct app_request *request, const char *name,
                             bool (*is_valid)(const char *text), const char *what);
/* Whether a text is a UUID in lower case; for request_param_id(). */
bool request_is_uuid(const char *text);
/* A parameter of the query, decoded; NULL: not given. */
const char *request_query(const struct app_request *request, const char *name);
/* Returns a text as a part of a path, percent-encoded. */
const char *request_encode(const struct app_request *request, const char *text);
/* Returns a header of the request; NULL: not sent. */
const char *request_header(const struct app_request *request, const char *name);
/* Returns the signed-in user; NULL on a public route if there is none. */
const struct identity *request_identity(const struct app_request *request);
/* Returns whether the user has one of the roles. False: 403 has been answered. */
bool request_require(struct app_request *request, unsigned roles);
/* Returns whether the user has this id, one of the roles, or is an admin. False: 403 has been
 * answered. */
bool request_require_user(struct app_request *request, const char *user_id, unsigned roles);
/* Makes a signed token with a text, for a purpose of the application ("feed"). */
const char *request_token_make(const struct app_request *request, const char *purpose,
                               const char *text);
/* Returns the text of a token that was made for this purpose; NULL: the token is not valid. */
const char *request_token_read(const struct app_request *request, const char *purpose,
                               const char *token);
/* live_sync() of this application. */
bool request_sync(const struct app_request *request);
/* The body as a map whose fields are all among `fields`, which ends with NULL:
 * request_body(request, FIELDS("status", "reason")). NULL: the body is not such a map, and 400 has
 * been answered.
 * */
const struct gramme_value *request_body(struct app_request *request, const char *const *fields);
#define FIELDS(...) ((const char *const[]){__VA_ARGS__, NULL})
/* The same for a map inside of the body. False: 400 has been answered. */
bool request_fields(struct app_request *request, const struct gramme_value *map,
                    const char *const *fields);
/* Reads a number between min and max from the query. False: it is not such a number, and 400 has
 * been answered. */
bool request_query_int(struct app_request *request, const char *name, int64_t min, int64_t max,
                       int64_t fallback, int64_t *out);
/* Reads the page of a list from the query: `limit`, 1 to 100, and `cursor`. False: one of them is
 * not valid, and 400 has been answered. */
bool request_page(struct app_request *request, struct page *out);
/* Returns a parameter of the query with 1 to `len_max` characters. NULL: it is missing or too long,
 * and 400 has been answered. */
const char *request_query_text(struct app_request *request, const char *name, size_t len_max);
/* Returns a text of the body with 1 to `len_max` characters, not all of them blank. NULL: it is
 * missing, blank or too long, and 400 has been answered. */
const char *request_text(struct app_request *request, const struct gramme_value *body,
                         const char *name, size_t len_max);
/* Reads the version in If-Match, "7" with its quotes. False: it is missing or malformed, and 428 or
 * 400 has been answered. */
bool request_version(struct app_request *request, int64_t *out);

/* --- the answer --- */

/* Adds a header to the answer; call it before the function that answers. */
void answer_header(struct app_request *request, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* ETag of a version: "7". */
void answer_version(struct app_request *request, int64_t version);
/* Answers with the value as plain JSON; copies it. */
void answer_value(struct app_request *request, int status, const struct gramme_value *value);
/* Answers with a text of the given content type. */
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
/* {"error": {"code": CODE, "message": ...}}: the form of all errors. `code` is for programs:
 * "not_found", "overlap", ... */
void answer_problem(struct app_request *request, int status, const char *code, const char *format,
                    ...) __attribute__((format(printf, 4, 5)));
/* The same with `details` (a map, copied) inside of "error". */
void answer_problem_details(struct app_request *request, int status, const char *code,
                            const struct gramme_value *details, const char *message);
/* Answers an error of the database that the handler does not handle itself: 503 if it is transient,
 * 400 if the query's cursor is refused, else 500. */
void answer_error(struct app_request *request, const struct gramme_error *error);
/* A page of a list: {"items": [...], "cursor": "..."}; no cursor at the end. `show` fills a map for
 * each item of the answer, as the signed-in user may see it; what leaves it empty, because it
 * cannot be read, is left out. */
void answer_page(struct app_request *request, const struct gramme_answer *answer,
                 void (*show)(const struct identity *who, const struct gramme_value *item,
                              struct gramme_value *out));

#endif
