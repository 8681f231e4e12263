/* engine/catalog_list.h: lists rows of one part of the catalog: backups, exports, imports, bulk
 * puts. */
#ifndef GRAMME_ENGINE_CATALOG_LIST_H
#define GRAMME_ENGINE_CATALOG_LIST_H

#include "engine/engine.h"

struct catalog_list {
    struct engine_call *call; /* its done() is called at the end */
    struct str lo;            /* the range of rows */
    struct str hi;
    bool backward;
    size_t limit; /* most entries */
    /* Decodes a row into entry number `at` (0 to limit), in call->arena; sets *out_wanted. False:
     * call->err. */
    bool (*read)(struct catalog_list *list, size_t at, struct str row_name, struct str value,
                 bool *out_wanted);
    size_t *out_count;
    bool *out_more; /* there are further ones that are wanted */

    struct store_range range; /* private to the engine, like the next member */
    struct arena scratch;
};

/* Starts a list. The array of entries belongs to the caller and has room for limit + 1. */
void catalog_list_start(struct catalog_list *list);

#endif
