/* store/pg/pg.h: the store on PostgreSQL, which any number of processes may share. */
#ifndef GRAMME_STORE_PG_PG_H
#define GRAMME_STORE_PG_PG_H

#include "store/store.h"

/* Opens a store; `rest` is a connection URI of libpq without "postgresql:". Creates the table if
 * the database has none. Blocks. */
MUST_USE bool pg_open(struct str rest, const struct store_options *options, struct store **out,
                      struct err *err);

/* Faults that tests inject. */
enum pg_fault {
    PG_FAULT_CUT,        /* the connection is cut before a statement of a transaction is sent */
    PG_FAULT_CUT_COMMIT, /* the connection is cut after COMMIT was sent, before it is answered */
    PG_FAULT_SERIALIZE,  /* a transaction fails with SQLSTATE 40001 */
    PG_FAULT_LOCKED,     /* a transaction fails with SQLSTATE 55P03: lock_timeout */
    PG_FAULT_IDLE,       /* and with 25P03: idle_in_transaction_session_timeout */
    PG_FAULT_WARNING,    /* PostgreSQL warns when it commits */
    PG_FAULT_CUT_READ,   /* the connection is cut while a read is under way */
    PG_FAULT_BAD_PAGE,   /* a statement of a range, or that gets a row, fails with XX001 */
    PG_FAULT_CUT_EVAL,   /* the connection is cut while the slow thread evaluates an update */
    /* While it is decided whether a COMMIT without an answer was carried out: */
    PG_FAULT_CUT_DECISION,  /* the connection is cut, before or after the statements are sent */
    PG_FAULT_WARN_DECISION, /* PostgreSQL warns when the decision is committed */
    PG_FAULT_WARN_BEAT,     /* PostgreSQL warns when a heartbeat is committed */
    PG_FAULT_COUNT
};
/* For tests: injects the fault at every nth opportunity from now on; 0: never. */
void pg_fault_every(struct store *store, enum pg_fault fault, uint32_t nth);
/* For tests: returns how often the fault was injected. */
MUST_USE uint64_t pg_fault_count(struct store *store, enum pg_fault fault);
/* For tests: returns the number of rows of a space in the database, also if the space is dropped;
 * negative: the query failed. */
MUST_USE int64_t pg_count_rows(struct store *store, uint32_t space);
/* For tests: erases everything in the database; `rest` is as of pg_open(). */
MUST_USE bool pg_erase_all(struct str rest, struct err *err);

#endif
