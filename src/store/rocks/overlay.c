/* A hash table with open addressing over a dense array of entries; clearing touches only slots that
 * are in use. See overlay.h. */
#include "store/rocks/overlay.h"

#include "base/hash.h"
#include "base/mem.h"

struct entry {
    struct str key;
    struct str value;
    uint32_t slot;
};

struct overlay {
    uint32_t *slots; /* index of the entry plus one; 0: free */
    size_t slot_count;
    struct entry *entries;
    size_t count;
    size_t capacity;
};

enum { SLOTS_MIN = 256, ENTRIES_KEPT_MAX = 8192 };

struct overlay *overlay_create(void)
{
    struct overlay *overlay = mem_zalloc(sizeof(*overlay));
    overlay->slot_count = SLOTS_MIN;
    overlay->slots = mem_zalloc(overlay->slot_count * sizeof(*overlay->slots));
    return overlay;
}

void overlay_destroy(struct overlay *overlay)
{
    if (overlay != NULL) {
        mem_free(overlay->slots);
        mem_free(overlay->entries);
        mem_free(overlay);
    }
}

void overlay_clear(struct overlay *overlay)
{
    for (size_t i = 0; i < overlay->count; i++) {
        overlay->slots[overlay->entries[i].slot] = 0;
    }
    overlay->count = 0;
    if (overlay->capacity > ENTRIES_KEPT_MAX) { /* does not keep the memory of a huge group */
        mem_free(overlay->entries);
        overlay->entries = NULL;
        overlay->capacity = 0;
        overlay->slot_count = SLOTS_MIN;
        overlay->slots = mem_realloc(overlay->slots, SLOTS_MIN * sizeof(*overlay->slots));
    }
}

static uint32_t find_slot(const struct overlay *overlay, struct str key)
{
    size_t mask = overlay->slot_count - 1;
    size_t slot = hash_64(key) & mask;
    while (overlay->slots[slot] != 0 &&
           !str_eq(overlay->entries[overlay->slots[slot] - 1].key, key)) {
        slot = (slot + 1) & mask;
    }
    return (uint32_t)slot;
}

static void grow(struct overlay *overlay)
{
    overlay->capacity = MAX(overlay->capacity * 2, (size_t)64);
    overlay->entries = mem_realloc(overlay->entries, overlay->capacity * sizeof(*overlay->entries));
    if (overlay->capacity * 2 <= overlay->slot_count) {
        return;
    }
    mem_free(overlay->slots);
    overlay->slot_count = overlay->capacity * 2;
    overlay->slots = mem_zalloc(overlay->slot_count * sizeof(*overlay->slots));
    for (size_t i = 0; i < overlay->count; i++) {
        uint32_t slot = find_slot(overlay, overlay->entries[i].key);
        overlay->slots[slot] = (uint32_t)i + 1;
        overlay->entries[i].slot = slot;
    }
}

void overlay_set(struct overlay *overlay, struct str key, struct str value)
{
    if (overlay->count == overlay->capacity) {
        grow(overlay);
    }
    uint32_t slot = find_slot(overlay, key);
    if (overlay->slots[slot] == 0) {
        overlay->entries[overlay->count++] = (struct entry){.key = key, .slot = slot};
        overlay->slots[slot] = (uint32_t)overlay->count;
    }
    overlay->entries[overlay->slots[slot] - 1].value = value;
}

bool overlay_get(const struct overlay *overlay, struct str key, struct str *out)
{
    if (overlay->count == 0) {
        return false;
    }
    uint32_t index = overlay->slots[find_slot(overlay, key)];
    if (index == 0) {
        return false;
    }
    *out = overlay->entries[index - 1].value;
    return true;
}
