/* store/wal/bytes.h: little-endian integers in stored bytes, whatever the machine's own order is.
 */
#ifndef GRAMME_STORE_WAL_BYTES_H
#define GRAMME_STORE_WAL_BYTES_H

#include "base/base.h"

static inline void le_put_u32(uint8_t *out, uint32_t value)
{
    for (int i = 0; i < 4; i++) {
        out[i] = (uint8_t)(value >> 8 * i);
    }
}

static inline void le_put_u64(uint8_t *out, uint64_t value)
{
    for (int i = 0; i < 8; i++) {
        out[i] = (uint8_t)(value >> 8 * i);
    }
}

static inline uint32_t le_get_u32(const uint8_t *at)
{
    uint32_t value = 0;
    for (int i = 0; i < 4; i++) {
        value |= (uint32_t)at[i] << 8 * i;
    }
    return value;
}

static inline uint64_t le_get_u64(const uint8_t *at)
{
    uint64_t value = 0;
    for (int i = 0; i < 8; i++) {
        value |= (uint64_t)at[i] << 8 * i;
    }
    return value;
}

#endif
