/* apps/reconciliation/reconciliation.h: calls that must be checked, found through a sparse index
 * that has only these.
 *
 *     a call            PK TENANT#tenant  SK CALL#call
 *     while it is bad   GSI_Recon_PK STATUS#PENDING#shard  GSI_Recon_SK callDateTime#tenant
 *
 * With --status-keys split, calls whose processing FAILED are under STATUS#FAILED#shard instead. A
 * partition of the index is one shard of one of the two.
 *
 * A call is bad while its audio is missing or its processing is not SUCCESS. A poller that delivers
 * a call has a lease on it: LeaseOwner, and NotBefore, the time before which no other poller leases
 * the call. After an attempt, NotBefore is the time of the next one. The index has NotBefore, so
 * that a Query can filter out calls that are not due. */
#ifndef GRAMME_APPS_RECONCILIATION_H
#define GRAMME_APPS_RECONCILIATION_H

#include "apps/common/app.h"
#include "apps/common/when.h"

#define RECONCILIATION_TABLE "CallRecords"

enum {
    RECONCILIATION_SHARDS_MAX = 100,
    RECONCILIATION_PARTITIONS_MAX = 2 * RECONCILIATION_SHARDS_MAX,
    RECONCILIATION_ID_LEN_MAX = 128,
    RECONCILIATION_DELIVERIES_MAX = 10, /* that a call stores */
};

extern const struct app_definition reconciliation_app;

/* `gramme-apps poll`: arguments behind it; returns the exit status. */
int reconciliation_poll_main(int argc, char **argv);

/* --- a call --- */

struct recon_call {
    const char *tenant_id;
    const char *call_id;
    int64_t when; /* the call's time */
    bool audio_received;
    const char *processing_status;         /* SUCCESS, FAILED or PENDING */
    const struct gramme_value *deliveries; /* to be stored; NULL: they are not changed */
};

/* An id is 1 to RECONCILIATION_ID_LEN_MAX letters, digits and . _ : - */
bool recon_id_is_valid(const char *text);
/* Whether a text is SUCCESS, FAILED or PENDING. */
bool recon_status_is_valid(const char *text);
/* Returns whether a call is bad, and so belongs in the index. */
bool recon_is_bad(bool audio_received, const char *processing_status);
/* Returns the tenant of a call, from the table's keys, which items of the index have, too. NULL: it
 * is not a call. Lives as long as the item. */
const char *recon_tenant_id(const struct gramme_value *item);
/* Returns the id of a call, likewise. */
const char *recon_call_id(const struct gramme_value *item);

/* --- the write side --- */

/* Writes the state of a call, and sets or removes the keys of the index. gramme_answer_attributes()
 * is the call as it was before; without CallId: it is new. `owner`: the condition that this lease
 * holds, else GRAMME_CONDITION_FAILED; NULL: no condition. Returns NULL after failure. */
struct gramme_answer *recon_ingest_call(struct gramme_db *db, const struct recon_call *call,
                                        const char *owner, struct gramme_error **error);
/* Resolves a call manually: removes it from the index and stores its previous state. `seen`: the
 * call's item as it was read. gramme_answer_attributes() is the call. GRAMME_CONDITION_FAILED: it
 * has changed since. */
struct gramme_answer *recon_resolve_call(struct gramme_db *db, const struct gramme_value *seen,
                                         const char *by, struct gramme_error **error);
/* Undoes this: restores the previous state. */
struct gramme_answer *recon_reopen_call(struct gramme_db *db, const struct gramme_value *seen,
                                        struct gramme_error **error);
/* Reads a call. gramme_answer_item() is the call, or NULL. */
struct gramme_answer *recon_get_call(struct gramme_db *db, const char *tenant_id,
                                     const char *call_id, struct gramme_error **error);

/* --- the read side --- */

struct recon_search {
    int64_t since;      /* calls after this time: the look-back; may be before 1970 */
    const char *tenant; /* NULL: all */
    int64_t due;        /* only those that are due at this time; 0: all */
    bool newest_first;
};

/* Returns what the poller searches for: calls that are due now, by recon_settings. */
struct recon_search recon_search_due(void);

/* Returns the number of partitions of the index. */
int recon_partition_count(void);

