/* store/pg/members.h: the processes that share a database.
 *
 * Each has a row with its number, which it updates twice a second (its heartbeat), and a marker row
 * for each of its writers, which every transaction of that writer updates. A process serves only as
 * long as its last heartbeat is not older than LEASE_NS. One whose row has not changed for DEAD_NS,
 * by the clock of who watches it, is excluded: its rows are deleted, for which PostgreSQL waits
 * until its transactions have ended, and after which none can commit. So whoever sees it excluded
 * knows that it answers no more and writes no more. It may join again under another number.
 *
 * A process that has ended is noticed sooner: each holds an advisory lock in the session that sends
 * its heartbeats, and stops serving when it finds that this session has ended. One whose lock is
 * free for GONE_NS is excluded. */
#ifndef GRAMME_STORE_PG_MEMBERS_H
#define GRAMME_STORE_PG_MEMBERS_H

#include "store/store.h"

struct pg;
struct members;

#define MEMBERS_BEAT_MS  500
#define MEMBERS_LEASE_NS ((int64_t)4 * 1000 * 1000 * 1000)
#define MEMBERS_DEAD_NS  ((int64_t)6 * 1000 * 1000 * 1000)
#define MEMBERS_GONE_NS  ((int64_t)1000 * 1000 * 1000)

/* Joins, and starts the thread that renews the lease. Blocks. */
MUST_USE bool members_open(struct pg *pg, struct err *err);
/* Leaves; after the I/O thread has ended. Accepts a store that has not joined. */
void members_close(struct pg *pg);
/* The number of this process; another one after it was excluded and has joined again. */
MUST_USE uint64_t members_number(const struct pg *pg);
/* Whether this process may answer now. Any thread, like all below. */
MUST_USE bool members_may_serve(const struct pg *pg);
/* A transaction of the member with this number found that it is excluded. */
void members_note_fence(struct pg *pg, uint64_t number);
/* There are rows of dropped spaces to delete. */
void members_note_drop(struct pg *pg);

/* As in store.h. */
void members_watch(struct store *store, void (*changed)(void *context), void *context);
void members_announce(struct store *store, struct store_progress progress);
struct store_progress members_slowest(const struct store *store);
bool members_is_leader(const struct store *store);
bool members_store_may_serve(const struct store *store);

#endif
