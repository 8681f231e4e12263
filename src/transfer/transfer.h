/* transfer/transfer.h: moves tables to and from objects in buckets, on background threads: exports
 * and imports. Opened beside the engine, by the server and by libgramme's engine in process. */
#ifndef GRAMME_TRANSFER_TRANSFER_H
#define GRAMME_TRANSFER_TRANSFER_H

#include "engine/engine.h"
#include "objects/objects.h"

struct transfer;

/* Starts the threads. `options`: where objects are; without endpoint and directory it is the folder
 * DIRECTORY.s3 beside the store's DIRECTORY; if the store has no directory, there is no place for
 * objects, and operations that need one fail. */
MUST_USE bool transfer_open(struct engine *engine, struct store *store,
                            const struct objects_options *options, struct transfer **out,
                            struct err *err);
/* Stops the threads; exports and imports are resumed at the next start. Before engine_close().
 * Accepts NULL. */
void transfer_close(struct transfer *transfer);
/* Returns the place for objects; NULL: there is none. */
struct objects *transfer_objects(const struct transfer *transfer);

#endif
