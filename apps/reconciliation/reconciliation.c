/* The data layer of the reconciliation: one function per access pattern. Called by the handlers of
 * the REST API, the poller and the samples, on threads that may wait for the database. */
#include "apps/reconciliation/reconciliation.h"

#include <stdio.h>
#include <string.h>

#include "apps/common/write.h"
#include "base/base.h"

bool recon_id_is_valid(const char *text)
{
    size_t len = strlen(text);
    return len >= 1 && len <= RECONCILIATION_ID_LEN_MAX &&
           strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._:-") ==
               len;
}

bool recon_status_is_valid(const char *text)
{
    return strcmp(text, "SUCCESS") == 0 || strcmp(text, "FAILED") == 0 ||
           strcmp(text, "PENDING") == 0;
}

bool recon_is_bad(bool audio_received, const char *processing_status)
{
    return !audio_received || strcmp(processing_status, "SUCCESS") != 0;
}

/* Returns the part of a key after its prefix; NULL: it has another form. */
static const char *id_in_key(const struct gramme_value *item, const char *name, const char *prefix)
{
    const char *key = gramme_get_string(item, name);
    size_t len = strlen(prefix);
    return key != NULL && strncmp(key, prefix, len) == 0 ? key + len : NULL;
}

const char *recon_tenant_id(const struct gramme_value *item)
{
    return id_in_key(item, "PK", "TENANT#");
}

const char *recon_call_id(const struct gramme_value *item)
{
    return id_in_key(item, "SK", "CALL#");
}

/* Returns the shard of a call. It is computed from the ids, so it never changes. */
static int shard_of(const char *tenant_id, const char *call_id)
{
    uint64_t hash = UINT64_C(14695981039346656037); /* FNV-1a */
    const char *const parts[] = {tenant_id, "#", call_id};
    for (size_t i = 0; i < 3; i++) {
        for (const char *c = parts[i]; *c != '\0'; c++) {
            hash = (hash ^ (unsigned char)*c) * UINT64_C(1099511628211);
        }
    }
    return (int)(hash % (uint64_t)recon_settings.shards);
}

static bool has_failed_keys(void)
{
    return strcmp(recon_settings.status_keys, "split") == 0;
}

int recon_partition_count(void)
{
    return (int)recon_settings.shards * (has_failed_keys() ? 2 : 1);
}

static int partition_of(const char *tenant_id, const char *call_id, const char *status)
{
    bool is_failed = has_failed_keys() && strcmp(status, "FAILED") == 0;
    return shard_of(tenant_id, call_id) + (is_failed ? (int)recon_settings.shards : 0);
}

/* Sets the partition key in the index. With one shard it has no number, as in the document. */
static void set_index_key(struct gramme_value *map, const char *name, int partition)
{
    const char *status = partition >= recon_settings.shards ? "FAILED" : "PENDING";
    if (recon_settings.shards == 1) {
        gramme_set_format(map, name, "STATUS#%s", status);
    } else {
        gramme_set_format(map, name, "STATUS#%s#%d", status,
                          partition % (int)recon_settings.shards);
    }
}

static void set_when(struct gramme_value *map, const char *name, int64_t when)
{
    char text[WHEN_SIZE];
    when_format(text, when);
    gramme_set_string(map, name, text);
}

/* Makes an UpdateItem of a call. */
static struct gramme_request *update_call(const char *tenant_id, const char *call_id)
{
    struct gramme_request *update = gramme_request_create("UpdateItem", RECONCILIATION_TABLE);
    gramme_set_format(gramme_request_key(update), "PK", "TENANT#%s", tenant_id);
    gramme_set_format(gramme_request_key(update), "SK", "CALL#%s", call_id);
    return update;
}

static struct gramme_answer *send(struct gramme_db *db, struct gramme_request *request,
                                  struct gramme_error **error)
{
    struct gramme_answer *answer = write_send(db, request, error);
    gramme_request_destroy(request);
    return answer;
}

