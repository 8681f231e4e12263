/* base/map.h: a hash table from names to pointers. It owns copies of the names; it does not own the
 * values. Not thread-safe. */
#ifndef GRAMME_BASE_MAP_H
#define GRAMME_BASE_MAP_H

#include "base/str.h"

struct map_slot;

struct map {
    struct map_slot *slots;
    size_t slot_count; /* a power of two, or 0 */
    size_t used;       /* entries and removed entries */
    size_t count;      /* entries */
};

/* Makes an empty map in the caller's memory. */
void map_init(struct map *map);
/* Frees the table and the names, not the values. */
void map_finish(struct map *map);

/* Returns the value of `name`, or NULL. */
MUST_USE void *map_get(const struct map *map, struct str name);
/* Sets the value of `name`; `value` must not be NULL. Returns the previous value, or NULL. */
void *map_put(struct map *map, struct str name, void *value);
/* Removes `name`. Returns its value, or NULL. */
void *map_remove(struct map *map, struct str name);

/* Iterates over all entries, in no defined order: start with *at = 0; false at the end. The map
 * must not change meanwhile. */
MUST_USE bool map_next(const struct map *map, size_t *at, struct str *out_name, void **out_value);

#endif
