/* The command line of gramme-apps; called once, before threads start. */
#include "apps/options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "apps/common/log_options.h"
#include "apps/reconciliation/reconciliation.h"
#include "apps/tickets/tickets.h"
#include "base/base.h"
#include "base/str.h"

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

/* An option that is a number, and its range. */
struct number {
    int64_t *value;
    int64_t min;
    int64_t max;
};
static const struct number live_interval_ms = {&values.live_interval_ms, 10, 60000};
static const struct number session_hours = {&values.auth_options.session_hours, 1, 8760};

/* All options with a value: name, form of the value, where the value is stored, text for --help. */
static const struct option {
    const char *name;
    const char *takes;
    const char **text;
    const struct number *number;
    const char *what;
} table[] = {
    {"--db", "URL", &values.db, NULL,
     "the DynamoDB to use: http://HOST:PORT, https://..., aws:, rocksdb:DIRECTORY, memory:"},
    {"--streams", "URL", &values.streams, NULL,
     "address for the operations of streams, if it does not follow from --db"},
    {"--profiles", "PREFIX", &values.profiles, NULL,
     "each application has the credentials of its own AWS profile: PREFIXcalls, PREFIXtasks, ..."},
    {"--listen", "HOST:PORT", &values.listen, NULL, "address to listen on; port 0: any free port"},
    {"--pages", "DIRECTORY", &values.pages, NULL, "the built web pages"},
    {"--live-interval-ms", "N", NULL, &live_interval_ms,
     "how often a table's stream is read while pages are open"},
    {"--log-format", "text|json", &values.log_format, NULL, "format of log lines"},
    {"--log-level", "LEVEL", &values.log_level, NULL, "error, warn, info or debug"},
    {"--auth", "dev|oidc", &values.auth, NULL,
     "how users are authenticated; dev: not at all, everybody chooses a user, also an "
     "administrator; "
     "for loopback addresses only, without a proxy [dev there]"},
    {"--public-url", "URL", &values.auth_options.public_url, NULL,
     "URL under which browsers reach this server: https://apps.example.com"},
    {"--session-key", "FILE", &values.auth_options.session_key_file, NULL,
     "file with the key that signs sessions, created if missing; without it sessions end at a "
     "restart"},
    {"--session-hours", "N", NULL, &session_hours, "hours until users must sign in again"},
    {"--oidc-issuer", "URL", &values.auth_options.oidc.issuer, NULL, "the identity provider"},
    {"--oidc-client-id", "ID", &values.auth_options.oidc.client_id, NULL,
     "client id of this server at the identity provider"},
    {"--oidc-client-secret", "FILE", &values.client_secret_file, NULL,
     "file with the client secret; without it this server is a public client"},
    {"--oidc-audience", "TEXT", &values.auth_options.oidc.audience, NULL,
     "audience that bearer tokens must have [the client id]"},
    {"--oidc-scopes", "TEXT", &values.auth_options.oidc.scopes, NULL,
     "scopes to request from the provider"},
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
            printf(" [%lld]\n", (long long)*table[i].number->value);
        } else {
            printf(*table[i].text == NULL ? "\n" : " [%s]\n", *table[i].text);
        }
    }
    printf("  %-28s make the tables that are missing, and switch on their streams\n"
           "  %-28s write sample data\n\nTickets:\n\n",
           "--create-tables", "--samples");
    tickets_print_options();
    printf("\nThe reconciliation poller runs in the server if --webhook is given; `gramme-apps "
           "poll`\nruns the poller without the server:\n\n");
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
        const struct number *number = table[i].number;
        return str_to_int64(str_from_c(value), number->value) && *number->value >= number->min &&
               *number->value <= number->max;
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
           str_eq(host, STR("[::1]")) ||
           (str_starts_with(host, STR("127.")) && strspn(host.data, "0123456789.") >= host.len);
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

static bool ends_with(const char *text, size_t len, const char *ending)
{
    size_t ending_len = strlen(ending);
    return len > ending_len && memcmp(text + len - ending_len, ending, ending_len) == 0;
}

/* Converts --public-url to the form of an origin: scheme://host[:port], without the default port of
 * the scheme. A path is refused; one slash at the end is removed. */
static bool normalize_public_url(struct options *out)
{
    const char *url = out->auth_options.public_url;
    bool is_https = strncmp(url, "https://", 8) == 0;
    size_t begin = is_https ? 8 : 7;
    size_t len = strlen(url);
    bool has_scheme = is_https || strncmp(url, "http://", 7) == 0;
    len -= ends_with(url, len, "/") ? 1 : 0;
    size_t host_len = len > begin ? len - begin : 0;
    if (!has_scheme || host_len == 0 || strcspn(url + begin, "/?#@\\ ") < host_len ||
        len >= sizeof(out->public_url)) {
        return fail("--public-url wants https://HOST or https://HOST:PORT, not %s", url);
    }
    const char *port = is_https ? ":443" : ":80";
    len -= ends_with(url, len, port) ? strlen(port) : 0;
    snprintf(out->public_url, sizeof(out->public_url), "%.*s", (int)len, url);
    out->auth_options.public_url = out->public_url;
    return true;
}

/* Returns the host of a normalized URL, scheme://host[:port]. */
static struct str host_of(const char *url)
{
    const char *host = strstr(url, "://") + 3;
    size_t len = host[0] == '[' ? strcspn(host, "]") + 1 : strcspn(host, ":");
    return str_make(host, MIN(len, strlen(host)));
}

/* In mode dev every client may act as any user, so only clients on this machine may reach the
 * server: neither --listen nor --public-url, the address of a proxy, may be other than loopback. */
static bool check_dev(struct options *out)
{
    const char *url = out->auth_options.public_url;
    out->auth_options.mode = AUTH_DEV;
    if (!host_is_loopback(out->host)) {
        return fail("--listen %s can be reached by others: use --auth oidc", out->listen);
    }
    return url == NULL || host_is_loopback(host_of(url)) ||
           fail("--public-url %s can be reached by others: use --auth oidc", url);
}

static bool check_auth(struct options *out)
{
    const char *mode = out->auth != NULL ? out->auth : "dev";
    const struct oidc_options *oidc = &out->auth_options.oidc;
    if (out->auth_options.public_url != NULL && !normalize_public_url(out)) {
        return false;
    }
    if (strcmp(mode, "dev") == 0) {
        return check_dev(out);
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

/* --profiles needs a database with credentials: one in this process has none. */
static bool check_profiles(const struct options *options)
{
    bool is_remote = strncmp(options->db, "http", 4) == 0 || strncmp(options->db, "aws:", 4) == 0;
    return options->profiles == NULL || is_remote ||
           fail("--profiles is for a database with keys, not %s", options->db);
}

/* AWS serves Streams at another endpoint; other implementations use the same one. */
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
    return split_address(out) && check_profiles(out) && check_auth(out) &&
           log_options_apply(out->log_format, out->log_level) && recon_check_settings();
}
