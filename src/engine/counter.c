/* Counters of the rows and bytes of spaces. In evals, on threads of the store. */
#include "base/bytes.h"
#include "engine/engine_internal.h"

struct str space_fact_key(struct arena *arena, uint32_t space, enum space_fact fact)
{
    char part[KEY_HASH_LEN] = {0};
    put_u32_be(part, space);
    part[KEY_SPACE_LEN] = (char)fact;
    struct key_writer writer;
    key_start(&writer, arena, SPACE_FACTS);
    key_add_bytes(&writer, str_make(part, sizeof(part)));
    return key_finish(&writer);
}

void space_count(struct store_batch *batch, struct arena *arena, uint32_t space, int64_t rows,
                 int64_t bytes)
{
    assert(space >= SPACE_FIRST_FREE);
    if (rows != 0 || bytes != 0) {
        store_batch_add(batch, space_fact_key(arena, space, SPACE_SIZE),
                        (struct store_count){.count = rows, .bytes = bytes});
    }
}
