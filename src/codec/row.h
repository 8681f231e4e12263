/* codec/row.h: the stored value of an item's row and of an index entry's row.
 *
 *   version (1 byte, 2) | size by DynamoDB's rules (u32_le) | version of the table's description
 *   that wrote the row (u32_le) | the item as an M value
 *
 * In rows of index entries that hold a projection the table's version is 0: they change only with
 * the item. */
#ifndef GRAMME_CODEC_ROW_H
#define GRAMME_CODEC_ROW_H

#include "base/arena.h"
#include "base/bytes.h"
#include "model/value.h"

#define ROW_VERSION  2
#define ROW_HEAD_LEN 9

struct row {
    struct value item; /* VALUE_ABSENT: there is no row */
    size_t size;
    uint32_t table_version;
};

/* Decodes a row. The item borrows the bytes. STR_NULL gives an absent row. Aborts if the version is
 * unknown: the store checks what it reads. */
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

/* Encodes a row in `arena`. `size` is that of item_size(). */
struct str row_encode(struct arena *arena, struct value item, size_t size, uint32_t table_version);

#endif
