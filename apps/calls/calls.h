/* apps/calls/calls.h: the calls of users with providers, as the document "DynamoDB Call Storage"
 * has them. Table Calls: userId, sk = "%013d#%s" of the time and the call's id, so that a user's
 * calls are in the order of time. Indexes byCallId, byProvider, byUserStatus.
 *
 * Every change needs the version that the caller has read, and increments it. If the call has
 * changed meanwhile, the result is CALLS_STALE and nothing is written. An item that another program
 * wrote has no version: it counts as 0, and the first change adds one.
 *
 * Each call has a second item {userId: "#CALLID", sk: "created"}, which is written with it and
 * kept: the call's own key changes with its time and user, so the condition on that key alone would
 * let the same id be created again elsewhere. */
#ifndef GRAMME_APPS_CALLS_H
#define GRAMME_APPS_CALLS_H

#include "apps/common/app.h"
#include "apps/common/page.h"

extern const struct app_definition calls_app;

/* 13 digits, so that the order of texts is the order of time: up to the year 2286. */
#define CALLS_TIME_MS_MAX INT64_C(9999999999999)

/* The document has the first two. A canceled call has a reason. */
enum call_status { CALL_SCHEDULED, CALL_COMPLETED, CALL_CANCELED };

#define CALLS_REASON_LEN_MAX 500 /* characters */

/* The ids are as in identity.h. */
struct call {
    char user_id[IDENTITY_ID_LEN_MAX + 1];
    char call_id[IDENTITY_ID_LEN_MAX + 1];
    char provider_id[IDENTITY_ID_LEN_MAX + 1];
    int64_t scheduled_for_ms;
    enum call_status status;
    int64_t version;
    char cancel_reason[CALLS_REASON_LEN_MAX * 4 + 1]; /* CALL_CANCELED */
    char canceled_by[IDENTITY_ID_LEN_MAX + 1];
    /* Another program wrote a user's id that is too long for `user_id`: without the key, the call
     * cannot be changed. */
    bool is_foreign;
};

enum calls_result {
    CALLS_OK,
    /* create: a call with the same data was created before; *out is that call as it is now */
    CALLS_THE_SAME,
    CALLS_ID_TAKEN,  /* create: another call has this id */
    CALLS_NOT_FOUND, /* *out is unchanged here and below */
    CALLS_STALE,     /* the call has changed since it was read */
    CALLS_FAILED,    /* the database failed: *error */
};

/* --- names --- */

/* "SCHEDULED", "COMPLETED" or "CANCELED". */
const char *calls_status_name(enum call_status status);
/* Parses the name of a status. False, with *out unchanged: there is no such status. */
bool calls_status_parse(const char *text, enum call_status *out);
/* Converts an item to a call. */
void calls_read(const struct gramme_value *item, struct call *out);

/* --- writes: *out is the call as written --- */

/* Creates a call with the status SCHEDULED and version 1, whatever `call` has. */
enum calls_result calls_create(struct gramme_db *db, const struct call *call, struct call *out,
                               struct gramme_error **error);
/* Changes the status of a call. `seen`: the call as the caller has read it, also below. `wanted`:
 * the new status, and for CALL_CANCELED the reason and its author. */
enum calls_result calls_change_status(struct gramme_db *db, const struct call *seen,
                                      const struct call *wanted, struct call *out,
                                      struct gramme_error **error);
/* Moves a call to another time, in one transaction, so that it always exists exactly once. What
 * other programs have added to its item moves with it. */
enum calls_result calls_reschedule(struct gramme_db *db, const struct call *seen,
                                   int64_t scheduled_for_ms, struct call *out,
                                   struct gramme_error **error);
/* Moves a call to another user, in the same way. */
enum calls_result calls_reassign(struct gramme_db *db, const struct call *seen, const char *user_id,
                                 struct call *out, struct gramme_error **error);
/* Changes the provider of a call. */
enum calls_result calls_change_provider(struct gramme_db *db, const struct call *seen,
                                        const char *provider_id, struct call *out,
                                        struct gramme_error **error);

/* --- reads --- */

/* Reads a call by its key: user, time and id of `key`. */
enum calls_result calls_get(struct gramme_db *db, const struct call *key, struct call *out,
                            struct gramme_error **error);
/* Reads a call by its id. The index may lag behind the table. */
enum calls_result calls_lookup(struct gramme_db *db, const char *call_id, struct call *out,
                               struct gramme_error **error);
/* Reads the first SCHEDULED call at or after a time. */
enum calls_result calls_next_scheduled(struct gramme_db *db, const char *user_id, int64_t now_ms,
                                       struct call *out, struct gramme_error **error);
/* Reads the latest COMPLETED call. */
enum calls_result calls_last_completed(struct gramme_db *db, const char *user_id, struct call *out,
                                       struct gramme_error **error);

/* The functions below return a page of a list; the caller destroys the answer. NULL: the database
 * failed. request_page() has checked the page's cursor. */
/* All calls of a user, by time. */
struct gramme_answer *calls_of_user(struct gramme_db *db, const char *user_id,
                                    const struct page *page, struct gramme_error **error);
/* SCHEDULED calls of a user, the earliest first. */
struct gramme_answer *calls_upcoming(struct gramme_db *db, const char *user_id,
                                     const struct page *page, struct gramme_error **error);
/* SCHEDULED calls of a user from a time on, the earliest first. */
struct gramme_answer *calls_upcoming_after(struct gramme_db *db, const char *user_id,
                                           int64_t after_ms, const struct page *page,
                                           struct gramme_error **error);
/* CANCELED calls of a user, the latest first. */
struct gramme_answer *calls_canceled(struct gramme_db *db, const char *user_id,
                                     const struct page *page, struct gramme_error **error);
/* COMPLETED calls of a user, the latest first. */
struct gramme_answer *calls_completed(struct gramme_db *db, const char *user_id,
                                      const struct page *page, struct gramme_error **error);
/* Calls of a provider, the newest first; `status`: only those with this status, NULL: all. */
struct gramme_answer *calls_of_provider(struct gramme_db *db, const char *provider_id,
                                        const enum call_status *status, const struct page *page,
                                        struct gramme_error **error);

/* samples.c: a few calls around now. False: the database failed. */
bool calls_load_samples(struct gramme_db *db, struct gramme_error **error);

#endif
