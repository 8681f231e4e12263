/* base/map.h: names to pointers, by hash. The map owns its copies of the names, not the values. */
#ifndef GRAMME_BASE_MAP_H
#define GRAMME_BASE_MAP_H

#include "base/str.h"

struct map_slot;

struct map {
    struct map_slot *slots;
    size_t slot_count; /* a power of two, or 0 */
    size_t used;       /* entries and graves */
    size_t count;      /* entries */
};

void map_init(struct map *map);
void map_finish(struct map *map);

/* NULL if there is none. */
MUST_USE void *map_get(const struct map *map, struct str name);
/* Sets the value of a name, new or not; `value` is not NULL. Returns what was there before, or
 * NULL. */
void *map_put(struct map *map, struct str name, void *value);
/* Returns what was there, or NULL. */
void *map_remove(struct map *map, struct str name);

/* Walks all entries in no order: start with *at = 0; false at the end. The map must not change. */
MUST_USE bool map_next(const struct map *map, size_t *at, struct str *out_name, void **out_value);

#endif
