/* store/rocks/commit/overlay.h: the rows that updates of a group have written before the group is
 * committed; later updates of the group read them here. Borrows keys and values, which live until
 * the updates are done. Only the thread that has the turn to commit uses it. */
#ifndef GRAMME_STORE_ROCKS_COMMIT_OVERLAY_H
#define GRAMME_STORE_ROCKS_COMMIT_OVERLAY_H

#include "base/str.h"

struct overlay;

/* Creates an empty overlay. */
MUST_USE struct overlay *overlay_create(void);
/* Frees it. */
void overlay_destroy(struct overlay *overlay);
/* Removes all rows. */
void overlay_clear(struct overlay *overlay);
/* Sets the row of a key; STR_NULL means that it was erased. */
void overlay_set(struct overlay *overlay, struct str key, struct str value);
/* Reads the row of a key; *out is STR_NULL if it was erased. False: the group has not written it.
 */
MUST_USE bool overlay_get(const struct overlay *overlay, struct str key, struct str *out);

#endif
