/* The data layer of calls: one function per access pattern of its document, on the client library.
 * Worker threads. */
#include "apps/calls/calls.h"

#include <stdio.h>
#include <string.h>

#include "apps/common/write.h"
#include "base/base.h"
#include "base/utf8.h"

#define TABLE "Calls"
/* The time, a # and the call's id. */
#define SK_SIZE (13 + 1 + IDENTITY_ID_LEN_MAX + 1)
/* The user's id, a # and the status. */
#define USER_STATUS_SIZE (IDENTITY_ID_LEN_MAX + 1 + sizeof("SCHEDULED"))

static const char *const status_names[] = {
    [CALL_SCHEDULED] = "SCHEDULED",
    [CALL_COMPLETED] = "COMPLETED",
    [CALL_CANCELED] = "CANCELED",
};

/* --- names, keys, items --- */

const char *calls_status_name(enum call_status status)
{
    return status_names[status];
}

bool calls_status_parse(const char *text, enum call_status *out)
{
    for (size_t i = 0; i < COUNT_OF(status_names); i++) {
        if (strcmp(status_names[i], text) == 0) {
            *out = (enum call_status)i;
            return true;
        }
    }
    return false;
}

static void format_sk(char out[SK_SIZE], const struct call *call)
{
    snprintf(out, SK_SIZE, "%013lld#%s", (long long)call->scheduled_for_ms, call->call_id);
}

static void format_user_status(char out[USER_STATUS_SIZE], const char *user_id,
                               enum call_status status)
{
    snprintf(out, USER_STATUS_SIZE, "%s#%s", user_id, status_names[status]);
}

/* Copies a text. Another program may have written a longer one: cuts it between two characters. */
static void copy_text(char *out, size_t size, const char *text)
{
    struct str fitting = utf8_prefix(str_from_c(text == NULL ? "" : text), size - 1);
    snprintf(out, size, "%.*s", STR_ARG(fitting));
}

static void copy_id(char out[IDENTITY_ID_LEN_MAX + 1], const char *id)
{
    copy_text(out, IDENTITY_ID_LEN_MAX + 1, id);
}

void calls_read(const struct gramme_value *item, struct call *out)
{
    const char *status = gramme_get_string(item, "status");
    *out = (struct call){.scheduled_for_ms = gramme_get_int(item, "scheduledFor", 0),
                         .version = gramme_get_int(item, "version", 0)};
    const char *user_id = gramme_get_string(item, "userId");
    out->is_foreign = user_id != NULL && strlen(user_id) > IDENTITY_ID_LEN_MAX;
    copy_id(out->user_id, user_id);
    copy_id(out->call_id, gramme_get_string(item, "callId"));
    copy_id(out->provider_id, gramme_get_string(item, "providerId"));
    if (status == NULL || !calls_status_parse(status, &out->status)) {
        out->status = CALL_SCHEDULED;
    }
    const char *reason = gramme_get_string(item, "cancelReason");
    if (out->status == CALL_CANCELED) {
        copy_text(out->cancel_reason, sizeof(out->cancel_reason), reason);
        copy_id(out->canceled_by, gramme_get_string(item, "canceledBy"));
    }
}

static void set_key(struct gramme_value *key, const struct call *call)
{
    char sk[SK_SIZE];
    format_sk(sk, call);
    gramme_set_string(key, "userId", call->user_id);
    gramme_set_string(key, "sk", sk);
}

static void set_item(struct gramme_value *item, const struct call *call)
{
    char user_status[USER_STATUS_SIZE];
    format_user_status(user_status, call->user_id, call->status);
    set_key(item, call);
    gramme_set_string(item, "callId", call->call_id);
    gramme_set_string(item, "providerId", call->provider_id);
    gramme_set_string(item, "status", status_names[call->status]);
    gramme_set_int(item, "scheduledFor", call->scheduled_for_ms);
    gramme_set_string(item, "userStatus", user_status);
    gramme_set_int(item, "version", call->version);
    if (call->status == CALL_CANCELED) {
        gramme_set_string(item, "cancelReason", call->cancel_reason);
        gramme_set_string(item, "canceledBy", call->canceled_by);
    }
}

/* --- create --- */

/* Sets the key of the item that reserves the id of a call. */
static void set_created_key(struct gramme_value *key, const char *call_id)
{
    gramme_set_format(key, "userId", "#%s", call_id);
    gramme_set_string(key, "sk", "created");
}

/* Fills the item that reserves the id of a call, with the values that the call was created with.
 * They are in a map, so that no index has the item. */
