/* codec/table.h: a table's description as the value of its catalog row: a version byte and an M
 * value, so that fields can be added without a new format. */
#ifndef GRAMME_CODEC_TABLE_H
#define GRAMME_CODEC_TABLE_H

#include "err/err.h"
#include "model/table.h"

struct str table_encode(struct arena *arena, const struct table *table);
/* All of *out lives in `arena`; it keeps nothing of `bytes`. */
MUST_USE bool table_decode(struct arena *arena, struct str bytes, struct table *out,
                           struct err *err);

#endif
