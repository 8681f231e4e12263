/* Checksums of small structures: see checksum.h. XXH3 has 64 bits: for a structure of 200 bytes,
 * whose 1600 bits are tried one by one, the probability of a wrong correction is 1600 in 2^64. */
#include "store/disk/checksum.h"

#include "base/bytes.h"
#include "base/hash.h"

static uint64_t checksum(const uint8_t *bytes, size_t len)
{
    return hash_64(str_make((const char *)bytes, len - CHECKSUM_LEN));
}

static bool matches(const uint8_t *bytes, size_t len)
{
    return checksum(bytes, len) == get_u64_le(bytes + len - CHECKSUM_LEN);
}

void checksum_write(uint8_t *bytes, size_t len)
{
    assert(len > CHECKSUM_LEN);
    put_u64_le(bytes + len - CHECKSUM_LEN, checksum(bytes, len));
}

enum checksum_result checksum_check(uint8_t *bytes, size_t len)
{
    assert(len > CHECKSUM_LEN);
    if (matches(bytes, len)) {
        return CHECKSUM_GOOD;
    }
    for (size_t bit = 0; bit < 8 * len; bit++) {
        bytes[bit / 8] ^= (uint8_t)(1U << bit % 8);
        if (matches(bytes, len)) {
            return CHECKSUM_CORRECTED;
        }
        bytes[bit / 8] ^= (uint8_t)(1U << bit % 8);
    }
    return CHECKSUM_BAD;
}
