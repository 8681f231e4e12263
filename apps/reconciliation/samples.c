/* Some hundred calls of the last days, a few of them bad. */
#include <stdio.h>

#include "apps/reconciliation/reconciliation.h"

enum { SAMPLES = 300, MINUTES_APART = 31 };

/* The same calls whenever it is run, as long as it is the same hour. */
static struct recon_call sample(int number, int64_t newest, char *tenant_id, char *call_id)
{
    static const char *const tenants[] = {"north", "south", "harbour", "airport"};
    snprintf(tenant_id, 32, "%s", tenants[number * 7 % 4]);
    snprintf(call_id, 32, "call-%04d", number);
    struct recon_call call = {
        .tenant_id = tenant_id,
        .call_id = call_id,
        .when = newest - (int64_t)number * MINUTES_APART * 60 * WHEN_SECOND,
        .audio_received = number % 17 != 3,
        .processing_status = number % 23 == 5   ? "FAILED"
                             : number % 29 == 7 ? "PENDING"
                                                : "SUCCESS",
    };
    return call;
}

bool recon_load_samples(struct gramme_db *db, struct gramme_error **error)
{
    int64_t now = when_now();
    int64_t newest = now - now % (3600 * WHEN_SECOND);
    for (int i = 0; i < SAMPLES; i++) {
        char tenant_id[32];
        char call_id[32];
        struct recon_call call = sample(i, newest, tenant_id, call_id);
        struct gramme_answer *answer = recon_ingest_call(db, &call, NULL, error);
        gramme_answer_destroy(answer);
        if (answer == NULL) {
            return false;
        }
    }
    return true;
}
