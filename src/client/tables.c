/* Creates tables and waits for them. Called by users of the library; blocks. */
#include "base/clock.h"
#include "client/client_internal.h"

enum { POLL_MS_FIRST = 5, POLL_MS_MAX = 2000 };

static bool is_active(const struct gramme_value *description, const char *member)
{
    const char *status = gramme_get_string(description, member);
    return status != NULL && strcmp(status, "ACTIVE") == 0;
}

static bool is_ready(const struct gramme_value *table)
{
    const struct gramme_value *indexes = gramme_get(table, "GlobalSecondaryIndexes");
    bool ready = is_active(table, "TableStatus");
    for (size_t i = 0; ready && i < gramme_value_count(indexes); i++) {
        ready = is_active(gramme_value_at(indexes, i), "IndexStatus");
    }
    return ready;
}

/* Describes the table once. A new table may not be found yet: that is not a failure. */
static bool look(struct gramme_db *db, const struct gramme_request *describe, bool *ready,
                 struct gramme_error **error)
{
    struct gramme_error *failure = NULL;
    struct gramme_answer *answer = gramme_send(db, describe, &failure);
    *ready = is_ready(gramme_get(gramme_answer_root(answer), "Table"));
    bool fine = answer != NULL || gramme_error_is(failure, GRAMME_NOT_FOUND);
    gramme_answer_destroy(answer);
    if (fine || error == NULL) {
        gramme_error_destroy(failure);
    } else {
        *error = failure;
    }
    return fine;
}

bool gramme_wait_table(struct gramme_db *db, const char *table, int timeout_ms,
                       struct gramme_error **error)
{
    error_clear(error);
    int64_t end_us = clock_monotonic_us() + (int64_t)timeout_ms * 1000;
    struct gramme_request *describe = gramme_request_create("DescribeTable", table);
    int64_t pause_ms = POLL_MS_FIRST;
    bool ready = false;
    while (look(db, describe, &ready, error) && !ready) {
        if (clock_monotonic_us() + pause_ms * 1000 > end_us) {
            error_set(error, GRAMME_TIMED_OUT, "the table '%s' is not ACTIVE after %d ms", table,
                      timeout_ms);
            break;
        }
        retry_wait_ms(pause_ms);
        pause_ms = MIN(pause_ms * 2, (int64_t)POLL_MS_MAX);
    }
    gramme_request_destroy(describe);
    return ready;
}

bool gramme_create_table(struct gramme_db *db, const char *json, size_t len, int timeout_ms,
                         struct gramme_error **error)
{
    struct gramme_value *description = gramme_value_from_json(json, len, GRAMME_PLAIN, error);
    if (description == NULL) {
        return false;
    }
    bool done = false;
    const char *table = gramme_get_string(description, "TableName");
    struct gramme_error *failure = NULL;
    struct gramme_answer *answer = gramme_call(db, "CreateTable", json, len, &failure);
    if (answer == NULL && !(table != NULL && gramme_error_is(failure, GRAMME_IN_USE))) {
        if (error != NULL) {
            *error = failure;
            failure = NULL;
        }
    } else {
        done = gramme_wait_table(db, table, timeout_ms, error);
    }
    gramme_error_destroy(failure);
    gramme_answer_destroy(answer);
    gramme_value_destroy(description);
    return done;
}
