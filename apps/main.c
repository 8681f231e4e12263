/* gramme-apps: five applications under one port, on any DynamoDB. Reads the options, creates tables
 * and sample data, then starts the server; the main thread waits for a signal. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "apps/calendar/calendar.h"
#include "apps/calls/calls.h"
#include "apps/common/server.h"
#include "apps/common/stream.h"
#include "apps/options.h"
#include "apps/reconciliation/reconciliation.h"
#include "apps/tasks/tasks.h"
#include "apps/tickets/tickets.h"

static const struct app_definition *const apps[] = {
    &calls_app, &reconciliation_app, &calendar_app, &tickets_app, &tasks_app,
};

/* Prints what failed to stderr. Returns false. */
static bool fail(const char *what, const char *name, struct gramme_error *error)
{
    fprintf(stderr, "gramme-apps: %s %s: %s: %s\n", what, name, gramme_error_code(error),
            gramme_error_message(error));
    gramme_error_destroy(error);
    return false;
}

/* --- connections --- */

/* One connection for all applications, or one for each if each has its own profile. */
struct connections {
    struct app_connection each[COUNT_OF(apps)];
    bool are_shared; /* all elements of `each` have the same handles */
};

/* Options with short time-outs, so that pages and the end of the process do not wait long for a
 * database that does not answer. */
static struct gramme_options impatient(const char *profile)
{
    return (struct gramme_options){
        .connect_timeout_ms = 1000, .timeout_ms = 5000, .attempts_max = 1, .profile = profile};
}

/* Returns a handle for reading the measurements of the database; NULL: it cannot be a Gramme
 * server, because it is not reached over HTTP or is the service. */
static struct gramme_db *open_insight(const char *url, const struct gramme_options *options)
{
    bool may_tell = strncmp(url, "http", 4) == 0 && strstr(url, ".amazonaws.com") == NULL;
    return may_tell ? gramme_open(url, options, NULL) : NULL;
}

/* `profile`: of the credentials; NULL: those of the process. */
static bool open_connection(const struct options *options, const char *profile,
                            struct app_connection *out)
{
    struct gramme_options patient = {.profile = profile};
    struct gramme_options hurried = impatient(profile);
    struct gramme_error *error = NULL;
    out->db = gramme_open(options->db, &patient, &error);
    if (out->db == NULL) {
        return fail("cannot open", options->db, error);
    }
    out->streams = options->streams_url[0] == '\0'
                       ? out->db
                       : gramme_open(options->streams_url, &hurried, &error);
    if (out->streams == NULL) {
        return fail("cannot open", options->streams_url, error);
    }
    out->insight = open_insight(options->db, &hurried);
    return true;
}

static void close_connection(struct app_connection *connection)
{
    gramme_close(connection->insight);
    if (connection->streams != connection->db) {
        gramme_close(connection->streams);
    }
    gramme_close(connection->db);
}

static void close_connections(struct connections *connections)
{
    for (size_t i = 0; i < (connections->are_shared ? 1 : COUNT_OF(apps)); i++) {
        close_connection(&connections->each[i]);
    }
}

/* Call close_connections() also after failure. */
static bool open_connections(const struct options *options, struct connections *out)
{
    *out = (struct connections){.are_shared = options->profiles == NULL};
    for (size_t i = 0; i < COUNT_OF(apps); i++) {
        char profile[256];
        if (out->are_shared && i > 0) {
            out->each[i] = out->each[0];
            continue;
        }
        snprintf(profile, sizeof(profile), "%s%s", out->are_shared ? "" : options->profiles,
                 apps[i]->name);
        if (!open_connection(options, out->are_shared ? NULL : profile, &out->each[i])) {
            return false;
        }
    }
    return true;
}

/* --- tables and samples --- */

