/* gramme-apps: five applications under one port, on any DynamoDB. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "apps/calendar/calendar.h"
#include "apps/calls/calls.h"
#include "apps/common/server.h"
#include "apps/options.h"
#include "apps/reconciliation/reconciliation.h"
#include "apps/tasks/tasks.h"
#include "apps/tickets/tickets.h"

static const struct app_definition *const apps[] = {
    &calls_app, &reconciliation_app, &calendar_app, &tickets_app, &tasks_app,
};

/* What failed, to stderr. Returns false. */
static bool fail(const char *what, const char *name, struct gramme_error *error)
{
    fprintf(stderr, "gramme-apps: %s %s: %s: %s\n", what, name, gramme_error_code(error),
            gramme_error_message(error));
    gramme_error_destroy(error);
    return false;
}

static bool prepare(struct gramme_db *db, const struct options *options)
{
    enum { TABLE_TIMEOUT_MS = 60 * 1000 };
    struct gramme_error *error = NULL;
    for (size_t i = 0; i < COUNT_OF(apps); i++) {
        const char *schema = apps[i]->files->schema;
        if (options->create_tables &&
            !gramme_create_table(db, schema, strlen(schema), TABLE_TIMEOUT_MS, &error)) {
            return fail("cannot create the table of", apps[i]->name, error);
        }
        if (options->samples && !apps[i]->load_samples(db, &error)) {
            return fail("cannot write the samples of", apps[i]->name, error);
        }
    }
    return true;
}

/* With short time-outs: neither a page nor the end of the process waits for a database that is
 * gone. */
static const struct gramme_options impatient = {
    .connect_timeout_ms = 1000, .timeout_ms = 5000, .attempts_max = 1};

/* A handle for reading streams. */
static struct gramme_db *open_streams(struct gramme_db *db, const struct options *options,
                                      struct gramme_error **error)
{
    if (options->streams_url[0] == '\0') {
        return db;
    }
    return gramme_open(options->streams_url, &impatient, error);
}

/* A handle to ask what the database has measured, if it may be a Gramme server: it is reached over
 * HTTP and is not the service. Else NULL. */
static struct gramme_db *open_insight(const char *url)
{
    bool may_tell = strncmp(url, "http", 4) == 0 && strstr(url, ".amazonaws.com") == NULL;
    return may_tell ? gramme_open(url, &impatient, NULL) : NULL;
}

/* Serves until a signal comes; returns the exit status. */
static int serve(struct gramme_db *db, struct gramme_db *streams, struct auth *auth,
                 const struct options *options)
{
    struct gramme_db *insight = open_insight(options->db);
    struct app_server_options server_options = {
        .host = options->host,
        .port = options->port,
        .worker_count = 16,
        .pages = options->pages,
        .apps = apps,
        .app_count = COUNT_OF(apps),
        .auth = auth,
        .streams = streams,
        .insight = insight,
        .may_enable_streams = options->create_tables,
        .live_interval_ms = (int)options->live_interval_ms,
    };
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    pthread_sigmask(SIG_BLOCK, &signals, NULL);
    signal(SIGPIPE, SIG_IGN);
    struct arena arena;
    arena_init(&arena);
    struct err err = ERR_INIT(&arena);
    struct app_server *server = NULL;
    int status = 1;
    if (!app_server_open(db, &server_options, &server, &err)) {
        fprintf(stderr, "gramme-apps: %.*s\n", STR_ARG(err.message));
    } else {
        printf("gramme-apps serves http://%.*s:%d from %s\n", STR_ARG(server_options.host),
               app_server_port(server), options->db);
        fflush(stdout);
        int signal_number;
        sigwait(&signals, &signal_number);
        status = 0;
    }
    app_server_close(server);
    gramme_close(insight);
    arena_finish(&arena);
    return status;
}

static int run(struct gramme_db *db, const struct options *options)
{
    struct gramme_error *error = NULL;
    struct auth *auth = auth_create(&options->auth_options);
    struct gramme_db *streams = open_streams(db, options, &error);
    int status = 1;
    if (streams == NULL) {
        fail("cannot open", options->streams_url, error);
    } else if (auth != NULL && prepare(db, options)) {
        status = serve(db, streams, auth, options);
    }
    if (streams != db) {
        gramme_close(streams);
    }
    auth_destroy(auth);
    return status;
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "poll") == 0) {
        return reconciliation_poll_main(argc - 2, argv + 2);
    }
    if (argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "help") == 0)) {
        options_print_help();
        return 0;
    }
    struct options options;
    if (!options_read(argc, argv, &options)) {
        return 2;
    }
    struct gramme_error *error = NULL;
    struct gramme_db *db = gramme_open(options.db, NULL, &error);
    if (db == NULL) {
        fail("cannot open", options.db, error);
        return 1;
    }
    int status = run(db, &options);
    gramme_close(db);
    return status;
}
