/* gramme-apps: five applications under one port, on any DynamoDB. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "apps/calendar/calendar.h"
#include "apps/calls/calls.h"
#include "apps/common/server.h"
#include "apps/reconciliation/reconciliation.h"
#include "apps/tasks/tasks.h"
#include "apps/tickets/tickets.h"
#include "base/log.h"

static const struct app_definition *const apps[] = {
    &calls_app, &reconciliation_app, &calendar_app, &tickets_app, &tasks_app,
};

struct options {
    const char *db;
    const char *listen;
    const char *pages;
    bool create_tables;
    bool samples;
};

static void print_help(void)
{
    printf(
        "Usage: gramme-apps [options]\n\n"
        "Serves the five applications until SIGTERM or SIGINT.\n\n"
        "  --db URL            the DynamoDB to use: http://HOST:PORT, https://..., aws:,\n"
        "                      rocksdb:DIRECTORY or memory: [http://127.0.0.1:8000]\n"
        "  --listen HOST:PORT  where to serve; port 0 takes a free one [127.0.0.1:8080]\n"
        "  --pages DIRECTORY   the built web pages [build/pages]\n"
        "  --create-tables     make the tables that are missing\n"
        "  --samples           write sample data\n\n"
        "The reconciliation poller runs along if it is told where to post to; `gramme-apps poll`\n"
        "is the same as a program of its own:\n\n");
    recon_print_options();
}

static bool take_option(struct options *options, const char *name, const char *value)
{
    const struct {
        const char *name;
        const char **to;
    } known[] = {
        {"--db", &options->db}, {"--listen", &options->listen}, {"--pages", &options->pages}};
    for (size_t i = 0; i < COUNT_OF(known); i++) {
        if (strcmp(known[i].name, name) == 0 && value != NULL) {
            *known[i].to = value;
            return true;
        }
    }
    return false;
}

static bool read_options(int argc, char **argv, struct options *out)
{
    *out = (struct options){
        .db = "http://127.0.0.1:8000", .listen = "127.0.0.1:8080", .pages = "build/pages"};
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (strcmp(argv[i], "--create-tables") == 0) {
            out->create_tables = true;
        } else if (strcmp(argv[i], "--samples") == 0) {
            out->samples = true;
        } else if (take_option(out, argv[i], value) ||
                   recon_take_option(argv[i], value) == RECON_OPTION_TAKEN) {
            i++;
        } else {
            fprintf(stderr, "gramme-apps: unknown option, or no value: %s (see --help)\n", argv[i]);
            return false;
        }
    }
    return recon_check_settings();
}

static bool split_address(const char *listen, struct app_server_options *out)
{
    const char *colon = strrchr(listen, ':');
    char *end;
    long port = colon == NULL ? -1 : strtol(colon + 1, &end, 10);
    if (port < 0 || port > 65535 || end == colon + 1 || *end != '\0') {
        fprintf(stderr, "gramme-apps: --listen wants HOST:PORT\n");
        return false;
    }
    out->host = str_make(listen, (size_t)(colon - listen));
    out->port = (int)port;
    return true;
}

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
        for (const char *const *schema = apps[i]->schemas; options->create_tables && *schema;
             schema++) {
            if (!gramme_create_table(db, *schema, strlen(*schema), TABLE_TIMEOUT_MS, &error)) {
                return fail("cannot create the tables of", apps[i]->name, error);
            }
        }
        if (options->samples && !apps[i]->load_samples(db, &error)) {
            return fail("cannot write the samples of", apps[i]->name, error);
        }
    }
    return true;
}

static int serve(struct gramme_db *db, const struct options *options)
{
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    pthread_sigmask(SIG_BLOCK, &signals, NULL);
    signal(SIGPIPE, SIG_IGN);
    struct app_server_options server_options = {
        .worker_count = 16, .pages = options->pages, .apps = apps, .app_count = COUNT_OF(apps)};
    struct arena arena;
    arena_init(&arena);
    struct err err = ERR_INIT(&arena);
    struct app_server *server = NULL;
    int status = 1;
    if (!split_address(options->listen, &server_options)) {
        status = 2;
    } else if (!app_server_open(db, &server_options, &server, &err)) {
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
    arena_finish(&arena);
    return status;
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "poll") == 0) {
        return reconciliation_poll_main(argc - 2, argv + 2);
    }
    if (argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "help") == 0)) {
        print_help();
        return 0;
    }
    struct options options;
    if (!read_options(argc, argv, &options)) {
        return 2;
    }
    struct gramme_error *error = NULL;
    struct gramme_db *db = gramme_open(options.db, NULL, &error);
    if (db == NULL) {
        fail("cannot open", options.db, error);
        return 1;
    }
    int status = prepare(db, &options) ? serve(db, &options) : 1;
    gramme_close(db);
    return status;
}
