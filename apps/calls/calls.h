/* apps/calls/calls.h: the calls of users with providers, as the document "DynamoDB Call Storage"
 * has them. Table Calls: userId, sk = "%013d#%s" of the time and the call's id, so that a user's
 * calls are in the order of time. Indexes byCallId, byProvider, byUserStatus.
 *
 * Every change needs the version that the caller saw; it makes it one more. A call that changed
 * meanwhile is CALLS_STALE, and nothing is written. A row that another program wrote has no
 * version: that counts as 0, and the first change gives it one.
 *
 * Beside each call stands an item {userId: "#CALLID", sk: "created"} that is written with it and
 * stays: the call's own key changes with its time and user, so the condition on that key alone
 * would let the same id be created again elsewhere. */
#ifndef GRAMME_APPS_CALLS_H
#define GRAMME_APPS_CALLS_H

#include "apps/common/app.h"
#include "apps/common/page.h"

extern const struct app_definition calls_app;

#define CALLS_ID_LEN_MAX 128
/* 13 digits, so that text sorts as time does: up to the year 2286. */
#define CALLS_TIME_MS_MAX INT64_C(9999999999999)

/* The document has the first two; a call that will not take place is CANCELED, with a reason. */
enum call_status { CALL_SCHEDULED, CALL_COMPLETED, CALL_CANCELED };

#define CALLS_REASON_LEN_MAX 500 /* characters */

/* An id is 1 to CALLS_ID_LEN_MAX letters, digits and . _ @ + : - */
struct call {
    char user_id[CALLS_ID_LEN_MAX + 1];
    char call_id[CALLS_ID_LEN_MAX + 1];
    char provider_id[CALLS_ID_LEN_MAX + 1];
    int64_t scheduled_for_ms;
    enum call_status status;
    int64_t version;
    char cancel_reason[CALLS_REASON_LEN_MAX * 4 + 1]; /* CALL_CANCELED */
    char canceled_by[CALLS_ID_LEN_MAX + 1];
};

enum calls_result {
    CALLS_OK,
    CALLS_THE_SAME,  /* create: it had been created just so before; *out is the call as it is now */
    CALLS_ID_TAKEN,  /* create: another call has this id */
    CALLS_NOT_FOUND, /* *out is untouched here and below */
    CALLS_STALE,     /* the call is not any more as it was seen */
    CALLS_FAILED,    /* the database failed: *error */
};

/* --- names --- */

/* Whether a text is an id, see struct call. */
bool calls_id_is_valid(const char *text);
/* "SCHEDULED", "COMPLETED" or "CANCELED". */
const char *calls_status_name(enum call_status status);
/* Reads the name of a status. False: it is none, and *out is untouched. */
bool calls_status_parse(const char *text, enum call_status *out);
/* The call that an item is. */
void calls_read(const struct gramme_value *item, struct call *out);

/* --- writes: *out is the call as written --- */

/* Status and version of `call` are not looked at: it becomes SCHEDULED, version 1. */
enum calls_result calls_create(struct gramme_db *db, const struct call *call, struct call *out,
                               struct gramme_error **error);
/* `seen`: the call as the caller saw it, also below. `wanted`: the new status, and for
 * CALL_CANCELED the reason and who gives it. */
enum calls_result calls_change_status(struct gramme_db *db, const struct call *seen,
                                      const struct call *wanted, struct call *out,
                                      struct gramme_error **error);
/* Moves it to another time, in one transaction: it is never there twice, nor gone. */
enum calls_result calls_reschedule(struct gramme_db *db, const struct call *seen,
                                   int64_t scheduled_for_ms, struct call *out,
                                   struct gramme_error **error);
/* Moves it to another user, likewise. */
enum calls_result calls_reassign(struct gramme_db *db, const struct call *seen, const char *user_id,
                                 struct call *out, struct gramme_error **error);
/* Gives it another provider. */
enum calls_result calls_change_provider(struct gramme_db *db, const struct call *seen,
                                        const char *provider_id, struct call *out,
                                        struct gramme_error **error);

/* --- reads --- */

/* By its key, which is user, time and id of `key`. */
enum calls_result calls_get(struct gramme_db *db, const struct call *key, struct call *out,
                            struct gramme_error **error);
/* By its id. The index may be a moment behind the table. */
enum calls_result calls_lookup(struct gramme_db *db, const char *call_id, struct call *out,
                               struct gramme_error **error);
/* The first SCHEDULED one at or after a time. */
enum calls_result calls_next_scheduled(struct gramme_db *db, const char *user_id, int64_t now_ms,
                                       struct call *out, struct gramme_error **error);
/* The latest COMPLETED one. */
enum calls_result calls_last_completed(struct gramme_db *db, const char *user_id, struct call *out,
                                       struct gramme_error **error);

/* Pages of a list; the caller ends the answer. NULL: the database failed. The page's cursor is one
 * that request_page() took. */
/* All of a user, by time. */
struct gramme_answer *calls_of_user(struct gramme_db *db, const char *user_id,
                                    const struct page *page, struct gramme_error **error);
/* SCHEDULED ones, the earliest first. */
struct gramme_answer *calls_upcoming(struct gramme_db *db, const char *user_id,
                                     const struct page *page, struct gramme_error **error);
/* SCHEDULED ones from a time on, the earliest first. */
struct gramme_answer *calls_upcoming_after(struct gramme_db *db, const char *user_id,
                                           int64_t after_ms, const struct page *page,
                                           struct gramme_error **error);
/* CANCELED ones, the latest first. */
struct gramme_answer *calls_canceled(struct gramme_db *db, const char *user_id,
                                     const struct page *page, struct gramme_error **error);
/* COMPLETED ones, the latest first. */
struct gramme_answer *calls_completed(struct gramme_db *db, const char *user_id,
                                      const struct page *page, struct gramme_error **error);
/* The newest first; `status`: only those of it, NULL: all. */
struct gramme_answer *calls_of_provider(struct gramme_db *db, const char *provider_id,
                                        const enum call_status *status, const struct page *page,
                                        struct gramme_error **error);

/* samples.c: a few calls around now. False: the database failed. */
bool calls_load_samples(struct gramme_db *db, struct gramme_error **error);

#endif
