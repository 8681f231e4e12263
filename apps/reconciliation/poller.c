/* The poller. A pass over the index leases each due call, posts it to the webhook and writes the
 * result. One thread makes passes, several deliver. */
#include "apps/reconciliation/poller.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "apps/reconciliation/recent.h"
#include "apps/reconciliation/webhook.h"
#include "base/base.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/random.h"

/* The most calls of one batch, which is in memory. */
enum { WINDOW_MAX = 100 * 1000 };

struct poller {
    struct gramme_db *db;
    struct recent *recent; /* NULL: deliveries are not listed */
    struct poller_counters counters;
    struct webhook **webhooks; /* one per thread that delivers */
    char secret[512];          /* for signing posts; "": none */

    pthread_mutex_t mutex;
    pthread_cond_t wake;
    atomic_bool stopping;
    bool is_running;
    pthread_t thread;
};

/* A batch of calls. Each of the threads that deliver it takes the next call. */
struct batch {
    struct poller *poller;
    const struct recon_list *list;
    atomic_size_t next; /* index in the list */
    atomic_size_t leased;
};

struct courier {
    struct batch *batch;
    struct webhook *webhook;
    pthread_t thread;
};

static void count(atomic_int_fast64_t *counter)
{
    atomic_fetch_add(counter, 1);
}

/* --- one call --- */

/* Returns a random delay, from half of the back-off to all of it; the back-off doubles with each
 * attempt. */
static int64_t backoff_us(int64_t attempts)
{
    int64_t most_ms = recon_settings.backoff_ms;
    for (int64_t i = 1; i < attempts && most_ms < recon_settings.backoff_max_ms; i++) {
        most_ms *= 2;
    }
    int64_t most_us = MIN(most_ms, recon_settings.backoff_max_ms) * 1000;
    uint64_t number;
    random_system(&number, sizeof(number));
    return most_us / 2 + (int64_t)(number % (uint64_t)(most_us / 2 + 1));
}

static char *payload_of(const struct gramme_value *call)
{
    struct gramme_value *payload = gramme_map_create();
    gramme_set_string(payload, "tenantId", recon_tenant_id(call));
    gramme_set_string(payload, "callId", recon_call_id(call));
    gramme_set_value(payload, "callDateTime", gramme_get(call, "CallDateTime"));
    gramme_set_value(payload, "audioReceived", gramme_get(call, "AudioReceived"));
    gramme_set_value(payload, "processingStatus", gramme_get(call, "ProcessingStatus"));
    gramme_set_value(payload, "attempt", gramme_get(call, "Attempts"));
    gramme_set_value(payload, "leaseId", gramme_get(call, "LeaseOwner"));
    gramme_set_value(payload, "leaseUntil", gramme_get(call, "NotBefore"));
    char *json = gramme_value_to_json(payload, GRAMME_PLAIN, NULL);
    gramme_value_destroy(payload);
    return json;
}

/* Reads the new state of the call from the body of the webhook's response: {"audioReceived": true,
 * "processingStatus": "SUCCESS"}, or one of them. Returns whether it has one of them. */
static bool read_state(const struct gramme_value *answer, struct recon_call *call)
{
    const struct gramme_value *audio = gramme_get(answer, "audioReceived");
    const char *status = gramme_get_string(answer, "processingStatus");
    bool said = gramme_value_bool(audio, &call->audio_received);
    if (status != NULL && recon_status_is_valid(status)) {
        call->processing_status = status;
        said = true;
    }
    return said;
}

static void note_failure(struct poller *poller, const struct gramme_error *error)
{
    /* Otherwise the database failed: the call is found again after its lease has ended. */
    if (gramme_error_is(error, GRAMME_CONDITION_FAILED)) {
        count(&poller->counters.leases_lost);
    }
}