struct gramme_answer *recon_ingest_call(struct gramme_db *db, const struct recon_call *call,
                                        const char *owner, struct gramme_error **error)
{
    /* [is bad][has deliveries]; a new state overrides a manual resolution. */
    static const char *const expressions[2][2] = {
        {"SET TenantId = :tenant, CallId = :call, CallDateTime = :when, AudioReceived = :audio, "
         "ProcessingStatus = :status "
         "REMOVE GSI_Recon_PK, GSI_Recon_SK, NotBefore, LeaseOwner, Attempts, Resolved",
         "SET TenantId = :tenant, CallId = :call, CallDateTime = :when, AudioReceived = :audio, "
         "ProcessingStatus = :status, Deliveries = :deliveries "
         "REMOVE GSI_Recon_PK, GSI_Recon_SK, NotBefore, LeaseOwner, Attempts, Resolved"},
        {"SET TenantId = :tenant, CallId = :call, CallDateTime = :when, AudioReceived = :audio, "
         "ProcessingStatus = :status, GSI_Recon_PK = :pk, GSI_Recon_SK = :sk REMOVE Resolved",
         "SET TenantId = :tenant, CallId = :call, CallDateTime = :when, AudioReceived = :audio, "
         "ProcessingStatus = :status, GSI_Recon_PK = :pk, GSI_Recon_SK = :sk, Deliveries = "
         ":deliveries REMOVE Resolved"},
    };
    char when[WHEN_SIZE];
    when_format_seconds(when, call->when);
    struct gramme_request *update = update_call(call->tenant_id, call->call_id);
    bool is_bad = recon_is_bad(call->audio_received, call->processing_status);
    gramme_request_update(update, expressions[is_bad][call->deliveries != NULL]);
    struct gramme_value *values = gramme_request_values(update);
    if (call->deliveries != NULL) {
        gramme_set_value(values, ":deliveries", call->deliveries);
    }
    gramme_set_string(values, ":tenant", call->tenant_id);
    gramme_set_string(values, ":call", call->call_id);
    gramme_set_string(values, ":when", when);
    gramme_set_bool(values, ":audio", call->audio_received);
    gramme_set_string(values, ":status", call->processing_status);
    if (is_bad) {
        set_index_key(values, ":pk",
                      partition_of(call->tenant_id, call->call_id, call->processing_status));
        gramme_set_format(values, ":sk", "%s#%s", when, call->tenant_id);
    }
    if (owner != NULL) {
        gramme_request_condition(update, "LeaseOwner = :owner");
        gramme_set_string(values, ":owner", owner);
    }
    gramme_request_return(update, "ALL_OLD");
    return send(db, update, error);
}

/* Makes an UpdateItem of a call, on the condition that its state is that of `seen` and that it has
 * the attribute `marker`. Items of other programs may lack parts of the state. */
static struct gramme_request *update_seen(const struct gramme_value *seen, const char *marker)
{
    const struct gramme_value *audio = gramme_get(seen, "AudioReceived");
    const struct gramme_value *status = gramme_get(seen, "ProcessingStatus");
    char condition[256];
    snprintf(condition, sizeof(condition), "attribute_exists(%s) AND %s AND %s", marker,
             audio == NULL ? "attribute_not_exists(AudioReceived)" : "AudioReceived = :seenAudio",
             status == NULL ? "attribute_not_exists(ProcessingStatus)"
                            : "ProcessingStatus = :seenStatus");
    struct gramme_request *update = gramme_request_create("UpdateItem", RECONCILIATION_TABLE);
    gramme_set_value(gramme_request_key(update), "PK", gramme_get(seen, "PK"));
    gramme_set_value(gramme_request_key(update), "SK", gramme_get(seen, "SK"));
    gramme_request_condition(update, condition);
    gramme_set_value(gramme_request_values(update), ":seenAudio", audio);
    gramme_set_value(gramme_request_values(update), ":seenStatus", status);
    gramme_request_return(update, "ALL_NEW");
    return update;
}

