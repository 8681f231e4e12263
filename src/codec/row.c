/* Encodes rows of items and index entries. Called by src/engine: in evals, on threads of the store,
 * and by checks and repairs on their main thread. */
#include "codec/row.h"

#include "base/bytes.h"

struct str row_encode(struct arena *arena, struct value item, size_t size, uint32_t table_version)
{
    uint8_t *data = (uint8_t *)arena_bytes(arena, ROW_HEAD_LEN + item.len);
    data[0] = ROW_VERSION;
    put_u32_le(data + 1, (uint32_t)size);
    put_u32_le(data + 5, table_version);
    memcpy(data + ROW_HEAD_LEN, item.data, item.len);
    return str_make(data, ROW_HEAD_LEN + item.len);
}
