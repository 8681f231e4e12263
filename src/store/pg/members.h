/* store/pg/members.h: the processes that share a database, called members.
 *
 * A member has a row with its number, which it updates twice a second (its heartbeat), and a marker
 * row for each of its writers, which every transaction of that writer updates. It serves only while
 * its last heartbeat is not older than MEMBERS_LEASE_NS. If its row does not change for
 * MEMBERS_DEAD_NS, by the clock of another member, that member excludes it: it deletes its rows.
 * The deletion waits until the transactions of the excluded member have ended, and afterwards none
 * of them can commit, because the marker row is missing. So an excluded member neither answers nor
 * writes. It may join again under another number.
 *
 * An exclusion can be read before the standby has it: for good if its wait for the standby is
 * cancelled, which PostgreSQL reports only to the member that excludes. A failover may then undo
 * it, and the excluded member renews its lease. So a member that finds others gone sends another
 * heartbeat before it relies on that: when PostgreSQL has confirmed it without a warning, the
 * standby has every earlier commit, too.
 *
 * A process that has ended is detected sooner: each member holds an advisory lock in the session
 * that sends its heartbeats, and stops serving when that session ends. If the lock is free for
 * MEMBERS_GONE_NS, the member is excluded. */
#ifndef GRAMME_STORE_PG_MEMBERS_H
#define GRAMME_STORE_PG_MEMBERS_H

#include "store/store.h"

struct pg;
struct members;

#define MEMBERS_BEAT_MS  500
#define MEMBERS_LEASE_NS ((int64_t)4 * 1000 * 1000 * 1000)
#define MEMBERS_DEAD_NS  ((int64_t)6 * 1000 * 1000 * 1000)
#define MEMBERS_GONE_NS  ((int64_t)1000 * 1000 * 1000)

/* Joins as a member, and starts the thread that sends heartbeats. Blocks. */
MUST_USE bool members_open(struct pg *pg, struct err *err);
/* Leaves and stops the thread. Call it after the I/O thread has ended. Accepts a store that has not
 * joined. */
void members_close(struct pg *pg);
/* Returns the number under which this member writes. It changes after the member was excluded and
 * has joined again, when it may serve. */
MUST_USE uint64_t members_number(const struct pg *pg);
/* Returns whether this process may answer requests now. Any thread, as all functions below. */
MUST_USE bool members_may_serve(const struct pg *pg);
/* A transaction found that the member with this number is excluded: stops serving and joins again.
 */
void members_note_fence(struct pg *pg, uint64_t number);
/* A space was dropped: the leader must delete its rows. */
void members_note_drop(struct pg *pg);

/* store_watch() of this store. */
void members_watch(struct store *store, void (*changed)(void *context), void *context);
/* store_announce() of this store. */
void members_announce(struct store *store, struct store_progress progress);
/* store_slowest() of this store. */
struct store_progress members_slowest(const struct store *store);
/* store_is_leader() of this store. */
bool members_is_leader(const struct store *store);
/* store_leads_transfers() of this store. */
bool members_leads_transfers(const struct store *store);
/* store_may_serve() of this store. */
bool members_store_may_serve(const struct store *store);

#endif
