/* gramme-apps poll: the poller as a separate process. Called by main.c; runs until a signal. */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "apps/common/log_options.h"
#include "apps/reconciliation/poller.h"
#include "base/base.h"

struct poll_options {
    const char *db;
    const char *log_format;
    const char *log_level;
    bool once;
    bool dry_run;
};

static void print_help(void)
{
    printf(
        "Usage: gramme-apps poll --webhook URL [options]\n\n"
        "Posts calls that need a second look to a webhook, oldest first, until SIGTERM or SIGINT.\n"
        "Any number of pollers may run at once.\n\n"
        "  --db URL               the DynamoDB to use [http://127.0.0.1:8000]\n"
        "  --once                 one pass over what is due, then end\n"
        "  --dry-run              print what is due, a line of JSON each, and do nothing\n"
        "  --log-format text|json of the lines on standard error [text]\n"
        "  --log-level LEVEL      error, warn, info or debug [info]\n");
    recon_print_options();
    printf("\nAt its end it prints what it did as JSON.\n");
}

static bool take_text(const char *name, const char *value, struct poll_options *out)
{
    const struct {
        const char *name;
        const char **text;
    } texts[] = {
        {"--db", &out->db},
        {"--log-format", &out->log_format},
        {"--log-level", &out->log_level},
    };
    for (size_t i = 0; value != NULL && i < COUNT_OF(texts); i++) {
        if (strcmp(texts[i].name, name) == 0) {
            *texts[i].text = value;
            return true;
        }
    }
    return false;
}

static bool read_options(int argc, char **argv, struct poll_options *out)
{
    *out = (struct poll_options){
        .db = "http://127.0.0.1:8000", .log_format = "text", .log_level = "info"};
    for (int i = 0; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;
        enum recon_option taken = recon_take_option(argv[i], value);
        if (taken == RECON_OPTION_BAD) {
            return false;
        }
        if (strcmp(argv[i], "--once") == 0) {
            out->once = true;
        } else if (strcmp(argv[i], "--dry-run") == 0) {
            out->dry_run = true;
        } else if (taken == RECON_OPTION_TAKEN || take_text(argv[i], value, out)) {
            i++;
        } else {
            fprintf(stderr, "gramme-apps: unknown option, or no value: %s (see poll --help)\n",
                    argv[i]);
            return false;
        }
    }
    if (!out->dry_run && recon_settings.webhook == NULL) {
        fprintf(stderr, "gramme-apps: poll wants --webhook URL, or --dry-run\n");
        return false;
    }
    return log_options_apply(out->log_format, out->log_level) && recon_check_settings();
}

static bool fail(struct gramme_error *error)
{
    fprintf(stderr, "gramme-apps: %s: %s\n", gramme_error_code(error), gramme_error_message(error));
    gramme_error_destroy(error);
    return false;
}

static bool print_due(struct gramme_db *db)
{
    struct recon_search search = recon_search_due();
    struct recon_list list;
    struct gramme_error *error = NULL;
    bool ok = recon_list_pending(db, &search, SIZE_MAX, &list, &error);
    for (size_t i = 0; ok && i < list.count; i++) {
        char *json = gramme_value_to_json(list.first[i], GRAMME_PLAIN, NULL);
        printf("%s\n", json);
        gramme_free(json);
    }
    recon_list_finish(&list);
    return ok || fail(error);
}

static void print_counters(const struct poller *poller)
{
    const struct poller_counters *counters = poller_counters(poller);
    struct gramme_value *map = gramme_map_create();
#define COUNTER(name_, what_) gramme_set_int(map, #name_, atomic_load(&counters->name_));
    POLLER_COUNTERS(COUNTER)
#undef COUNTER
    char *json = gramme_value_to_json(map, GRAMME_PLAIN, NULL);
    printf("%s\n", json);
    gramme_free(json);
    gramme_value_destroy(map);
}

static bool run_once(struct poller *poller)
{
    struct gramme_error *error = NULL;
    return poller_pass(poller, &error) || fail(error);
}

static void run_until_signal(struct poller *poller)
{
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    pthread_sigmask(SIG_BLOCK, &signals, NULL);
    poller_start(poller);
    int signal_number;
    sigwait(&signals, &signal_number);
    poller_stop(poller);
}

static bool poll(struct gramme_db *db, const struct poll_options *options)
{
    if (options->dry_run) {
        return print_due(db);
    }
    struct poller *poller = poller_create(db, NULL);
    bool ok = true;
    if (options->once) {
        ok = run_once(poller);
    } else {
        run_until_signal(poller);
    }
    print_counters(poller);
    poller_destroy(poller);
    return ok;
}

int reconciliation_poll_main(int argc, char **argv)
{
    struct poll_options options;
    if (argc > 0 && strcmp(argv[0], "--help") == 0) {
        print_help();
        return 0;
    }
    if (!read_options(argc, argv, &options)) {
        return 2;
    }
    struct gramme_error *error = NULL;
    struct gramme_db *db = gramme_open(options.db, NULL, &error);
    bool ok = db == NULL ? fail(error) : poll(db, &options);
    gramme_close(db);
    return ok ? 0 : 1;
}
