/* Checks which of the attributes that this program reads the index has. The index of the document
 * has fewer: all works with it, at a higher cost, but filters must not use missing attributes.
 * Called on worker threads and by the poller. */
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "apps/reconciliation/reconciliation.h"
#include "base/base.h"
#include "base/log.h"

static const struct gramme_value *find_projection(const struct gramme_value *table)
{
    const struct gramme_value *indexes = gramme_get(table, "GlobalSecondaryIndexes");
    for (size_t i = 0; i < gramme_value_count(indexes); i++) {
        const struct gramme_value *index = gramme_value_at(indexes, i);
        const char *name = gramme_get_string(index, "IndexName");
        if (name != NULL && strcmp(name, "ReconciliationIndex") == 0) {
            return gramme_get(index, "Projection");
        }
    }
    return NULL;
}

static bool has_text(const struct gramme_value *list, const char *text)
{
    for (size_t i = 0; i < gramme_value_count(list); i++) {
        const char *each = gramme_value_string(gramme_value_at(list, i));
        if (each != NULL && strcmp(each, text) == 0) {
            return true;
        }
    }
    return false;
}

/* The index lacks NotBefore, as far as it has been checked. */
static atomic_bool lacks_not_before;

bool recon_index_has_not_before(void)
{
    return !atomic_load(&lacks_not_before);
}

static void note_missing(const struct gramme_value *table)
{
    static const struct {
        const char *name;
        const char *effect;
        atomic_bool *flag;
    } wanted[] = {
        {"ProcessingStatus", "failed calls are not told from pending ones until they change", NULL},
        {"NotBefore", "the poller tries to lease calls that are not due", &lacks_not_before},
    };
    const struct gramme_value *projection = find_projection(table);
    const char *type = gramme_get_string(projection, "ProjectionType");
    if (type == NULL || strcmp(type, "ALL") == 0) {
        return;
    }
    for (size_t i = 0; i < COUNT_OF(wanted); i++) {
        if (!has_text(gramme_get(projection, "NonKeyAttributes"), wanted[i].name)) {
            log_write(LOG_WARN, "reconciliation", "ReconciliationIndex has no %s: %s",
                      wanted[i].name, wanted[i].effect);
            if (wanted[i].flag != NULL) {
                atomic_store(wanted[i].flag, true);
            }
        }
    }
}

void recon_check_projection(struct gramme_db *db)
{
    static atomic_bool is_done;
    if (atomic_load(&is_done)) {
        return;
    }
    struct gramme_request *describe = gramme_request_create("DescribeTable", RECONCILIATION_TABLE);
    struct gramme_error *error = NULL;
    struct gramme_answer *answer = gramme_send(db, describe, &error);
    gramme_request_destroy(describe);
    bool may_pass = gramme_error_retryable(error) || gramme_error_status(error) == 0;
    if ((answer != NULL || !may_pass) && !atomic_exchange(&is_done, true)) {
        note_missing(gramme_get(gramme_answer_root(answer), "Table"));
    }
    gramme_answer_destroy(answer);
    gramme_error_destroy(error);
}
