/* codec/stored_table.h: a table's description as the value of its catalog row: a version byte and
 * an M value, so that fields can be added without a new format version. */
#ifndef GRAMME_CODEC_STORED_TABLE_H
#define GRAMME_CODEC_STORED_TABLE_H

#include "err/err.h"
#include "model/table.h"

/* Encodes a description in `arena`. */
struct str table_encode(struct arena *arena, const struct table *table);
/* Decodes a description. *out is allocated from `arena` and borrows nothing of `bytes`.
 * ERR_INTERNAL if the version is not known or the bytes are damaged. */
MUST_USE bool table_decode(struct arena *arena, struct str bytes, struct table *out,
                           struct err *err);

#endif
