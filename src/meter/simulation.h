/* meter/simulation.h: simulated faults: throttling, conflicts, server errors, slow answers, stale
 * reads, index lag. Off unless the insight API switches it on, per table. Random decisions come
 * from a seed, by a sequence for each table, so the same calls on a table in the same order get the
 * same faults; throttling by units (without `stepMs`), index lag and the age of stale reads also
 * depend on the time. */
#ifndef GRAMME_METER_SIMULATION_H
#define GRAMME_METER_SIMULATION_H

#include "base/mailbox.h"
#include "engine/past.h"
#include "meter/meter.h"

/* Why a request is throttled, as the service names it. */
struct throttling {
    struct str reason;   /* "TableReadProvisionedThroughputExceeded"; STR_NULL: it is not */
    struct str resource; /* ARN */
};

/* Whether anything is simulated now. Costs one load; the functions below do nothing if not. */
MUST_USE bool simulation_is_on(const struct meter_thread *thread);

/* Whether an operation on one item or page, described as for the meter, is carried out. False: *err
 * is ERR_OVER_THROUGHPUT or ERR_THROTTLING (*out has the reason), ERR_TRANSACTION_CONFLICT or
 * ERR_INTERNAL; texts are in `arena`. */
MUST_USE bool simulation_admit(struct meter_thread *thread, const struct meter_access *access,
                               struct arena *arena, struct throttling *out, struct err *err);

/* Returns by how long the answer to a call on this table is delayed. */
MUST_USE int64_t simulation_delay_us(struct meter_thread *thread, const struct table *table);
/* Posts `task` to `home` after that time. */
void simulation_post_later(struct meter_thread *thread, struct mailbox *home, struct task *task,
                           int64_t delay_us);

/* Returns whether simulation_remember() must be called for writes of the table: with the item
 * before the write. */
MUST_USE bool simulation_wants_writes(struct meter_thread *thread, const struct table *table);
/* Remembers a write that succeeded. Copies what it needs. The oldest writes are forgotten when
 * there are more than 4,096 of all tables, or more than 8 MiB. */
void simulation_remember(struct meter_thread *thread, const struct table *table,
                         const struct past_write *write);
/* Decides whether an eventually consistent read of one item is stale. Then *out is the item as it
 * was before the writes of the last second, in `arena`. */
MUST_USE bool simulation_is_stale(struct meter_thread *thread, const struct table *table,
                                  struct str row, struct arena *arena, struct value *out);
/* Decides which rows an eventually consistent read of a range returns: global indexes lag behind,
 * and any read may be stale. Returns the rows that replace those of the store, in `arena`; NULL:
 * none. */
const struct past *simulation_past(struct meter_thread *thread, const struct items_read *read,
                                   struct arena *arena);

#endif