struct gramme_answer *recon_resolve_call(struct gramme_db *db, const struct gramme_value *seen,
                                         const char *by, struct gramme_error **error)
{
    struct gramme_request *update = update_seen(seen, "GSI_Recon_PK");
    gramme_request_update(update,
                          "SET AudioReceived = :audio, ProcessingStatus = :status, Resolved = "
                          ":resolved REMOVE GSI_Recon_PK, GSI_Recon_SK, NotBefore, LeaseOwner");
    struct gramme_value *values = gramme_request_values(update);
    gramme_set_bool(values, ":audio", true);
    gramme_set_string(values, ":status", "SUCCESS");
    struct gramme_value *resolved = gramme_set_map(values, ":resolved");
    set_when(resolved, "At", when_now());
    gramme_set_string(resolved, "By", by);
    static const char *const restored[] = {"AudioReceived", "ProcessingStatus", "GSI_Recon_PK",
                                           "GSI_Recon_SK"};
    for (size_t i = 0; i < COUNT_OF(restored); i++) {
        gramme_set_value(resolved, restored[i], gramme_get(seen, restored[i]));
    }
    return send(db, update, error);
}

/* Sets the index keys that a call had before it was resolved. Calls that an earlier version has
 * resolved do not have them stored: they are computed. */
static void set_keys_before(struct gramme_value *values, const struct gramme_value *seen)
{
    const struct gramme_value *resolved = gramme_get(seen, "Resolved");
    const char *tenant_id = recon_tenant_id(seen);
    const char *status = gramme_get_string(resolved, "ProcessingStatus");
    if (gramme_get(resolved, "GSI_Recon_PK") == NULL) {
        set_index_key(values, ":pk",
                      partition_of(tenant_id, recon_call_id(seen), status == NULL ? "" : status));
        gramme_set_format(values, ":sk", "%s#%s", gramme_get_string(seen, "CallDateTime"),
                          tenant_id);
        return;
    }
    gramme_set_value(values, ":pk", gramme_get(resolved, "GSI_Recon_PK"));
    gramme_set_value(values, ":sk", gramme_get(resolved, "GSI_Recon_SK"));
}

struct gramme_answer *recon_reopen_call(struct gramme_db *db, const struct gramme_value *seen,
                                        struct gramme_error **error)
{
    const struct gramme_value *resolved = gramme_get(seen, "Resolved");
    const struct gramme_value *audio = gramme_get(resolved, "AudioReceived");
    const struct gramme_value *status = gramme_get(resolved, "ProcessingStatus");
    struct gramme_request *update = update_seen(seen, "Resolved");
    char expression[256];
    snprintf(expression, sizeof(expression),
             "SET GSI_Recon_PK = :pk, GSI_Recon_SK = :sk%s%s REMOVE Resolved%s%s",
             audio == NULL ? "" : ", AudioReceived = :audio",
             status == NULL ? "" : ", ProcessingStatus = :status",
             audio == NULL ? ", AudioReceived" : "", status == NULL ? ", ProcessingStatus" : "");
    gramme_request_update(update, expression);
    struct gramme_value *values = gramme_request_values(update);
    gramme_set_value(values, ":audio", audio);
    gramme_set_value(values, ":status", status);
    set_keys_before(values, seen);
    return send(db, update, error);
}

struct gramme_answer *recon_get_call(struct gramme_db *db, const char *tenant_id,
                                     const char *call_id, struct gramme_error **error)
{
    struct gramme_request *get = gramme_request_create("GetItem", RECONCILIATION_TABLE);
    gramme_set_format(gramme_request_key(get), "PK", "TENANT#%s", tenant_id);
    gramme_set_format(gramme_request_key(get), "SK", "CALL#%s", call_id);
    gramme_request_consistent(get);
    return send(db, get, error);
}

