/* The options of the reconciliation, as a table. Read before threads start. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "apps/reconciliation/reconciliation.h"
#include "base/str.h"

struct recon_settings recon_settings = {
    .shards = 10,
    .lookback_days = 7,
    .status_keys = "pending",
    .order = "oldest",
    .batch = 100,
    .concurrency = 8,
    .interval_ms = 5000,
    .timeout_ms = 10000,
    .lease_ms = 60000,
    .backoff_ms = 5000,
    .backoff_max_ms = 900000,
    .repeat_ms = 900000,
};

static const struct option {
    const char *name;
    const char *what;
    const char **text;
    int64_t *number;
    int64_t min;
    int64_t max;
} options[] = {
    {"--webhook", "URL that pending calls are posted to", &recon_settings.webhook, NULL, 0, 0},
    {"--webhook-secret", "file with the secret that posts are signed with",
     &recon_settings.webhook_secret, NULL, 0, 0},
    {"--status-keys", "pending: one key for all; split: FAILED calls are under STATUS#FAILED",
     &recon_settings.status_keys, NULL, 0, 0},
    {"--order", "deliver oldest or newest calls first", &recon_settings.order, NULL, 0, 0},
    {"--tenant", "only the calls of one tenant", &recon_settings.tenant, NULL, 0, 0},
    {"--shards", "number of index shards; all writers and pollers must use the same number", NULL,
     &recon_settings.shards, 1, RECONCILIATION_SHARDS_MAX},
    {"--lookback-days", "calls older than this are not delivered", NULL,
     &recon_settings.lookback_days, 1, 36500},
    {"--batch", "calls taken from the index at once", NULL, &recon_settings.batch, 1, 10000},
    {"--concurrency", "deliveries at the same time", NULL, &recon_settings.concurrency, 1, 64},
    {"--interval-ms", "pause between two passes", NULL, &recon_settings.interval_ms, 10, 86400000},
    {"--timeout-ms", "time limit of a delivery", NULL, &recon_settings.timeout_ms, 10, 600000},
    {"--lease-ms", "duration of a lease", NULL, &recon_settings.lease_ms, 20, 3600000},
    {"--backoff-ms", "delay after the first failed delivery; doubles with each", NULL,
     &recon_settings.backoff_ms, 1, 86400000},
    {"--backoff-max-ms", "upper bound of the back-off", NULL, &recon_settings.backoff_max_ms, 1,
     86400000},
    {"--repeat-ms", "delay before a call that is still pending is delivered again", NULL,
     &recon_settings.repeat_ms, 1, INT64_C(86400000) * 365},
};

static enum recon_option take(const struct option *option, const char *value)
{
    if (value == NULL || value[0] == '\0') {
        fprintf(stderr, "gramme-apps: %s needs a value\n", option->name);
        return RECON_OPTION_BAD;
    }
    if (option->text != NULL) {
        *option->text = value;
        return RECON_OPTION_TAKEN;
    }
    int64_t number;
    if (!str_to_int64(str_from_c(value), &number) || number < option->min || number > option->max) {
        fprintf(stderr, "gramme-apps: %s wants a number from %lld to %lld\n", option->name,
                (long long)option->min, (long long)option->max);
        return RECON_OPTION_BAD;
    }
    *option->number = number;
    return RECON_OPTION_TAKEN;
}

enum recon_option recon_take_option(const char *name, const char *value)
{
    for (size_t i = 0; i < COUNT_OF(options); i++) {
        if (strcmp(options[i].name, name) == 0) {
            return take(&options[i], value);
        }
    }
    return RECON_OPTION_UNKNOWN;
}

bool recon_check_settings(void)
{
    if (recon_settings.webhook != NULL && strncmp(recon_settings.webhook, "http://", 7) != 0 &&
        strncmp(recon_settings.webhook, "https://", 8) != 0) {
        fprintf(stderr, "gramme-apps: --webhook wants http://... or https://...\n");
        return false;
    }
    FILE *secret =
        recon_settings.webhook_secret == NULL ? NULL : fopen(recon_settings.webhook_secret, "r");
    char first[8] = "";
    if (recon_settings.webhook_secret != NULL &&
        (secret == NULL || fgets(first, sizeof(first), secret) == NULL || first[0] == '\n')) {
        fprintf(stderr, "gramme-apps: --webhook-secret: %s has no secret in its first line\n",
                recon_settings.webhook_secret);
        if (secret != NULL) {
            fclose(secret);
        }
        return false;
    }
    if (secret != NULL) {
        fclose(secret);
    }
    if (strcmp(recon_settings.status_keys, "pending") != 0 &&
        strcmp(recon_settings.status_keys, "split") != 0) {
        fprintf(stderr, "gramme-apps: --status-keys wants pending or split\n");
        return false;
    }
    if (strcmp(recon_settings.order, "oldest") != 0 &&
        strcmp(recon_settings.order, "newest") != 0) {
        fprintf(stderr, "gramme-apps: --order wants oldest or newest\n");
        return false;
    }
    /* Otherwise another poller may lease the call while the first still posts it. */
    if (recon_settings.lease_ms < 2 * recon_settings.timeout_ms) {
        fprintf(stderr, "gramme-apps: --lease-ms must be at least twice --timeout-ms\n");
        return false;
    }
    return true;
}

void recon_print_options(void)
{
    for (size_t i = 0; i < COUNT_OF(options); i++) {
        char fallback[32] = "";
        if (options[i].number != NULL) {
            snprintf(fallback, sizeof(fallback), " [%lld]", (long long)*options[i].number);
        }
        if (options[i].text != NULL && *options[i].text != NULL) {
            snprintf(fallback, sizeof(fallback), " [%s]", *options[i].text);
        }
        printf("  %-16s %s  %s%s\n", options[i].name, options[i].number == NULL ? "TEXT" : "N   ",
               options[i].what, fallback);
    }
}