static void set_created(struct gramme_value *item, const struct call *call)
{
    set_created_key(item, call->call_id);
    struct gramme_value *created = gramme_set_map(item, "created");
    gramme_set_string(created, "userId", call->user_id);
    gramme_set_string(created, "providerId", call->provider_id);
    gramme_set_int(created, "scheduledFor", call->scheduled_for_ms);
}

/* Returns whether a call with the same id was created with the same values. `kept`: the item that
 * reserves the id. */
static bool is_repeated(const struct gramme_value *kept, const struct call *call)
{
    struct gramme_value *wanted = gramme_map_create();
    set_created(wanted, call);
    bool same = gramme_value_equal(gramme_get(kept, "created"), gramme_get(wanted, "created"));
    gramme_value_destroy(wanted);
    return same;
}

/* Reads a call that was created before, by the key that it had then, or by its id if it has been
 * moved. */
static enum calls_result find_created(struct gramme_db *db, const struct call *call,
                                      struct call *out, struct gramme_error **error)
{
    enum calls_result result = calls_get(db, call, out, error);
    return result == CALLS_NOT_FOUND ? calls_lookup(db, call->call_id, out, error) : result;
}

/* Checks whether an item reserves the id. CALLS_OK: yes, CALLS_NOT_FOUND: no. */
static enum calls_result find_kept(struct gramme_db *db, const char *call_id,
                                   struct gramme_error **error)
{
    struct gramme_request *get = gramme_request_create("GetItem", TABLE);
    set_created_key(gramme_request_key(get), call_id);
    gramme_request_consistent(get);
    struct gramme_answer *answer = gramme_send(db, get, error);
    gramme_request_destroy(get);
    if (answer == NULL) {
        return CALLS_FAILED;
    }
    bool is_kept = gramme_answer_item(answer) != NULL;
    gramme_answer_destroy(answer);
    return is_kept ? CALLS_OK : CALLS_NOT_FOUND;
}

/* Looks for a call that another program created with this id. No item reserves its id, not even
 * after changes by this program, but the index has it. CALLS_NOT_FOUND: there is no such call, or
 * this program created it. */
static enum calls_result find_foreign(struct gramme_db *db, const struct call *call,
                                      struct call *out, struct gramme_error **error)
{
    struct call found;
    enum calls_result result = calls_lookup(db, call->call_id, &found, error);
    if (result != CALLS_OK) {
        return result;
    }
    enum calls_result kept =
        found.version > 0 ? find_kept(db, call->call_id, error) : CALLS_NOT_FOUND;
    if (kept != CALLS_NOT_FOUND) {
        return kept == CALLS_OK ? CALLS_NOT_FOUND : kept;
    }
    *out = found;
    bool is_same = strcmp(found.user_id, call->user_id) == 0 &&
                   strcmp(found.provider_id, call->provider_id) == 0 &&
                   found.scheduled_for_ms == call->scheduled_for_ms;
    return is_same ? CALLS_THE_SAME : CALLS_ID_TAKEN;
}

enum calls_result calls_create(struct gramme_db *db, const struct call *call, struct call *out,
                               struct gramme_error **error)
{
    enum calls_result foreign = find_foreign(db, call, out, error);
    if (foreign != CALLS_NOT_FOUND) {
        return foreign;
    }
    struct call created = *call;
    created.status = CALL_SCHEDULED;
    created.version = 1;
    struct gramme_request *write = gramme_request_create("TransactWriteItems", NULL);
    struct gramme_request *id = gramme_transact_put(write, TABLE);
    set_created(gramme_request_item(id), &created);
    gramme_request_condition(id, "attribute_not_exists(userId)");
    gramme_request_return_on_failure(id);
    struct gramme_request *put = gramme_transact_put(write, TABLE);
    set_item(gramme_request_item(put), &created);
    gramme_request_condition(put, "attribute_not_exists(userId) AND attribute_not_exists(sk)");
    bool written = write_run(db, write, error);
    gramme_request_destroy(write);
    if (written) {
        *out = created;
        return CALLS_OK;
    }
    if (gramme_error_reason_is(*error, 0, GRAMME_REASON_CONDITION_FAILED)) {
        if (!is_repeated(gramme_error_reason_item(*error, 0), call)) {
            return CALLS_ID_TAKEN;
        }
        enum calls_result found = find_created(db, call, out, error);
        return found == CALLS_OK ? CALLS_THE_SAME : found;
    }
    /* The id is free, but the key has an item: another program created a call there. */
    return gramme_error_reason_is(*error, 1, GRAMME_REASON_CONDITION_FAILED) ? CALLS_ID_TAKEN
                                                                             : CALLS_FAILED;
}