/* Adds the filter of a search. The index has no keys for it, because pending calls are few. */
static void add_filter(struct gramme_request *query, const struct recon_search *search)
{
    bool must_be_due = search->due != 0 && recon_index_has_not_before();
    static const char DUE[] = "(attribute_not_exists(NotBefore) OR NotBefore <= :due)";
    /* The table's key, because not every index has TenantId. */
    static const char TENANT[] = "PK = :tenant";
    static const char BOTH[] =
        "PK = :tenant AND (attribute_not_exists(NotBefore) OR NotBefore <= :due)";
    if (search->tenant != NULL) {
        gramme_set_format(gramme_request_values(query), ":tenant", "TENANT#%s", search->tenant);
    }
    if (must_be_due) {
        set_when(gramme_request_values(query), ":due", search->due);
    }
    if (search->tenant != NULL && must_be_due) {
        gramme_request_filter(query, BOTH);
    } else if (search->tenant != NULL || must_be_due) {
        gramme_request_filter(query, search->tenant != NULL ? TENANT : DUE);
    }
}

struct gramme_request *recon_find_pending(const struct recon_search *search, int partition)
{
    char since[WHEN_SIZE];
    when_format_seconds(since, search->since > 0 ? search->since : 0);
    struct gramme_request *query = gramme_request_create("Query", RECONCILIATION_TABLE);
    gramme_request_index(query, "ReconciliationIndex");
    gramme_request_key_condition(query, "GSI_Recon_PK = :status AND GSI_Recon_SK > :lookbackDate");
    set_index_key(gramme_request_values(query), ":status", partition);
    gramme_set_string(gramme_request_values(query), ":lookbackDate", since);
    add_filter(query, search);
    if (search->newest_first) {
        gramme_request_descending(query);
    }
    gramme_request_limit(query, RECON_PAGE_ITEMS);
    return query;
}

struct gramme_answer *recon_lease_call(struct gramme_db *db, const struct recon_lease *lease,
                                       int64_t now, int64_t until, struct gramme_error **error)
{
    struct gramme_request *update = update_call(lease->tenant_id, lease->call_id);
    gramme_request_update(update, "SET LeaseOwner = :owner, NotBefore = :until ADD Attempts :one");
    /* The owner is new for each lease: if the call has it, the library has repeated this request
     * after a lost answer. */
    gramme_request_condition(update, "attribute_exists(GSI_Recon_PK) AND "
                                     "(attribute_not_exists(NotBefore) OR NotBefore <= :now OR "
                                     "LeaseOwner = :owner)");
    struct gramme_value *values = gramme_request_values(update);
    gramme_set_string(values, ":owner", lease->owner);
    set_when(values, ":now", now);
    set_when(values, ":until", until);
    gramme_set_int(values, ":one", 1);
    gramme_request_return(update, "ALL_NEW");
    return send(db, update, error);
}

bool recon_return_call(struct gramme_db *db, const struct recon_lease *lease,
                       const struct recon_outcome *outcome, struct gramme_error **error)
{
    struct gramme_request *update = update_call(lease->tenant_id, lease->call_id);
    gramme_request_update(
        update, outcome->is_delivered
                    ? "SET NotBefore = :until, Deliveries = :deliveries REMOVE LeaseOwner, Attempts"
                    : "SET NotBefore = :until, Deliveries = :deliveries REMOVE LeaseOwner");
    gramme_set_value(gramme_request_values(update), ":deliveries", outcome->deliveries);
    gramme_request_condition(update, "LeaseOwner = :owner");
    gramme_set_string(gramme_request_values(update), ":owner", lease->owner);
    set_when(gramme_request_values(update), ":until", outcome->not_before);
    struct gramme_answer *answer = send(db, update, error);
    gramme_answer_destroy(answer);
    return answer != NULL;
}
