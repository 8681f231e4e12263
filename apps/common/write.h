/* apps/common/write.h: writes that meet another transaction on the same items. The service refuses
 * one of two that overlap in time, whatever their conditions say; which of them is right comes out
 * when it is sent again. The library leaves that to the program. */
#ifndef GRAMME_APPS_WRITE_H
#define GRAMME_APPS_WRITE_H

#include "gramme/gramme.h"

/* gramme_send(), again after a moment while it is refused for a conflict in time, a few times. */
struct gramme_answer *write_send(struct gramme_db *db, const struct gramme_request *request,
                                 struct gramme_error **error);
/* The same for when nothing but success is of interest. */
bool write_run(struct gramme_db *db, const struct gramme_request *request,
               struct gramme_error **error);
/* Sends a PutItem on the condition that its key is new, and destroys it; that it is not is fine
 * too. For sample data, which must not undo what people have done. `key`: an attribute of the key.
 */
bool write_unless_there(struct gramme_db *db, struct gramme_request *put, const char *key,
                        struct gramme_error **error);

#endif
