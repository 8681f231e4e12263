/* engine/export_internal.h: what the files about exports, and the recovery thread, share. */
#ifndef GRAMME_ENGINE_EXPORT_INTERNAL_H
#define GRAMME_ENGINE_EXPORT_INTERNAL_H

#include "engine/export.h"

/* How the names of the internal backups start that hold the items of exports; the name of the
 * export's row follows. */
#define EXPORT_PIN_NAME "export "

/* The key of an export's row. */
struct str export_key(struct arena *arena, struct str row_name);
/* The key of the row of a client token. */
struct str export_token_key(struct arena *arena, struct str token);
/* The name of the export in the row of a token; STR_NULL: the row cannot be read. */
struct str export_of_token(struct str row);

#endif
