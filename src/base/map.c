/* A hash table with open addressing and linear probing. A removed entry stays as a tombstone (value
 * NULL, name kept) until the table is rebuilt. */
#include "base/map.h"

#include "base/hash.h"
#include "base/mem.h"

struct map_slot {
    char *name; /* NULL: never used */
    size_t name_len;
    uint64_t hash;
    void *value; /* NULL with a name: a tombstone */
};

void map_init(struct map *map)
{
    *map = (struct map){0};
}

void map_finish(struct map *map)
{
    for (size_t i = 0; i < map->slot_count; i++) {
        mem_free(map->slots[i].name);
    }
    mem_free(map->slots);
    map_init(map);
}

/* Returns the slot of the name, or the free slot where it would be added. */
static struct map_slot *find(const struct map *map, struct str name, uint64_t hash)
{
    for (size_t i = hash;; i++) {
        struct map_slot *slot = &map->slots[i & (map->slot_count - 1)];
        if (slot->name == NULL ||
            (slot->hash == hash && str_eq(str_make(slot->name, slot->name_len), name))) {
            return slot;
        }
    }
}

static void rebuild(struct map *map)
{
    struct map old = *map;
    map->slot_count = 16;
    while (map->slot_count < old.count * 4) {
        map->slot_count *= 2;
    }
    map->slots = mem_zalloc(map->slot_count * sizeof(*map->slots));
    map->used = old.count;
    for (size_t i = 0; i < old.slot_count; i++) {
        struct map_slot *slot = &old.slots[i];
        if (slot->value == NULL) {
            mem_free(slot->name);
            continue;
        }
        *find(map, str_make(slot->name, slot->name_len), slot->hash) = *slot;
    }
    mem_free(old.slots);
}

void *map_get(const struct map *map, struct str name)
{
    return map->slot_count == 0 ? NULL : find(map, name, hash_64(name))->value;
}

void *map_put(struct map *map, struct str name, void *value)
{
    assert(value != NULL);
    if ((map->used + 1) * 4 > map->slot_count * 3) {
        rebuild(map);
    }
    uint64_t hash = hash_64(name);
    struct map_slot *slot = find(map, name, hash);
    void *before = slot->value;
    if (slot->name == NULL) {
        slot->name = mem_alloc(name.len + 1);
        if (name.len > 0) {
            memcpy(slot->name, name.data, name.len);
        }
        slot->name_len = name.len;
        slot->hash = hash;
        map->used++;
    }
    if (before == NULL) {
        map->count++;
    }
    slot->value = value;
    return before;
}

void *map_remove(struct map *map, struct str name)
{
    if (map->slot_count == 0) {
        return NULL;
    }
    struct map_slot *slot = find(map, name, hash_64(name));
    void *before = slot->value;
    if (before != NULL) {
        slot->value = NULL;
        map->count--;
    }
    return before;
}

bool map_next(const struct map *map, size_t *at, struct str *out_name, void **out_value)
{
    for (; *at < map->slot_count; (*at)++) {
        struct map_slot *slot = &map->slots[*at];
        if (slot->value != NULL) {
            *out_name = str_make(slot->name, slot->name_len);
            *out_value = slot->value;
            (*at)++;
            return true;
        }
    }
    return false;
}