/* Returns the deliveries that the call stores, with this one: a list that the caller destroys. */
static struct gramme_value *add_delivery(const struct gramme_value *item, int status,
                                         const char *problem)
{
    const struct gramme_value *old = gramme_get(item, "Deliveries");
    struct gramme_value *list = gramme_list_create();
    size_t count = gramme_value_count(old);
    size_t first =
        count >= RECONCILIATION_DELIVERIES_MAX ? count - RECONCILIATION_DELIVERIES_MAX + 1 : 0;
    for (size_t i = first; i < count; i++) {
        gramme_add_value(list, gramme_value_at(old, i));
    }
    char now[WHEN_SIZE];
    when_format(now, when_now());
    struct gramme_value *entry = gramme_add_map(list);
    gramme_set_string(entry, "At", now);
    gramme_set_value(entry, "Attempt", gramme_get(item, "Attempts"));
    gramme_set_int(entry, "Status", status);
    if (problem != NULL) {
        gramme_set_string(entry, "Error", problem);
    }
    return list;
}

/* Writes the state of a call as the webhook has reported it. Returns whether the call is not
 * pending any more. */
static bool apply_answer(struct poller *poller, const struct gramme_value *item, const char *owner,
                         struct str body, const struct gramme_value *deliveries)
{
    struct recon_call call = {
        .deliveries = deliveries,
        .tenant_id = recon_tenant_id(item),
        .call_id = recon_call_id(item),
        .audio_received = gramme_get_bool(item, "AudioReceived", false),
        .processing_status = gramme_get_string(item, "ProcessingStatus"),
    };
    if (call.processing_status == NULL) { /* another program wrote only that the audio is missing */
        call.processing_status = "PENDING";
    }
    struct gramme_value *answer = gramme_value_from_json(body.data, body.len, GRAMME_PLAIN, NULL);
    bool is_fine = false;
    if (read_state(answer, &call) &&
        when_parse(gramme_get_string(item, "CallDateTime"), &call.when)) {
        struct gramme_error *error = NULL;
        struct gramme_answer *old = recon_ingest_call(poller->db, &call, owner, &error);
        is_fine = old != NULL && !recon_is_bad(call.audio_received, call.processing_status);
        note_failure(poller, error);
        gramme_answer_destroy(old);
        gramme_error_destroy(error);
    }
    gramme_value_destroy(answer);
    return is_fine;
}

static void describe_problem(int status, struct str body, char *out, size_t size)
{
    if (status == 0) {
        snprintf(out, size, "%.*s", STR_ARG(body)); /* why there was no response */
    } else {
        snprintf(out, size, "the webhook answered with status %d", status);
    }
}

/* Ends the lease of a call that is still pending; sets the time of the next attempt. */
static void give_back(struct poller *poller, const struct gramme_value *item,
                      const struct recon_lease *lease, bool is_delivered,
                      const struct gramme_value *deliveries)
{
    int64_t wait_us = is_delivered ? recon_settings.repeat_ms * 1000
                                   : backoff_us(gramme_get_int(item, "Attempts", 1));
    struct recon_outcome outcome = {
        .not_before = when_now() + wait_us, .is_delivered = is_delivered, .deliveries = deliveries};
    struct gramme_error *error = NULL;
    if (!recon_return_call(poller->db, lease, &outcome, &error)) {
        note_failure(poller, error);
    }
    gramme_error_destroy(error);
}

/* Posts a leased call, and writes its new state or the time of the next attempt. */
static void deliver(struct poller *poller, struct webhook *webhook, const struct gramme_value *item,
                    const struct recon_lease *lease)
{
    struct str body;
    char *json = payload_of(item);
    int status = webhook_post(webhook, json, &poller->stopping, &body);
    gramme_free(json);
    bool is_delivered = status >= 200 && status < 300;
    count(is_delivered ? &poller->counters.delivered : &poller->counters.delivery_failures);
    char problem[128];
    describe_problem(status, body, problem, sizeof(problem));
    if (!is_delivered) {
        log_write(LOG_WARN, "poller", "call %s of %s was not delivered, attempt %lld: %s",
                  lease->call_id, lease->tenant_id, (long long)gramme_get_int(item, "Attempts", 1),
                  problem);
    }
    struct gramme_value *deliveries = add_delivery(item, status, is_delivered ? NULL : problem);
    if (is_delivered && apply_answer(poller, item, lease->owner, body, deliveries)) {
        count(&poller->counters.resolved);
    } else {
        give_back(poller, item, lease, is_delivered, deliveries);
    }
    if (poller->recent != NULL) {
        recent_add(poller->recent, lease->tenant_id, lease->call_id,
                   gramme_value_at(deliveries, gramme_value_count(deliveries) - 1));
    }
    gramme_value_destroy(deliveries);
}

