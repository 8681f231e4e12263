/* A hash table with open addressing over a dense array of entries; clearing touches only buckets
 * that are in use. See overlay.h. Called by the other files of this folder, with the turn to
 * commit. */
#include "store/rocks/commit/overlay.h"

#include "base/hash.h"
#include "base/mem.h"

struct entry {
    struct str key;
    struct str value;
    uint32_t bucket;
};

struct overlay {
    uint32_t *buckets; /* index of the entry plus one; 0: free */
    size_t bucket_count;
    struct entry *entries;
    size_t count;
    size_t capacity;
};

enum { BUCKETS_MIN = 256, ENTRIES_KEPT_MAX = 8192 };

struct overlay *overlay_create(void)
{
    struct overlay *overlay = mem_zalloc(sizeof(*overlay));
    overlay->bucket_count = BUCKETS_MIN;
    overlay->buckets = mem_zalloc(overlay->bucket_count * sizeof(*overlay->buckets));
    return overlay;
}

void overlay_destroy(struct overlay *overlay)
{
    if (overlay != NULL) {
        mem_free(overlay->buckets);
        mem_free(overlay->entries);
        mem_free(overlay);
    }
}

void overlay_clear(struct overlay *overlay)
{
    for (size_t i = 0; i < overlay->count; i++) {
        overlay->buckets[overlay->entries[i].bucket] = 0;
    }
    overlay->count = 0;
    if (overlay->capacity > ENTRIES_KEPT_MAX) { /* does not keep the memory of a huge group */
        mem_free(overlay->entries);
        overlay->entries = NULL;
        overlay->capacity = 0;
        overlay->bucket_count = BUCKETS_MIN;
        overlay->buckets = mem_realloc(overlay->buckets, BUCKETS_MIN * sizeof(*overlay->buckets));
    }
}

static uint32_t find_bucket(const struct overlay *overlay, struct str key)
{
    size_t mask = overlay->bucket_count - 1;
    size_t bucket = hash_64(key) & mask;
    while (overlay->buckets[bucket] != 0 &&
           !str_eq(overlay->entries[overlay->buckets[bucket] - 1].key, key)) {
        bucket = (bucket + 1) & mask;
    }
    return (uint32_t)bucket;
}

static void grow(struct overlay *overlay)
{
    overlay->capacity = MAX(overlay->capacity * 2, (size_t)64);
    overlay->entries = mem_realloc(overlay->entries, overlay->capacity * sizeof(*overlay->entries));
    if (overlay->capacity * 2 <= overlay->bucket_count) {
        return;
    }
    mem_free(overlay->buckets);
    overlay->bucket_count = overlay->capacity * 2;
    overlay->buckets = mem_zalloc(overlay->bucket_count * sizeof(*overlay->buckets));
    for (size_t i = 0; i < overlay->count; i++) {
        uint32_t bucket = find_bucket(overlay, overlay->entries[i].key);
        overlay->buckets[bucket] = (uint32_t)i + 1;
        overlay->entries[i].bucket = bucket;
    }
}

void overlay_set(struct overlay *overlay, struct str key, struct str value)
{
    if (overlay->count == overlay->capacity) {
        grow(overlay);
    }
    uint32_t bucket = find_bucket(overlay, key);
    if (overlay->buckets[bucket] == 0) {
        overlay->entries[overlay->count++] = (struct entry){.key = key, .bucket = bucket};
        overlay->buckets[bucket] = (uint32_t)overlay->count;
    }
    assert(overlay->buckets[bucket] <= overlay->count);
    overlay->entries[overlay->buckets[bucket] - 1].value = value;
}

bool overlay_get(const struct overlay *overlay, struct str key, struct str *out)
{
    if (overlay->count == 0) {
        return false;
    }
    uint32_t index = overlay->buckets[find_bucket(overlay, key)];
    if (index == 0) {
        return false;
    }
    *out = overlay->entries[index - 1].value;
    return true;
}
