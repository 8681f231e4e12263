/* A cache of parsed expressions with a fixed number of entries. Entries are found by hash chains
 * and evicted by the CLOCK algorithm: the hand skips, once, entries that were used since its last
 * visit. Each entry owns its text and tree. One cache per thread. */
#include "expr/parse/cache_internal.h"

#include "base/hash.h"
#include "base/mem.h"

#define NO_ENTRY UINT32_MAX

/* The texts of all entries together. A tree is much larger than its text, and is not charged to
 * any budget. */
#define TEXT_BYTES_MAX ((size_t)256 * 1024)

struct entry {
    struct arena arena; /* owns text and tree */
    struct str text;
    const struct tree *tree; /* NULL: the entry is free */
    uint64_t hash;
    uint32_t next; /* in the chain of its bucket */
    bool used;
};

struct expr_cache {
    struct entry *entries;
    uint32_t entry_count;
    uint32_t hand;
    uint32_t *buckets; /* their number is a power of two */
    uint32_t bucket_mask;
    size_t text_bytes; /* of all entries */
};

struct expr_cache *expr_cache_create(size_t entries_max)
{
    assert(entries_max > 0 && entries_max < NO_ENTRY / 2);
    struct expr_cache *cache = mem_zalloc(sizeof(*cache));
    cache->entry_count = (uint32_t)entries_max;
    cache->entries = mem_zalloc(entries_max * sizeof(*cache->entries));
    uint32_t bucket_count = 1;
    while (bucket_count < cache->entry_count) {
        bucket_count *= 2;
    }
    cache->bucket_mask = bucket_count - 1;
    cache->buckets = mem_alloc(bucket_count * sizeof(*cache->buckets));
    for (uint32_t i = 0; i < bucket_count; i++) {
        cache->buckets[i] = NO_ENTRY;
    }
    return cache;
}

void expr_cache_destroy(struct expr_cache *cache)
{
    if (cache == NULL) {
        return;
    }
    for (uint32_t i = 0; i < cache->entry_count; i++) {
        arena_finish(&cache->entries[i].arena);
    }
    mem_free(cache->entries);
    mem_free(cache->buckets);
    mem_free(cache);
}

static uint64_t hash_of(enum tree_kind kind, struct str text)
{
    return hash_64(text) + kind;
}

const struct tree *cache_get(struct expr_cache *cache, enum tree_kind kind, struct str text)
{
    uint64_t hash = hash_of(kind, text);
    uint32_t i = cache->buckets[hash & cache->bucket_mask];
    for (; i != NO_ENTRY; i = cache->entries[i].next) {
        struct entry *entry = &cache->entries[i];
        if (entry->hash == hash && entry->tree->kind == kind && str_eq(entry->text, text)) {
            entry->used = true;
            return entry->tree;
        }
    }
    return NULL;
}

static void forget(struct expr_cache *cache, uint32_t index)
{
    struct entry *entry = &cache->entries[index];
    uint32_t *at = &cache->buckets[entry->hash & cache->bucket_mask];
    while (*at != index) {
        at = &cache->entries[*at].next;
    }
    *at = entry->next;
    cache->text_bytes -= entry->text.len;
    arena_finish(&entry->arena);
    entry->tree = NULL;
}

/* Returns an entry to fill, now free. */
static uint32_t make_room(struct expr_cache *cache)
{
    for (;;) {
        uint32_t index = cache->hand;
        struct entry *entry = &cache->entries[index];
        cache->hand = (cache->hand + 1) % cache->entry_count;
        if (entry->tree == NULL) {
            return index;
        }
        if (!entry->used) {
            forget(cache, index);
            return index;
        }
        entry->used = false;
    }
}

void cache_put(struct expr_cache *cache, enum tree_kind kind, struct str text, struct arena *arena,
               const struct tree *tree)
{
    assert(text.len <= TEXT_BYTES_MAX);
    uint32_t index = make_room(cache);
    while (cache->text_bytes + text.len > TEXT_BYTES_MAX) {
        index = make_room(cache);
    }
    cache->text_bytes += text.len;
    struct entry *entry = &cache->entries[index];
    entry->arena = *arena;
    entry->text = arena_copy(&entry->arena, text);
    entry->tree = tree;
    entry->hash = hash_of(kind, text);
    entry->used = false;
    uint32_t *bucket = &cache->buckets[entry->hash & cache->bucket_mask];
    entry->next = *bucket;
    *bucket = index;
}
