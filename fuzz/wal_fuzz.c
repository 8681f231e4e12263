/* Fuzzes the parsers of write-ahead log segments and of the structures that end in a checksum
 * (identity, state). Properties: nothing outside of the input is read; a correction changes one
 * bit, or the CRC; a decoded structure is encoded as the same bytes. */
#include "base/mem.h"
#include "store/wal/wal_format.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t different_bits(const uint8_t *a, const uint8_t *b, size_t len)
{
    size_t count = 0;
    for (size_t i = 0; i < len; i++) {
        count += (size_t)__builtin_popcount((unsigned)(a[i] ^ b[i]));
    }
    return count;
}

static void read_header(const uint8_t *data, uint8_t *copy)
{
    struct wal_header header;
    bool corrected = false;
    if (wal_header_decode(copy, &header, &corrected)) {
        uint8_t again[WAL_HEADER_LEN];
        wal_header_encode(&header, again);
        assert(different_bits(data, copy, WAL_HEADER_LEN) == (corrected ? 1 : 0));
        assert(memcmp(again, copy, WAL_HEADER_LEN) == 0);
    }
}

static void read_record(const uint8_t *data, uint8_t *copy, size_t size)
{
    struct wal_found found;
    struct wal_record expected = {.number = 258, .salt = 0x11, .previous = 0x22};
    if (wal_record_decode(str_make(copy, size), expected.salt, &found)) {
        assert(found.payload.len <= size - WAL_RECORD_HEADER_LEN);
    } else if (wal_record_correct(copy, size, expected, &found)) {
        memcpy(copy + 4, data + 4,
               4); /* the CRC may differ in any bit, because the other checksum is correct */
        assert(different_bits(data, copy, size) <= 1);
        assert(found.record.number == expected.number);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *copy = mem_alloc(size + 1);
    if (size > 0) {
        memcpy(copy, data, size);
    }
    if (size >= WAL_HEADER_LEN) {
        read_header(data, copy);
        memcpy(copy, data, size);
    }
    if (size > 0) {
        read_record(data, copy, size);
        memcpy(copy, data, size);
    }
    if (size == 64 || size == 192) { /* identity, state */
        enum checksum_result check = checksum_check(copy, size);
        assert(check != CHECKSUM_GOOD || memcmp(copy, data, size) == 0);
    }
    mem_free(copy);
    return 0;
}
