/* apps/options.h: the command line of gramme-apps. */
#ifndef GRAMME_APPS_OPTIONS_H
#define GRAMME_APPS_OPTIONS_H

#include "apps/common/server.h"

struct options {
    const char *db;
    const char *streams;  /* NULL: derived from `db` */
    const char *profiles; /* prefix of the applications' profiles; NULL: none */
    const char *listen;
    const char *pages;
    const char *auth; /* "dev" or "oidc"; NULL: dev, on a loopback address */
    const char *client_secret_file;
    const char *log_format;
    const char *log_level;
    struct auth_options auth_options;
    int64_t live_interval_ms;
    bool create_tables;
    bool samples;

    /* Derived from the members above. */
    struct str host;
    int port;
    char streams_url[512]; /* "": the database's own handle */
    char client_secret[512];
    char public_url[512]; /* auth_options.public_url, normalized */
};

/* Reads and checks the command line. False: it is not valid; stderr says why. */
bool options_read(int argc, char **argv, struct options *out);
/* Prints the options to stdout. */
void options_print_help(void);

#endif
