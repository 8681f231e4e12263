/* store/pg/chores.h: work of the leader for all members: deletes the rows of dropped spaces, and
 * folds the counter rows of members that have left into one row. Runs on the thread of members.c,
 * in pieces of about 100 ms, so that heartbeats are sent in between. If the leader changes, the new
 * one continues. */
#ifndef GRAMME_STORE_PG_CHORES_H
#define GRAMME_STORE_PG_CHORES_H

#include "store/pg/pg_internal.h"

struct chores;

/* Creates the struct; starts with all work pending. */
struct chores *chores_create(struct pg *pg);
/* Frees it. */
void chores_destroy(struct chores *chores);
/* This member has become the leader: all work is pending, as an earlier leader may have left some.
 */
void chores_begin(struct chores *chores);
/* A space was dropped: its rows must be deleted. Any thread. */
void chores_note_drop(struct chores *chores);
/* Returns whether a space was dropped since the last call: a member that is not the leader must
 * pass it on. */
MUST_USE bool chores_take_drop(struct chores *chores);
/* A member has left or was excluded: its counter rows must be folded. Any thread. */
void chores_note_death(struct chores *chores);
/* Does a piece of the work; blocks. Returns whether there is more. */
MUST_USE bool chores_run(struct chores *chores, PGconn *pq);

#endif
