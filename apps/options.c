/* The command line of gramme-apps; called once, before threads start. */
#include "apps/options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "apps/reconciliation/reconciliation.h"
#include "apps/tickets/tickets.h"
#include "base/log.h"

static struct options values = {
    .db = "http://127.0.0.1:8000",
    .listen = "127.0.0.1:8080",
    .pages = "build/pages",
    .log_format = "text",
    .log_level = "info",
    .live_interval_ms = 200,
    .auth_options =
        {
            .session_hours = 12,
            .oidc = {.scopes = "openid profile email", .user_claim = "sub", .roles_claim = "roles"},
        },
};

/* One table: names, what they take, where it goes, what --help says. */
static const struct option {
    const char *name;
    const char *takes;
    const char **text;
    int64_t *number;
    const char *what;
} table[] = {
    {"--db", "URL", &values.db, NULL,
     "the DynamoDB to use: http://HOST:PORT, https://..., aws:, rocksdb:DIRECTORY, memory:"},
    {"--streams", "URL", &values.streams, NULL,
     "address for the operations of streams, if it does not follow from --db"},
    {"--listen", "HOST:PORT", &values.listen, NULL, "where to serve; port 0 takes a free one"},
    {"--pages", "DIRECTORY", &values.pages, NULL, "the built web pages"},
    {"--live-interval-ms", "N", NULL, &values.live_interval_ms,
     "how often a table's stream is read while pages are open"},
    {"--log-format", "text|json", &values.log_format, NULL, "of the lines on standard error"},
    {"--log-level", "LEVEL", &values.log_level, NULL, "error, warn, info or debug"},
    {"--auth", "dev|oidc", &values.auth, NULL,
     "who is asking; dev lets anybody be anyone, and is for loopback addresses only [dev there]"},
    {"--public-url", "URL", &values.auth_options.public_url, NULL,
     "this server as browsers see it: https://apps.example.com"},
    {"--session-key", "FILE", &values.auth_options.session_key_file, NULL,
     "the key of sessions, made if it is missing; without it sessions end with the process"},
    {"--oidc-issuer", "URL", &values.auth_options.oidc.issuer, NULL, "the identity provider"},
    {"--oidc-client-id", "ID", &values.auth_options.oidc.client_id, NULL, "ours at the provider"},
    {"--oidc-client-secret", "FILE", &values.client_secret_file, NULL,
     "holds our secret; without it we are a public client"},
    {"--oidc-audience", "TEXT", &values.auth_options.oidc.audience, NULL,
     "of bearer tokens [the client id]"},
    {"--oidc-scopes", "TEXT", &values.auth_options.oidc.scopes, NULL, "that are asked for"},
    {"--oidc-user-claim", "NAME", &values.auth_options.oidc.user_claim, NULL,
     "the claim that is a user's id"},
    {"--oidc-roles-claim", "NAME", &values.auth_options.oidc.roles_claim, NULL,
     "the claim with the roles admin, provider, agent, operator; a.b for one inside another"},
    {"--oidc-ca", "FILE", &values.auth_options.oidc.ca_file, NULL,
     "certificates to trust for the provider"},
};

void options_print_help(void)
{
    printf("Usage: gramme-apps [options]\n\n"
           "Serves the five applications until SIGTERM or SIGINT.\n\n");
    for (size_t i = 0; i < COUNT_OF(table); i++) {
        char name[64];
        snprintf(name, sizeof(name), "%s %s", table[i].name, table[i].takes);
        printf("  %-28s %s", name, table[i].what);
        if (table[i].number != NULL) {
            printf(" [%lld]\n", (long long)*table[i].number);
        } else {
            printf(*table[i].text == NULL ? "\n" : " [%s]\n", *table[i].text);
        }
    }
    printf("  %-28s make the tables that are missing, and switch on their streams\n"
           "  %-28s write sample data\n\nTickets:\n\n",
           "--create-tables", "--samples");
    tickets_print_options();
    printf("\nThe reconciliation poller runs in the server if --webhook is given; `gramme-apps "
           "poll`\nis the same as a program of its own:\n\n");
    recon_print_options();
}

static bool fail(const char *format, const char *text)
{
    fprintf(stderr, "gramme-apps: ");
    fprintf(stderr, format, text); /* NOLINT: a literal of this file */
    fprintf(stderr, "\n");
    return false;
}

static bool take(const char *name, const char *value)
{
    for (size_t i = 0; i < COUNT_OF(table); i++) {
        if (strcmp(table[i].name, name) != 0 || value == NULL) {
            continue;
        }
        if (table[i].text != NULL) {
            *table[i].text = value;
            return true;
        }
        return str_to_int64(str_from_c(value), table[i].number) && *table[i].number >= 10 &&
               *table[i].number <= 60000;
    }
    return tickets_take_option(name, value) || recon_take_option(name, value) == RECON_OPTION_TAKEN;
}

