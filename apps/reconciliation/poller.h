/* apps/reconciliation/poller.h: reads pending calls from the index, oldest first, and posts each to
 * a webhook. Several pollers may run at once: a call is leased before it is posted. Delivery is at
 * least once: if a poller ends between posting and writing the result, the call is posted again
 * after its lease. */
#ifndef GRAMME_APPS_RECONCILIATION_POLLER_H
#define GRAMME_APPS_RECONCILIATION_POLLER_H

#include <stdatomic.h>

#include "apps/reconciliation/reconciliation.h"

/* COUNTER(name, what it counts) */
#define POLLER_COUNTERS(COUNTER)                                                                   \
    COUNTER(passes, "passes over the index")                                                       \
    COUNTER(pass_failures, "passes that the database ended")                                       \
    COUNTER(found, "calls found due")                                                              \
    COUNTER(leased, "leases taken")                                                                \
    COUNTER(lease_misses, "calls that someone else had taken, or that were fine by then")          \
    COUNTER(delivered, "posts that the webhook took")                                              \
    COUNTER(delivery_failures, "posts that it did not take")                                       \
    COUNTER(resolved, "calls that the webhook's answer took out of the index")                     \
    COUNTER(leases_lost, "leases that were over before the call was given back")

struct poller_counters {
#define COUNTER(name_, what_) atomic_int_fast64_t name_;
    POLLER_COUNTERS(COUNTER)
#undef COUNTER
    /* Of the newest pass: when it ended (0: none has), and the time of the oldest call that was
     * due. */
    atomic_int_fast64_t last_pass;
    atomic_int_fast64_t oldest_due;
};

struct poller;
struct recent;

/* Creates a poller with recon_settings. Borrows the database and `recent`, to which it adds each
 * delivery; NULL: deliveries are not listed. */
struct poller *poller_create(struct gramme_db *db, struct recent *recent);
/* Stops it, if it runs, and frees it. Accepts NULL. */
void poller_destroy(struct poller *poller);
/* Returns the counters, which other threads may read at any time. */
const struct poller_counters *poller_counters(const struct poller *poller);

/* Makes one pass: tries each call that is due. False: the database failed. */
bool poller_pass(struct poller *poller, struct gramme_error **error);
/* Makes passes on a thread of its own until poller_stop(). */
void poller_start(struct poller *poller);
/* Ends the thread, and waits for it. Posts that are under way are canceled. */
void poller_stop(struct poller *poller);

#endif
