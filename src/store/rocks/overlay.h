/* store/rocks/overlay.h: what the updates of a group have written before it is committed, so that
 * the next one in the group sees it. Borrows keys and values; they live as long as the updates. */
#ifndef GRAMME_STORE_ROCKS_OVERLAY_H
#define GRAMME_STORE_ROCKS_OVERLAY_H

#include "base/str.h"

struct overlay;

MUST_USE struct overlay *overlay_create(void);
void overlay_destroy(struct overlay *overlay);
void overlay_clear(struct overlay *overlay);
/* STR_NULL as value: erased. */
void overlay_set(struct overlay *overlay, struct str key, struct str value);
/* False: the group has not touched the key. */
MUST_USE bool overlay_get(const struct overlay *overlay, struct str key, struct str *out);

#endif