/* Whether the table's time to live is enabled, or being enabled. False: the database failed. */
static bool has_expiry(struct gramme_db *db, const char *table, bool *out_is_on,
                       struct gramme_error **error)
{
    struct gramme_request *describe = gramme_request_create("DescribeTimeToLive", table);
    struct gramme_answer *answer = gramme_send(db, describe, error);
    const char *status = gramme_get_string(
        gramme_get(gramme_answer_root(answer), "TimeToLiveDescription"), "TimeToLiveStatus");
    *out_is_on = status != NULL && strncmp(status, "ENABL", 5) == 0; /* ED or ING */
    gramme_answer_destroy(answer);
    gramme_request_destroy(describe);
    return answer != NULL;
}

/* Enables the table's time to live, unless another server does so at the same time. */
static bool enable_expiry(struct gramme_db *db, const char *table, const char *attribute,
                          struct gramme_error **error)
{
    bool is_on;
    if (!has_expiry(db, table, &is_on, error) || is_on) {
        return is_on;
    }
    struct gramme_request *update = gramme_request_create("UpdateTimeToLive", table);
    struct gramme_value *wanted =
        gramme_set_map(gramme_request_root(update), "TimeToLiveSpecification");
    gramme_set_bool(wanted, "Enabled", true);
    gramme_set_string(wanted, "AttributeName", attribute);
    struct gramme_error *refusal = NULL;
    bool ok = gramme_run(db, update, &refusal) || (has_expiry(db, table, &is_on, NULL) && is_on);
    if (ok) {
        gramme_error_destroy(refusal);
    } else {
        *error = refusal;
    }
    gramme_request_destroy(update);
    return ok;
}

static bool create_table(struct gramme_db *db, const struct app_definition *app,
                         struct gramme_error **error)
{
    enum { TABLE_TIMEOUT_MS = 60 * 1000 };
    const char *schema = app->files->schema;
    const char *table = app->live->table;
    return gramme_create_table(db, schema, strlen(schema), TABLE_TIMEOUT_MS, error) &&
           (app->expiry == NULL || enable_expiry(db, table, app->expiry, error)) &&
           stream_enable(db, table, TABLE_TIMEOUT_MS, error);
}

static bool prepare(const struct connections *connections, const struct options *options)
{
    struct gramme_error *error = NULL;
    for (size_t i = 0; i < COUNT_OF(apps); i++) {
        struct gramme_db *db = connections->each[i].db;
        if (options->create_tables && !create_table(db, apps[i], &error)) {
            return fail("cannot create the table of", apps[i]->name, error);
        }
        if (options->samples && !apps[i]->load_samples(db, &error)) {
            return fail("cannot write the samples of", apps[i]->name, error);
        }
    }
    return true;
}

/* Serves until a signal comes; returns the exit status. */
static int serve(const struct connections *connections, struct auth *auth,
                 const struct options *options)
{
    struct app_server_options server_options = {
        .host = options->host,
        .port = options->port,
        .worker_count = 16,
        .pages = options->pages,
        .apps = apps,
        .app_count = COUNT_OF(apps),
        .connections = connections->each,
        .auth = auth,
        .live_interval_ms = (int)options->live_interval_ms,
        .name_user = tickets_user_key, /* the log gets the hash, if the table does */
        .logs_routes = tickets_callers_are_hashed(),
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
    if (!app_server_open(&server_options, &server, &err)) {
        fprintf(stderr, "gramme-apps: %.*s\n", STR_ARG(err.message));
    } else {
        printf("gramme-apps serves http://%.*s:%d from %s\n", STR_ARG(server_options.host),
               app_server_port(server), options->db);
        if (options->auth_options.mode == AUTH_DEV) {
            printf("gramme-apps: development mode: everybody who reaches this address may act as "
                   "anybody, also as an administrator\n");
        }
        fflush(stdout);
        int signal_number;
        sigwait(&signals, &signal_number);
        status = 0;
    }
    app_server_close(server);
    arena_finish(&arena);
    return status;
}

static int run(const struct options *options)
{
    struct auth *auth = auth_create(&options->auth_options);
    struct connections connections = {.are_shared = true};
    int status = 1;
    if (auth != NULL && open_connections(options, &connections) && prepare(&connections, options)) {
        status = serve(&connections, auth, options);
    }
    close_connections(&connections);
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
    return run(&options);
}