/* --- changes --- */

/* Adds the condition that the call exists with the version that was read, or without version. */
static void require_seen(struct gramme_request *change, const struct call *seen)
{
    if (seen->version == 0) {
        gramme_request_condition(change,
                                 "attribute_exists(userId) AND attribute_not_exists(version)");
        return;
    }
    gramme_request_condition(change, "version = :seen");
    gramme_set_int(gramme_request_values(change), ":seen", seen->version);
}

/* Sends an update of a call that keeps its key, and destroys it; `changed` is the call after it. If
 * the answer is lost, the library repeats the update. The repetition fails its condition, but finds
 * the id of this change in the item. (For transactions, the token does this.) */
static enum calls_result send_update(struct gramme_db *db, struct gramme_request *update,
                                     const struct call *seen, struct call *changed,
                                     struct call *out, struct gramme_error **error)
{
    char change_id[GRAMME_UUID_SIZE];
    gramme_uuid(change_id);
    changed->version = seen->version + 1;
    set_key(gramme_request_key(update), seen);
    require_seen(update, seen);
    gramme_set_int(gramme_request_values(update), ":version", changed->version);
    gramme_set_string(gramme_request_values(update), ":change", change_id);
    gramme_request_return_on_failure(update);
    bool written = write_run(db, update, error);
    gramme_request_destroy(update);
    if (!written && !gramme_error_is(*error, GRAMME_CONDITION_FAILED)) {
        return CALLS_FAILED;
    }
    if (!written) {
        const char *last = gramme_get_string(gramme_error_item(*error), "changeId");
        if (last == NULL || strcmp(last, change_id) != 0) {
            return CALLS_STALE;
        }
    }
    *out = *changed;
    return CALLS_OK;
}

enum calls_result calls_change_status(struct gramme_db *db, const struct call *seen,
                                      const struct call *wanted, struct call *out,
                                      struct gramme_error **error)
{
    bool is_canceled = wanted->status == CALL_CANCELED;
    struct call changed = *seen;
    changed.status = wanted->status;
    snprintf(changed.cancel_reason, sizeof(changed.cancel_reason), "%s",
             is_canceled ? wanted->cancel_reason : "");
    copy_id(changed.canceled_by, is_canceled ? wanted->canceled_by : "");
    char user_status[USER_STATUS_SIZE];
    format_user_status(user_status, seen->user_id, changed.status);
    struct gramme_request *update = gramme_request_create("UpdateItem", TABLE);
    gramme_request_update(update, is_canceled
                                      ? "SET #status = :status, userStatus = :user_status, version "
                                        "= :version, changeId = :change, cancelReason = :reason, "
                                        "canceledBy = :by"
                                      : "SET #status = :status, userStatus = :user_status, version "
                                        "= :version, changeId = :change "
                                        "REMOVE cancelReason, canceledBy");
    gramme_request_name(update, "#status", "status");
    struct gramme_value *values = gramme_request_values(update);
    gramme_set_string(values, ":status", status_names[changed.status]);
    gramme_set_string(values, ":user_status", user_status);
    if (is_canceled) {
        gramme_set_string(values, ":reason", changed.cancel_reason);
        gramme_set_string(values, ":by", changed.canceled_by);
    }
    return send_update(db, update, seen, &changed, out, error);
}

enum calls_result calls_change_provider(struct gramme_db *db, const struct call *seen,
                                        const char *provider_id, struct call *out,
                                        struct gramme_error **error)
{
    struct call changed = *seen;
    copy_id(changed.provider_id, provider_id);
    struct gramme_request *update = gramme_request_create("UpdateItem", TABLE);
    gramme_request_update(update, "SET providerId = :provider, version = :version, "
                                  "changeId = :change");
    gramme_set_string(gramme_request_values(update), ":provider", provider_id);
    return send_update(db, update, seen, &changed, out, error);
}

/* Reads the item of a call; the caller destroys the answer. */
static struct gramme_answer *get_item(struct gramme_db *db, const struct call *key,
                                      struct gramme_error **error)
{
    struct gramme_request *get = gramme_request_create("GetItem", TABLE);
    set_key(gramme_request_key(get), key);
    gramme_request_consistent(get);
    struct gramme_answer *answer = gramme_send(db, get, error);
    gramme_request_destroy(get);
    return answer;
}

