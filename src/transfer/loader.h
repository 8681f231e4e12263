/* transfer/loader.h: the threads that carry out imports and bulk puts (engine/load.h): one that
 * looks for loads that are running by their rows, and one for each load at work. */
#ifndef GRAMME_TRANSFER_LOADER_H
#define GRAMME_TRANSFER_LOADER_H

#include "engine/engine.h"
#include "objects/objects.h"

struct loader;

/* Starts the thread that looks for loads. `objects` may be NULL: then loads fail. */
MUST_USE bool loader_start(struct engine *engine, struct objects *objects, struct loader **out,
                           struct err *err);
/* Stops the threads; loads that are running are resumed at the next start. Call objects_stop()
 * before. Accepts NULL. */
void loader_stop(struct loader *loader);

#endif
