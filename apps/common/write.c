/* Repeats writes that were refused because of a concurrent transaction on the same items. Called by
 * the data layers on worker threads. */
#include "apps/common/write.h"

#include <time.h>

#include "base/random.h"

enum { ATTEMPTS_MAX = 8, DELAY_MS_FIRST = 5, DELAY_MS_MAX = 200 };

static bool met_another(const struct gramme_error *error)
{
    return gramme_error_is(error, GRAMME_TRANSACTION_CONFLICT) ||
           (gramme_error_is(error, GRAMME_TRANSACTION_CANCELED) && gramme_error_retryable(error));
}

/* Waits for a random part of a time that doubles with each attempt. */
static void wait(int attempt)
{
    int64_t delay_ms_max = (int64_t)DELAY_MS_FIRST << attempt;
    if (delay_ms_max > DELAY_MS_MAX) {
        delay_ms_max = DELAY_MS_MAX;
    }
    uint64_t number;
    random_system(&number, sizeof(number));
    int64_t delay_us = (int64_t)(number % (uint64_t)(delay_ms_max * 1000));
    nanosleep(&(struct timespec){.tv_nsec = delay_us * 1000}, NULL);
}

struct gramme_answer *write_send(struct gramme_db *db, const struct gramme_request *request,
                                 struct gramme_error **error)
{
    for (int attempt = 0;; attempt++) {
        struct gramme_answer *answer = gramme_send(db, request, error);
        if (answer != NULL || attempt + 1 == ATTEMPTS_MAX || !met_another(*error)) {
            return answer;
        }
        wait(attempt);
    }
}

bool write_run(struct gramme_db *db, const struct gramme_request *request,
               struct gramme_error **error)
{
    struct gramme_answer *answer = write_send(db, request, error);
    gramme_answer_destroy(answer);
    return answer != NULL;
}

bool write_unless_there(struct gramme_db *db, struct gramme_request *put, const char *key,
                        struct gramme_error **error)
{
    gramme_request_name(put, "#key", key);
    gramme_request_condition(put, "attribute_not_exists(#key)");
    bool ok = write_run(db, put, error);
    gramme_request_destroy(put);
    if (!ok && gramme_error_is(*error, GRAMME_CONDITION_FAILED)) {
        gramme_error_destroy(*error);
        *error = NULL;
        return true;
    }
    return ok;
}
