/* store/pg/chores.h: what the leader does for all members: deletes the rows of dropped spaces, and
 * adds up what members that are gone have added to counters. Runs on the thread of members.c, in
 * pieces of about 100 ms, so that heartbeats go on. Any member may become the leader and continue.
 */
#ifndef GRAMME_STORE_PG_CHORES_H
#define GRAMME_STORE_PG_CHORES_H

#include "store/pg/pg_internal.h"

struct chores;

struct chores *chores_create(struct pg *pg);
void chores_destroy(struct chores *chores);
/* A space was dropped: its rows are to be deleted. Any thread. */
void chores_note_drop(struct chores *chores);
/* A member has left or was excluded: its parts of counters are to be added up. Any thread. */
void chores_note_death(struct chores *chores);
/* Does a piece of the work, waiting for PostgreSQL. Returns whether there is more. */
MUST_USE bool chores_run(struct chores *chores, PGconn *pq);

#endif