/* The most items of one page of a partition. */
enum { RECON_PAGE_ITEMS = 250 };

/* Makes a Query for the pending calls of one partition, by age. The caller destroys it. */
struct gramme_request *recon_find_pending(const struct recon_search *search, int partition);

/* Called for each pending call, on a thread for each partition. False: ends the read of this
 * partition. */
typedef bool recon_visit(void *context, int partition, const struct gramme_value *item);
/* Reads all partitions in parallel. False: the database failed; some may have been visited. */
bool recon_each_pending(struct gramme_db *db, const struct recon_search *search, recon_visit *visit,
                        void *context, struct gramme_error **error);

/* The first of all partitions, in the order of the search. */
struct recon_list {
    struct gramme_value
        *items[RECONCILIATION_PARTITIONS_MAX]; /* lists; own what `first` points to */
    const struct gramme_value **first;
    size_t count;
};
/* Reads at most `limit` calls. recon_list_finish() frees them, also after failure. */
bool recon_list_pending(struct gramme_db *db, const struct recon_search *search, size_t limit,
                        struct recon_list *out, struct gramme_error **error);
/* Frees the calls of a list. */
void recon_list_finish(struct recon_list *list);

/* Logs a warning, once, if the index lacks attributes that are read from it. Does nothing if the
 * table cannot be described. */
void recon_check_projection(struct gramme_db *db);
/* Returns whether the index has NotBefore, as far as recon_check_projection() has found out. */
bool recon_index_has_not_before(void);

/* --- leases --- */

struct recon_lease {
    const char *tenant_id;
    const char *call_id;
    const char *owner; /* a new text for each lease */
};

/* Leases a call that is bad and due, until a time, and increments its Attempts.
 * gramme_answer_attributes() is the call. GRAMME_CONDITION_FAILED: another poller has leased it, or
 * it is not bad any more. */
struct gramme_answer *recon_lease_call(struct gramme_db *db, const struct recon_lease *lease,
                                       int64_t now, int64_t until, struct gramme_error **error);
/* The result of a delivery. */
struct recon_outcome {
    int64_t not_before;                    /* when the call may be tried again */
    bool is_delivered;                     /* resets its Attempts */
    const struct gramme_value *deliveries; /* to be stored with the call */
};
/* Ends a lease, and writes the result. GRAMME_CONDITION_FAILED: the lease is over. */
bool recon_return_call(struct gramme_db *db, const struct recon_lease *lease,
                       const struct recon_outcome *outcome, struct gramme_error **error);

/* --- settings of this process: main() fills them before anything starts --- */

struct recon_settings {
    int64_t shards; /* of the index; the same for all writers and pollers */
    int64_t lookback_days;
    const char *webhook;        /* NULL: no polling */
    const char *webhook_secret; /* file with the secret for signing deliveries; NULL: none */
    const char *status_keys;    /* "pending", or "split": FAILED calls have a key of their own */
    const char *order;          /* of delivery: "oldest" or "newest" first */
    const char *tenant;         /* NULL: all */
    int64_t batch;              /* calls that are read from the index at once */
    int64_t concurrency;        /* of deliveries */
    int64_t interval_ms;        /* between passes */
    int64_t timeout_ms;         /* of a delivery */
    int64_t lease_ms;
    int64_t backoff_ms; /* delay after the first failed attempt; doubles with each */
    int64_t backoff_max_ms;
    int64_t repeat_ms; /* delay after a delivery, if the call is still bad */
};
extern struct recon_settings recon_settings;

enum recon_option { RECON_OPTION_UNKNOWN, RECON_OPTION_TAKEN, RECON_OPTION_BAD };
/* Takes an option of the poller, "--webhook"; `value` may be NULL. RECON_OPTION_BAD: stderr says
 * why. */
enum recon_option recon_take_option(const char *name, const char *value);
/* Checks the settings. False: they are not valid, or contradict each other; stderr says why. */
bool recon_check_settings(void);
/* Prints the options, for --help. */
void recon_print_options(void);

/* Writes sample calls of a few tenants, some of them bad. False: the database failed. */
bool recon_load_samples(struct gramme_db *db, struct gramme_error **error);

#endif