/* Returns whether this poller got the lease. */
static bool handle_call(struct poller *poller, struct webhook *webhook,
                        const struct gramme_value *found)
{
    char owner[GRAMME_UUID_SIZE];
    gramme_uuid(owner);
    struct recon_lease lease = {
        .tenant_id = recon_tenant_id(found),
        .call_id = recon_call_id(found),
        .owner = owner,
    };
    if (lease.tenant_id == NULL || lease.call_id == NULL) {
        return false; /* an item of another program, with other keys */
    }
    int64_t now = when_now();
    struct gramme_error *error = NULL;
    struct gramme_answer *leased =
        recon_lease_call(poller->db, &lease, now, now + recon_settings.lease_ms * 1000, &error);
    if (leased == NULL) {
        count(&poller->counters.lease_misses);
        gramme_error_destroy(error);
        return false;
    }
    count(&poller->counters.leased);
    deliver(poller, webhook, gramme_answer_attributes(leased), &lease);
    gramme_answer_destroy(leased);
    return true;
}

/* --- a batch --- */

static void *carry(void *arg)
{
    struct courier *courier = arg;
    struct batch *batch = courier->batch;
    while (!atomic_load(&batch->poller->stopping)) {
        size_t next = atomic_fetch_add(&batch->next, 1);
        if (next >= batch->list->count) {
            break;
        }
        if (handle_call(batch->poller, courier->webhook, batch->list->first[next])) {
            atomic_fetch_add(&batch->leased, 1);
        }
    }
    return NULL;
}

/* Delivers the calls of a list, without the first `skip`. Returns how many this poller has leased.
 */
static size_t deliver_batch(struct poller *poller, const struct recon_list *list, size_t skip)
{
    struct batch batch = {.poller = poller, .list = list, .next = skip};
    size_t left = list->count - MIN(skip, list->count);
    size_t courier_count = MIN((size_t)recon_settings.concurrency, left);
    struct courier *couriers = mem_zalloc(courier_count * sizeof(*couriers));
    for (size_t i = 0; i < courier_count; i++) {
        couriers[i] = (struct courier){.batch = &batch, .webhook = poller->webhooks[i]};
        if (pthread_create(&couriers[i].thread, NULL, carry, &couriers[i]) != 0) {
            abort(); /* no memory: as everywhere */
        }
    }
    for (size_t i = 0; i < courier_count; i++) {
        pthread_join(couriers[i].thread, NULL);
    }
    mem_free(couriers);
    return atomic_load(&batch.leased);
}

/* --- a pass --- */

static void note_found(struct poller *poller, const struct recon_list *list, bool is_first)
{
    atomic_fetch_add(&poller->counters.found, (int_fast64_t)list->count);
    int64_t oldest = 0;
    if (list->count > 0) {
        char when[WHEN_SIZE];
        const char *key = gramme_get_string(list->first[0], "GSI_Recon_SK");
        snprintf(when, sizeof(when), "%.*s", (int)strcspn(key, "#"), key);
        if (!when_parse(when, &oldest)) {
            oldest = 0;
        }
    }
    if (is_first) {
        atomic_store(&poller->counters.oldest_due, oldest);
    }
}

/* The calls of a batch: the first `limit` that are due, without the first `skip` of these. */
struct window {
    size_t skip;
    size_t limit;
};

/* Sets the window of the next batch. Leased calls are not due any more, so the next batch begins at
 * the front again. If this poller leased none, the window moves on behind them: other pollers have
 * leased them, or the index has no NotBefore and they are not due. False: the pass is over. */
static bool next_window(struct window *window, size_t found, size_t done)
{
    if (done > 0 && window->skip == 0) {
        return true;
    }
    if (found < window->limit || window->limit >= WINDOW_MAX) {
        return false;
    }
    window->skip = window->limit;
    window->limit = MIN(window->limit * 2, (size_t)WINDOW_MAX);
    return true;
}

