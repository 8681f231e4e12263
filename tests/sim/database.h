/* tests/sim/database.h: an engine on a store, whose operations are called in this process: for
 * programs that make the store fail or crash under a realistic load. One thread at a time. */
#ifndef GRAMME_TESTS_SIM_DATABASE_H
#define GRAMME_TESTS_SIM_DATABASE_H

#include "base/buf.h"
#include "engine/engine.h"

struct api_thread;
struct waiting_mailbox;

struct database {
    struct store *store;
    struct engine *engine;
    struct api_thread *api;
    struct waiting_mailbox *mailbox;
    struct arena arena; /* of one call */
    struct buf answer;  /* of the last call */
};

/* Opens an engine on a store, which the database owns also if this fails. Streams have one shard,
 * so that their records have one order. False: *err says why; the database is closed. */
MUST_USE bool database_open(struct database *database, struct store *store, struct err *err);
/* Opens the store of a directory and an engine on it. */
MUST_USE bool database_open_directory(struct database *database, const char *directory,
                                      struct err *err);
/* Closes engine and store. */
void database_close(struct database *database);
/* Calls an operation and returns the HTTP status. The body of the answer is in `answer` until the
 * next call. */
int database_call(struct database *database, const char *operation, struct str body);
/* The same for an operation of DynamoDB Streams. */
int database_call_streams(struct database *database, const char *operation, struct str body);
/* Checks the files of a store that no process has open, as `gramme check` does. Prints damage, and
 * returns how much there is; UINT64_MAX if it cannot be checked. */
uint64_t database_check_files(const char *directory);

#endif
