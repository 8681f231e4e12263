#include "codec/row.h"

struct str row_encode(struct arena *arena, struct value item, size_t size, uint32_t table_version)
{
    uint8_t *data = (uint8_t *)arena_bytes(arena, ROW_HEAD_LEN + item.len);
    data[0] = ROW_VERSION;
    for (int i = 0; i < 4; i++) {
        data[1 + i] = (uint8_t)(size >> (8 * i));
        data[5 + i] = (uint8_t)(table_version >> (8 * i));
    }
    memcpy(data + ROW_HEAD_LEN, item.data, item.len);
    return str_make(data, ROW_HEAD_LEN + item.len);
}
