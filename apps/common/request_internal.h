/* The request and the answer of an application, as the files of this folder see them. */
#ifndef GRAMME_APPS_REQUEST_INTERNAL_H
#define GRAMME_APPS_REQUEST_INTERNAL_H

#include "apps/common/app.h"
#include "apps/common/auth.h"
#include "apps/common/follower.h"
#include "apps/common/live.h"
#include "base/mailbox.h"
#include "http/http.h"

enum { PARAMS_MAX = 4 };

struct app {
    const struct app_definition *definition;
    struct gramme_db *db;
    void *state; /* what definition->start() returned */
    struct auth *auth;
    void (*name_user)(const char *id, char out[IDENTITY_ID_LEN_MAX + 1]); /* for the log */
    bool logs_routes;                                                     /* in place of paths */
    struct live *live;                                                    /* NULL: none */
    struct follower *follower;                                            /* NULL: none */
    struct gramme_db *insight; /* the database, if it may be a Gramme server; else NULL */
};

enum { REQUEST_ID_SIZE = 65 };

struct app_request {
    struct http_exchange *exchange;
    struct app *app;
    const struct app_route *route;
    struct str path;  /* as it was received, for the log */
    struct str base;  /* its part before the route's: "/tasks/api" */
    struct str query; /* what follows the ? */
    char id[REQUEST_ID_SIZE];
    int64_t began_us;
    enum auth_result auth_result;
    enum auth_means auth_means;
    struct identity identity; /* if auth_result is AUTH_OK */
    bool is_stream;           /* answered with live updates */
    bool is_of_pages;         /* of definition->page_routes */
    struct {
        struct str name;
        const char *value;
    } params[PARAMS_MAX];
    size_t param_count;
    struct gramme_value *body; /* set by request_body() */

    /* The answer. */
    int status; /* 0: none yet */
    struct str content_type;
    struct buf headers;
    struct buf out;

    struct task task; /* queued for a worker, then for the exchange's thread */
};

/* Finds the route of a path (behind /NAME/api) and its parameters. NULL: there is none; *out_known:
 * the path exists with another method. */
const struct app_route *router_find(struct app_request *request, struct str path, bool *out_known);
/* Returns the name of a query parameter that the request's route does not have; NULL: there is
 * none. The query must be valid. */
const char *router_unknown_parameter(const struct app_request *request);
/* Returns the methods of a path: "GET, PUT". */
struct str router_methods(struct app_request *request, struct str path);
/* /NAME/api/live and /NAME/api/patterns, which every application has. */
extern const struct app_route common_routes[];
extern const size_t common_route_count;

/* --- admit.c: steps before and after the handler --- */

/* Sets the id and the start time of a request. */
void request_begin(struct app_request *request);
/* Identifies the user and checks whether the request may reach a handler. False: an error has been
 * answered. */
bool request_admit(struct app_request *request);
/* Logs the request, after it has been answered. */
void request_log(const struct app_request *request);
/* An http_failure that writes errors in the form of all errors. */
void request_describe_failure(int status, const char *text, struct buf *headers, struct buf *body);

/* Returns whether every name and value of a query can be decoded. */
bool query_is_valid(struct arena *arena, struct str query);

/* Answers 400 unknown_field: the request has a field or a parameter (`kind`) that the operation
 * does not know. */
void answer_unknown(struct app_request *request, const char *name, const char *kind);
/* Answers 400: the cursor is not one of this list. */
void answer_bad_cursor(struct app_request *request);

/* Returns a copy that ends with NUL. */
const char *text_copy(struct arena *arena, struct str text);
/* Decodes a part of a URL: %41 becomes A, and + becomes `plus` (a space in a query, + in a path).
 * NULL: it is malformed, contains a NUL, or is not UTF-8. */
const char *url_decode(struct arena *arena, struct str text, char plus);

#endif
