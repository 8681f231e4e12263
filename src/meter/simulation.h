/* meter/simulation.h: bad days at a desk: throttling, conflicts, server errors, slow answers, stale
 * reads. Off unless the insight API switches it on, per table. Chance is drawn from a seed, so the
 * same calls in the same order meet the same faults; throttling by units depends on the time, too.
 */
#ifndef GRAMME_METER_SIMULATION_H
#define GRAMME_METER_SIMULATION_H

#include "base/mailbox.h"
#include "meter/meter.h"

/* Why a request is throttled, as the service names it. */
struct throttling {
    struct str reason;   /* "TableReadProvisionedThroughputExceeded"; STR_NULL: it is not */
    struct str resource; /* ARN */
};

/* Whether anything is simulated now. Costs one load; the functions below do nothing if not. */
MUST_USE bool simulation_is_on(const struct meter_thread *thread);

/* Whether an operation on one item or page, described as for the meter, is carried out. False: *err
 * is ERR_OVER_THROUGHPUT or ERR_THROTTLING (and *out says why),
 * ERR_TRANSACTION_CONFLICT or ERR_INTERNAL; texts are in `arena`. */
MUST_USE bool simulation_admit(struct meter_thread *thread, const struct meter_access *access,
                               struct arena *arena, struct throttling *out, struct err *err);

/* How long the answer to a call on this table is to be held back. */
MUST_USE int64_t simulation_delay_us(struct meter_thread *thread, const struct table *table);
/* Posts `task` to `home` after that time. */
void simulation_post_later(struct meter_thread *thread, struct mailbox *home, struct task *task,
                           int64_t delay_us);

/* Whether old items of the table are wanted, for stale reads. */
MUST_USE bool simulation_wants_old(struct meter_thread *thread, const struct table *table);
/* Remembers an item as it was before a write (VALUE_ABSENT: there was none). `row` is its key. */
void simulation_remember(struct meter_thread *thread, const struct table *table, struct str row,
                         struct value old);
/* Whether an eventually consistent read finds an item as it was before a write of the last second;
 * then *out is that, in `arena`. */
MUST_USE bool simulation_is_stale(struct meter_thread *thread, const struct table *table,
                                  struct str row, struct arena *arena, struct value *out);

#endif
