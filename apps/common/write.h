/* apps/common/write.h: writes that conflict with a transaction on the same items. The service
 * refuses one of two writes that overlap in time, without evaluating its conditions. Sending the
 * refused one again decides whether its conditions hold. The client library does not do this by
 * itself. */
#ifndef GRAMME_APPS_WRITE_H
#define GRAMME_APPS_WRITE_H

#include "gramme/gramme.h"

/* Calls gramme_send(); repeats it a few times, after pauses, while the service reports a conflict
 * with a transaction. */
struct gramme_answer *write_send(struct gramme_db *db, const struct gramme_request *request,
                                 struct gramme_error **error);
/* The same; returns only whether it succeeded. */
bool write_run(struct gramme_db *db, const struct gramme_request *request,
               struct gramme_error **error);
/* Sends a PutItem on the condition that no item has its key, and destroys it. An existing item
 * counts as success: sample data must not overwrite changes of users. `key`: an attribute of the
 * key. */
bool write_unless_there(struct gramme_db *db, struct gramme_request *put, const char *key,
                        struct gramme_error **error);

#endif