bool poller_pass(struct poller *poller, struct gramme_error **error)
{
    recon_check_projection(poller->db);
    struct recon_search search = recon_search_due();
    struct window window = {.limit = (size_t)recon_settings.batch};
    bool has_more = true;
    for (bool is_first = true; has_more && !atomic_load(&poller->stopping); is_first = false) {
        struct recon_list list;
        if (!recon_list_pending(poller->db, &search, window.limit, &list, error)) {
            recon_list_finish(&list);
            count(&poller->counters.pass_failures);
            return false;
        }
        note_found(poller, &list, is_first);
        has_more = next_window(&window, list.count, deliver_batch(poller, &list, window.skip));
        recon_list_finish(&list);
    }
    count(&poller->counters.passes);
    atomic_store(&poller->counters.last_pass, when_now());
    return true;
}

/* --- running --- */

static void *run(void *arg)
{
    struct poller *poller = arg;
    pthread_mutex_lock(&poller->mutex);
    while (!atomic_load(&poller->stopping)) {
        pthread_mutex_unlock(&poller->mutex);
        struct gramme_error *error = NULL;
        if (!poller_pass(poller, &error)) {
            log_write(LOG_WARN, "poller", "the database does not answer: %s: %s",
                      gramme_error_code(error), gramme_error_message(error));
        }
        gramme_error_destroy(error);
        pthread_mutex_lock(&poller->mutex);
        int64_t until_us = when_now() + recon_settings.interval_ms * 1000;
        struct timespec until = {.tv_sec = until_us / 1000000,
                                 .tv_nsec = until_us % 1000000 * 1000};
        if (!atomic_load(&poller->stopping)) {
            pthread_cond_timedwait(&poller->wake, &poller->mutex, &until);
        }
    }
    pthread_mutex_unlock(&poller->mutex);
    return NULL;
}

/* Reads the first line of the file with the secret. */
static void read_secret(struct poller *poller)
{
    FILE *file =
        recon_settings.webhook_secret == NULL ? NULL : fopen(recon_settings.webhook_secret, "r");
    if (file != NULL) {
        if (fgets(poller->secret, sizeof(poller->secret), file) == NULL) {
            poller->secret[0] = '\0';
        }
        poller->secret[strcspn(poller->secret, "\r\n")] = '\0';
        fclose(file);
    }
}

struct poller *poller_create(struct gramme_db *db, struct recent *recent)
{
    struct poller *poller = mem_zalloc(sizeof(*poller));
    poller->db = db;
    poller->recent = recent;
    read_secret(poller);
    pthread_mutex_init(&poller->mutex, NULL);
    pthread_cond_init(&poller->wake, NULL);
    poller->webhooks = mem_zalloc((size_t)recon_settings.concurrency * sizeof(struct webhook *));
    for (int64_t i = 0; i < recon_settings.concurrency; i++) {
        poller->webhooks[i] = webhook_create(recon_settings.webhook, recon_settings.timeout_ms,
                                             poller->secret[0] == '\0' ? NULL : poller->secret);
    }
    return poller;
}

void poller_destroy(struct poller *poller)
{
    if (poller == NULL) {
        return;
    }
    poller_stop(poller);
    for (int64_t i = 0; i < recon_settings.concurrency; i++) {
        webhook_destroy(poller->webhooks[i]);
    }
    mem_free(poller->webhooks);
    pthread_cond_destroy(&poller->wake);
    pthread_mutex_destroy(&poller->mutex);
    mem_free(poller);
}

const struct poller_counters *poller_counters(const struct poller *poller)
{
    return &poller->counters;
}

void poller_start(struct poller *poller)
{
    if (pthread_create(&poller->thread, NULL, run, poller) != 0) {
        abort(); /* no memory: as everywhere */
    }
    poller->is_running = true;
}

void poller_stop(struct poller *poller)
{
    pthread_mutex_lock(&poller->mutex);
    atomic_store(&poller->stopping, true);
    pthread_cond_signal(&poller->wake);
    pthread_mutex_unlock(&poller->mutex);
    if (poller->is_running) {
        pthread_join(poller->thread, NULL);
        poller->is_running = false;
    }
}