/* Puts the item of a call under its new key and deletes the old item, in one transaction. */
static bool move_item(struct gramme_db *db, const struct gramme_value *item,
                      const struct call *seen, const struct call *moved,
                      struct gramme_error **error)
{
    const char *status = gramme_get_string(item, "status");
    struct gramme_request *write = gramme_request_create("TransactWriteItems", NULL);
    struct gramme_request *put = gramme_transact_put(write, TABLE);
    gramme_request_set_item(put, item);
    struct gramme_value *copy = gramme_request_item(put);
    set_key(copy, moved);
    gramme_set_int(copy, "scheduledFor", moved->scheduled_for_ms);
    gramme_set_format(copy, "userStatus", "%s#%s", moved->user_id,
                      status == NULL ? status_names[moved->status] : status);
    gramme_set_int(copy, "version", moved->version);
    gramme_request_condition(put, "attribute_not_exists(userId) AND attribute_not_exists(sk)");
    struct gramme_request *gone = gramme_transact_delete(write, TABLE);
    set_key(gramme_request_key(gone), seen);
    require_seen(gone, seen);
    bool written = write_run(db, write, error);
    gramme_request_destroy(write);
    return written;
}

static enum calls_result move(struct gramme_db *db, const struct call *seen, struct call *moved,
                              struct call *out, struct gramme_error **error)
{
    struct gramme_answer *found = get_item(db, seen, error);
    const struct gramme_value *item = gramme_answer_item(found);
    if (item == NULL) {
        gramme_answer_destroy(found);
        return found == NULL ? CALLS_FAILED : CALLS_STALE;
    }
    moved->version = seen->version + 1;
    bool written = move_item(db, item, seen, moved, error);
    gramme_answer_destroy(found);
    if (written) {
        *out = *moved;
        return CALLS_OK;
    }
    bool stale = gramme_error_reason_is(*error, 0, GRAMME_REASON_CONDITION_FAILED) ||
                 gramme_error_reason_is(*error, 1, GRAMME_REASON_CONDITION_FAILED);
    return stale ? CALLS_STALE : CALLS_FAILED;
}

enum calls_result calls_reschedule(struct gramme_db *db, const struct call *seen,
                                   int64_t scheduled_for_ms, struct call *out,
                                   struct gramme_error **error)
{
    struct call moved = *seen;
    moved.scheduled_for_ms = scheduled_for_ms;
    return move(db, seen, &moved, out, error);
}

enum calls_result calls_reassign(struct gramme_db *db, const struct call *seen, const char *user_id,
                                 struct call *out, struct gramme_error **error)
{
    struct call moved = *seen;
    copy_id(moved.user_id, user_id);
    return move(db, seen, &moved, out, error);
}

/* --- reads --- */

enum calls_result calls_get(struct gramme_db *db, const struct call *key, struct call *out,
                            struct gramme_error **error)
{
    struct gramme_answer *answer = get_item(db, key, error);
    if (answer == NULL) {
        return CALLS_FAILED;
    }
    const struct gramme_value *item = gramme_answer_item(answer);
    if (item != NULL) {
        calls_read(item, out);
    }
    gramme_answer_destroy(answer);
    return item != NULL ? CALLS_OK : CALLS_NOT_FOUND;
}

/* While a call is moved, the index may have it twice for a moment: the higher version is the
 * current one. */
enum calls_result calls_lookup(struct gramme_db *db, const char *call_id, struct call *out,
                               struct gramme_error **error)
{
    struct gramme_request *query = gramme_request_create("Query", TABLE);
    gramme_request_index(query, "byCallId");
    gramme_request_key_condition(query, "callId = :call");
    gramme_set_string(gramme_request_values(query), ":call", call_id);
    struct gramme_answer *answer = gramme_send(db, query, error);
    gramme_request_destroy(query);
    if (answer == NULL) {
        return CALLS_FAILED;
    }
    const struct gramme_value *items = gramme_answer_items(answer);
    const struct gramme_value *newest = NULL;
    for (size_t i = 0; i < gramme_value_count(items); i++) {
        const struct gramme_value *item = gramme_value_at(items, i);
        if (newest == NULL ||
            gramme_get_int(item, "version", 0) > gramme_get_int(newest, "version", 0)) {
            newest = item;
        }
    }
    if (newest != NULL) {
        calls_read(newest, out);
    }
    gramme_answer_destroy(answer);
    return newest != NULL ? CALLS_OK : CALLS_NOT_FOUND;
}

