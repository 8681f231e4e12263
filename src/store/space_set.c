/* A set of space numbers: an array of chunks, each a bit map of 65,536 numbers. Chunks are
 * allocated by the first thread that adds to them and are never freed before the set. */
#include "store/space_set.h"

#include "base/mem.h"

enum { CHUNK_COUNT = 65536, CHUNK_BYTES = 65536 / 8 };

struct space_chunk {
    _Atomic uint8_t bytes[CHUNK_BYTES];
};

void space_set_init(struct space_set *set)
{
    set->chunks = mem_zalloc(CHUNK_COUNT * sizeof(*set->chunks)); /* untouched pages cost nothing */
}

void space_set_finish(struct space_set *set)
{
    for (size_t i = 0; set->chunks != NULL && i < CHUNK_COUNT; i++) {
        mem_free(atomic_load(&set->chunks[i]));
    }
    mem_free(set->chunks);
    set->chunks = NULL;
}

static struct space_chunk *find_chunk(const struct space_set *set, uint32_t space)
{
    return atomic_load_explicit(&set->chunks[space >> 16], memory_order_acquire);
}

static struct space_chunk *need_chunk(struct space_set *set, uint32_t space)
{
    struct space_chunk *chunk = find_chunk(set, space);
    if (chunk != NULL) {
        return chunk;
    }
    struct space_chunk *fresh = mem_zalloc(sizeof(*fresh));
    if (!atomic_compare_exchange_strong(&set->chunks[space >> 16], &chunk, fresh)) {
        mem_free(fresh); /* another thread has added the chunk meanwhile */
        return chunk;
    }
    return fresh;
}

void space_set_add(struct space_set *set, uint32_t space)
{
    assert(set->chunks != NULL);
    struct space_chunk *chunk = need_chunk(set, space);
    atomic_fetch_or(&chunk->bytes[(space & 0xFFFF) / 8], (uint8_t)(1u << (space & 7)));
}

bool space_set_has(const struct space_set *set, uint32_t space)
{
    const struct space_chunk *chunk = find_chunk(set, space);
    return UNLIKELY(chunk != NULL) &&
           (atomic_load_explicit(&chunk->bytes[(space & 0xFFFF) / 8], memory_order_acquire) >>
                (space & 7) &
            1) != 0;
}

bool space_set_next_run(const struct space_set *set, uint64_t *at, uint32_t *out_first,
                        uint32_t *out_last)
{
    uint64_t space = *at;
    while (space <= UINT32_MAX && !space_set_has(set, (uint32_t)space)) {
        bool in_chunk = find_chunk(set, (uint32_t)space) != NULL;
        space = in_chunk ? space + 1 : (space | 0xFFFF) + 1;
    }
    if (space > UINT32_MAX) {
        return false;
    }
    *out_first = (uint32_t)space;
    while (space <= UINT32_MAX && space_set_has(set, (uint32_t)space)) {
        *out_last = (uint32_t)space++;
    }
    *at = space;
    assert(*out_first <= *out_last); /* what is erased, ends included */
    return true;
}

void space_set_save(const struct space_set *set, uint32_t piece, uint8_t out[SPACE_PIECE_BYTES])
{
    uint32_t first = piece << SPACE_PIECE_BITS;
    const struct space_chunk *chunk = find_chunk(set, first);
    for (size_t i = 0; i < SPACE_PIECE_BYTES; i++) {
        out[i] = chunk == NULL ? 0 : atomic_load(&chunk->bytes[(first & 0xFFFF) / 8 + i]);
    }
}

void space_set_load(struct space_set *set, uint32_t piece, const uint8_t bytes[SPACE_PIECE_BYTES])
{
    uint32_t first = piece << SPACE_PIECE_BITS;
    struct space_chunk *chunk = need_chunk(set, first);
    for (size_t i = 0; i < SPACE_PIECE_BYTES; i++) {
        atomic_fetch_or(&chunk->bytes[(first & 0xFFFF) / 8 + i], bytes[i]);
    }
}