static bool split_address(struct options *out)
{
    const char *colon = strrchr(out->listen, ':');
    char *end;
    long port = colon == NULL ? -1 : strtol(colon + 1, &end, 10);
    if (port < 0 || port > 65535 || end == colon + 1 || *end != '\0') {
        return fail("--listen wants HOST:PORT, not %s", out->listen);
    }
    out->host = str_make(out->listen, (size_t)(colon - out->listen));
    out->port = (int)port;
    return true;
}

static bool host_is_loopback(struct str host)
{
    return str_eq(host, STR("localhost")) || str_eq(host, STR("::1")) ||
           str_eq(host, STR("[::1]")) || str_starts_with(host, STR("127."));
}

/* Reads a secret from its file, without the line's end. */
static bool read_secret(struct options *out)
{
    FILE *file = fopen(out->client_secret_file, "r");
    bool ok = file != NULL && fgets(out->client_secret, sizeof(out->client_secret), file) != NULL;
    if (file != NULL) {
        fclose(file);
    }
    out->client_secret[strcspn(out->client_secret, "\r\n")] = '\0';
    out->auth_options.oidc.client_secret = out->client_secret;
    return ok || fail("%s: no secret can be read from it", out->client_secret_file);
}

static bool is_https_or_local(const char *url)
{
    return strncmp(url, "https://", 8) == 0 || strncmp(url, "http://127.", 11) == 0 ||
           strncmp(url, "http://localhost", 16) == 0 || strncmp(url, "http://[::1]", 12) == 0;
}

static bool check_auth(struct options *out)
{
    bool is_loopback = host_is_loopback(out->host);
    const char *mode = out->auth != NULL ? out->auth : "dev";
    const struct oidc_options *oidc = &out->auth_options.oidc;
    if (out->auth == NULL && !is_loopback) {
        return fail("--listen %s can be reached by others: say who may, with --auth oidc",
                    out->listen);
    }
    if (strcmp(mode, "dev") == 0) {
        out->auth_options.mode = AUTH_DEV;
        return is_loopback || fail("--auth dev is for loopback addresses, not %s", out->listen);
    }
    if (strcmp(mode, "oidc") != 0) {
        return fail("--auth wants dev or oidc, not %s", mode);
    }
    out->auth_options.mode = AUTH_OIDC;
    if (oidc->issuer == NULL || oidc->client_id == NULL) {
        return fail("--auth oidc wants %s", "--oidc-issuer and --oidc-client-id");
    }
    if (!is_https_or_local(oidc->issuer)) {
        return fail("--oidc-issuer wants https://..., not %s", oidc->issuer);
    }
    return out->client_secret_file == NULL || read_secret(out);
}

static bool check_log(const struct options *options)
{
    enum log_level level;
    bool is_json = strcmp(options->log_format, "json") == 0;
    if (!is_json && strcmp(options->log_format, "text") != 0) {
        return fail("--log-format wants text or json, not %s", options->log_format);
    }
    if (!log_level_from_name(str_from_c(options->log_level), &level)) {
        return fail("--log-level wants error, warn, info or debug, not %s", options->log_level);
    }
    log_setup(level, is_json ? LOG_JSON : LOG_TEXT);
    return true;
}

/* AWS has another address for streams; everybody else has the same. */
static void derive_streams(struct options *out)
{
    const char prefix[] = "https://dynamodb.";
    if (out->streams != NULL) {
        snprintf(out->streams_url, sizeof(out->streams_url), "%s", out->streams);
    } else if (strncmp(out->db, prefix, sizeof(prefix) - 1) == 0) {
        snprintf(out->streams_url, sizeof(out->streams_url), "https://streams.dynamodb.%s",
                 out->db + sizeof(prefix) - 1);
    } else if (strncmp(out->db, "http", 4) == 0) {
        snprintf(out->streams_url, sizeof(out->streams_url), "%s", out->db);
    }
}

bool options_read(int argc, char **argv, struct options *out)
{
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (strcmp(argv[i], "--create-tables") == 0) {
            values.create_tables = true;
        } else if (strcmp(argv[i], "--samples") == 0) {
            values.samples = true;
        } else if (take(argv[i], value)) {
            i++;
        } else {
            return fail("unknown option, or not such a value: %s (see --help)", argv[i]);
        }
    }
    *out = values;
    derive_streams(out);
    return split_address(out) && check_auth(out) && check_log(out) && recon_check_settings();
}
