/* apps/common/server.h: serves applications: the REST API of each on worker threads, their pages
 * from a directory. */
#ifndef GRAMME_APPS_SERVER_H
#define GRAMME_APPS_SERVER_H

#include "apps/common/app.h"
#include "apps/common/auth.h"
#include "err/err.h"

/* How an application reaches its database; several may have the same handles. */
struct app_connection {
    struct gramme_db *db;
    struct gramme_db *streams; /* where the operations of streams go; may be `db` */
    struct gramme_db *insight; /* the database, if it may be a Gramme server; else NULL */
};

struct app_server_options {
    struct str host;
    int port; /* 0: a free one */
    int worker_count;
    const char *pages; /* directory with a folder per application */
    const struct app_definition *const *apps;
    size_t app_count;
    const struct app_connection *connections; /* as many as `apps` */
    struct auth *auth;
    int live_interval_ms;
    /* Writes the name of a user for the log. */
    void (*name_user)(const char *id, char out[IDENTITY_ID_LEN_MAX + 1]);
    /* The log has routes ("/tasks/api/users/{userId}") in place of paths, which may hold the id of
     * a user. */
    bool logs_routes;
};

struct app_server;

/* Opens a server. Borrows the connections, the definitions and the struct auth in the options. */
MUST_USE bool app_server_open(const struct app_server_options *options, struct app_server **out,
                              struct err *err);
/* Returns the port that it listens on. */
MUST_USE int app_server_port(const struct app_server *server);
/* Lets requests under way end. Accepts NULL. */
void app_server_close(struct app_server *server);

#endif