/* Makes a query of byUserStatus for the user's calls with a status. */
static struct gramme_request *query_status(const char *user_id, enum call_status status)
{
    char user_status[USER_STATUS_SIZE];
    format_user_status(user_status, user_id, status);
    struct gramme_request *query = gramme_request_create("Query", TABLE);
    gramme_request_index(query, "byUserStatus");
    gramme_request_key_condition(query, "userStatus = :user_status");
    gramme_set_string(gramme_request_values(query), ":user_status", user_status);
    return query;
}

/* Sends a query for one call and destroys it. */
static enum calls_result read_one(struct gramme_db *db, struct gramme_request *query,
                                  struct call *out, struct gramme_error **error)
{
    gramme_request_limit(query, 1);
    struct gramme_answer *answer = gramme_send(db, query, error);
    gramme_request_destroy(query);
    if (answer == NULL) {
        return CALLS_FAILED;
    }
    const struct gramme_value *item = gramme_value_at(gramme_answer_items(answer), 0);
    if (item != NULL) {
        calls_read(item, out);
    }
    gramme_answer_destroy(answer);
    return item != NULL ? CALLS_OK : CALLS_NOT_FOUND;
}

enum calls_result calls_next_scheduled(struct gramme_db *db, const char *user_id, int64_t now_ms,
                                       struct call *out, struct gramme_error **error)
{
    struct gramme_request *query = query_status(user_id, CALL_SCHEDULED);
    gramme_request_key_condition(query, "userStatus = :user_status AND sk >= :now");
    gramme_set_format(gramme_request_values(query), ":now", "%013lld", (long long)now_ms);
    return read_one(db, query, out, error);
}

enum calls_result calls_last_completed(struct gramme_db *db, const char *user_id, struct call *out,
                                       struct gramme_error **error)
{
    struct gramme_request *query = query_status(user_id, CALL_COMPLETED);
    gramme_request_descending(query);
    return read_one(db, query, out, error);
}

/* Sends a query for a page and destroys it. */
static struct gramme_answer *read_page(struct gramme_db *db, struct gramme_request *query,
                                       const struct page *page, struct gramme_error **error)
{
    bool fits = page_apply(page, query);
    assert(fits); /* checked by request_page() */
    struct gramme_answer *answer = gramme_send(db, query, error);
    gramme_request_destroy(query);
    return answer;
}

struct gramme_answer *calls_of_user(struct gramme_db *db, const char *user_id,
                                    const struct page *page, struct gramme_error **error)
{
    struct gramme_request *query = gramme_request_create("Query", TABLE);
    gramme_request_key_condition(query, "userId = :user");
    gramme_set_string(gramme_request_values(query), ":user", user_id);
    gramme_request_consistent(query);
    return read_page(db, query, page, error);
}

struct gramme_answer *calls_upcoming(struct gramme_db *db, const char *user_id,
                                     const struct page *page, struct gramme_error **error)
{
    return read_page(db, query_status(user_id, CALL_SCHEDULED), page, error);
}

struct gramme_answer *calls_upcoming_after(struct gramme_db *db, const char *user_id,
                                           int64_t after_ms, const struct page *page,
                                           struct gramme_error **error)
{
    struct gramme_request *query = query_status(user_id, CALL_SCHEDULED);
    gramme_request_key_condition(query, "userStatus = :user_status AND sk >= :now");
    gramme_set_format(gramme_request_values(query), ":now", "%013lld", (long long)after_ms);
    return read_page(db, query, page, error);
}

struct gramme_answer *calls_canceled(struct gramme_db *db, const char *user_id,
                                     const struct page *page, struct gramme_error **error)
{
    struct gramme_request *query = query_status(user_id, CALL_CANCELED);
    gramme_request_descending(query);
    return read_page(db, query, page, error);
}

struct gramme_answer *calls_completed(struct gramme_db *db, const char *user_id,
                                      const struct page *page, struct gramme_error **error)
{
    struct gramme_request *query = query_status(user_id, CALL_COMPLETED);
    gramme_request_descending(query);
    return read_page(db, query, page, error);
}

struct gramme_answer *calls_of_provider(struct gramme_db *db, const char *provider_id,
                                        const enum call_status *status, const struct page *page,
                                        struct gramme_error **error)
{
    struct gramme_request *query = gramme_request_create("Query", TABLE);
    gramme_request_index(query, "byProvider");
    gramme_request_key_condition(query, "providerId = :provider");
    gramme_set_string(gramme_request_values(query), ":provider", provider_id);
    if (status != NULL) {
        gramme_request_filter(query, "#status = :status");
        gramme_request_name(query, "#status", "status");
        gramme_set_string(gramme_request_values(query), ":status", status_names[*status]);
    }
    gramme_request_descending(query);
    return read_page(db, query, page, error);
}
