/* store/pg/distributed.h: what differs if the rows are spread over several servers (Citus).
 *
 * A transaction that has written on several servers is prepared on each, committed at the
 * coordinator, and then committed on each: not at the same instant. So
 *
 *  - one statement, or one REPEATABLE READ transaction, over several buckets is no snapshot. Only
 *    locks are: a row is locked on its server until the transaction is committed there;
 *  - a row on one server does not prove anything about another server. Each transaction holds an
 *    advisory lock of its writer at the coordinator, which is released when the transaction is
 *    committed on all servers. If a server could not be reached then (a WARNING), RECOVER must have
 *    ended it there;
 *  - a statement may write to one bucket only, and lock only one row if it locks.
 *
 * README.md has what was run, and what was not. */
#ifndef GRAMME_STORE_PG_DISTRIBUTED_H
#define GRAMME_STORE_PG_DISTRIBUTED_H

#include "store/pg/pg_internal.h"

/* Returns the number of the advisory lock of a writer. */
int64_t pg_writer_lock(uint64_t member, int writer);
/* If `key` is that of a marker row, writes the number of the lock of its writer to *out. */
MUST_USE bool pg_marker_lock(struct str key, int64_t *out);

/* Runs a snapshot get as an update that locks the rows, reads them and writes nothing. */
void pg_get_locked(struct store *store, struct store_get *get);

/* A log that a group appends to. */
struct log_head {
    struct str log;
    struct str part; /* the newest; empty: none */
    uint64_t stamp;  /* the last one */
};
/* Sends statements that lock and read the heads of the logs that the group appends to. `handle`
 * gets the result of the row of head number i with tag `first_tag` + i. False: there are none. */
MUST_USE bool group_send_heads(struct group *group, pg_handler *handle, size_t first_tag);
/* Gets the row of a head. False: it is missing. */
MUST_USE bool group_take_head(struct group *group, size_t index, const PGresult *result);
/* Sends the appended rows and the new heads, when all heads are known. */
void group_send_appended(struct group *group, pg_handler *handle);

#endif
