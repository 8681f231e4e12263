/* store/rocks/directory.h: what the store asks of a directory. */
#ifndef GRAMME_STORE_ROCKS_DIRECTORY_H
#define GRAMME_STORE_ROCKS_DIRECTORY_H

#include "base/base.h"

/* Calls `visit` with the name of each file that ends so, ".log" say. False: errno says why it
 * cannot be read. */
MUST_USE bool directory_each(const char *path, const char *ending,
                             void (*visit)(void *context, const char *name), void *context);
/* Makes the names in it durable. False: errno says why not. */
bool directory_sync(const char *path);

#endif
