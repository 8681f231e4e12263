/* engine/load_internal.h: keys of the rows of imports and bulk puts. */
#ifndef GRAMME_ENGINE_LOAD_INTERNAL_H
#define GRAMME_ENGINE_LOAD_INTERNAL_H

#include "engine/load.h"

/* The key of a load's row. */
struct str load_key(struct arena *arena, enum load_kind kind, struct str row_name);
/* The key of the row of a token. */
struct str load_token_key(struct arena *arena, enum load_kind kind, struct str token);

#endif
