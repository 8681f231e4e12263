/* codec/row.h: the value of an item's row and of an index entry's.
 *
 *   version (1 byte, 2) | size by the service's rules (u32, little-endian) | version of the table's
 *   description that it was written by (u32) | the item as an M value
 *
 * Entries that are projected have 0 for the table's version: they change only with the item. */
#ifndef GRAMME_CODEC_ROW_H
#define GRAMME_CODEC_ROW_H

#include "base/arena.h"
#include "base/bytes.h"
#include "model/value.h"

#define ROW_VERSION  2
#define ROW_HEAD_LEN 9

struct row {
    struct value item; /* VALUE_ABSENT: no row */
    size_t size;
    uint32_t table_version;
};

/* Borrows the bytes. STR_NULL gives an absent row. */
static inline struct row row_decode(struct str bytes)
{
    if (str_is_null(bytes)) {
        return (struct row){0};
    }
    const uint8_t *data = (const uint8_t *)bytes.data;
    assert(bytes.len > ROW_HEAD_LEN && data[0] == ROW_VERSION);
    return (struct row){
        .item = {data + ROW_HEAD_LEN, bytes.len - ROW_HEAD_LEN},
        .size = get_u32_le(data + 1),
        .table_version = get_u32_le(data + 5),
    };
}

struct str row_encode(struct arena *arena, struct value item, size_t size, uint32_t table_version);

#endif
