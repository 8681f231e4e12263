/* Some hundred sample calls of the last days, a few of them bad. Called at start with --samples. */
#include <stdio.h>

#include "apps/reconciliation/reconciliation.h"

enum { SAMPLES = 300, ID_SIZE = 32 };
static const int64_t APART = WHEN_SECOND * 60 * 31;

/* Makes a call. There is one every 31 minutes; ids and state are computed from its number, `turn`.
 */
static struct recon_call sample(int64_t turn, char tenant_id[ID_SIZE], char call_id[ID_SIZE])
{
    static const char *const tenants[] = {"north", "south", "harbour", "airport"};
    snprintf(tenant_id, ID_SIZE, "%s", tenants[turn * 7 % 4]);
    snprintf(call_id, ID_SIZE, "call-%lld", (long long)turn);
    return (struct recon_call){
        .tenant_id = tenant_id,
        .call_id = call_id,
        .when = turn * APART,
        .audio_received = turn % 17 != 3,
        .processing_status = turn % 23 == 5   ? "FAILED"
                             : turn % 29 == 7 ? "PENDING"
                                              : "SUCCESS",
    };
}

/* Writes a call, unless it exists: a user may have changed it. */
static bool add_call(struct gramme_db *db, const struct recon_call *call,
                     struct gramme_error **error)
{
    struct gramme_answer *found = recon_get_call(db, call->tenant_id, call->call_id, error);
    bool ok = found != NULL;
    if (ok && gramme_answer_item(found) == NULL) {
        struct gramme_answer *answer = recon_ingest_call(db, call, NULL, error);
        ok = answer != NULL;
        gramme_answer_destroy(answer);
    }
    gramme_answer_destroy(found);
    return ok;
}

bool recon_load_samples(struct gramme_db *db, struct gramme_error **error)
{
    int64_t newest = when_now() / APART;
    bool ok = true;
    for (int64_t turn = newest - SAMPLES + 1; ok && turn <= newest; turn++) {
        char tenant_id[ID_SIZE];
        char call_id[ID_SIZE];
        struct recon_call call = sample(turn, tenant_id, call_id);
        ok = add_call(db, &call, error);
    }
    return ok;
}
