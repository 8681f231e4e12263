/* Checks, decompresses and reads blocks of RocksDB's tables: see block.h. Called by table_file.c,
 * on the thread of a check or repair. */
#include "store/image/block.h"

#include <lz4.h>

#include "base/hash.h"
#include "base/bytes.h"

enum { CHECKSUM_CRC32C = 1, CHECKSUM_XXH3 = 4 };
enum { COMPRESSION_NONE = 0, COMPRESSION_LZ4 = 4 };
/* Larger contents are malformed: a block has at most its target size of 8 KiB and one row more. */
static const uint64_t contents_bytes_max = (uint64_t)1 << 30;

static uint32_t crc32c(struct str bytes)
{
    static uint32_t table[256];
    if (table[1] == 0) {
        for (uint32_t i = 0; i < 256; i++) {
            uint32_t crc = i;
            for (int bit = 0; bit < 8; bit++) {
                crc = crc >> 1 ^ ((crc & 1) != 0 ? 0x82F63B78U : 0);
            }
            table[i] = crc;
        }
    }
    uint32_t crc = ~0U;
    for (size_t i = 0; i < bytes.len; i++) {
        crc = table[(crc ^ (uint8_t)bytes.data[i]) & 0xFF] ^ crc >> 8;
    }
    return ~crc;
}

uint32_t crc32c_masked(struct str bytes)
{
    uint32_t crc = crc32c(bytes);
    return (crc >> 15 | crc << 17) + 0xA282EAD8U;
}

struct block_handle block_handle_read(struct cursor *cursor)
{
    struct block_handle handle;
    handle.offset = cursor_varint(cursor);
    handle.size = cursor_varint(cursor);
    return handle;
}

/* RocksDB hashes all bytes but the last (the compression type), and mixes that in afterwards. */
static uint32_t xxh3_checksum(struct str bytes)
{
    uint32_t hash = (uint32_t)hash_64(str_make(bytes.data, bytes.len - 1));
    return hash ^ (uint8_t)bytes.data[bytes.len - 1] * 0x6B9083D9U;
}

bool block_is_intact(struct str stored, uint8_t checksum_type)
{
    if (stored.len < BLOCK_TRAILER_LEN) {
        return false;
    }
    struct str covered = str_make(stored.data, stored.len - 4);
    uint32_t expected = get_u32_le((const uint8_t *)stored.data + covered.len);
    switch (checksum_type) {
    case CHECKSUM_XXH3:
        return xxh3_checksum(covered) == expected;
    case CHECKSUM_CRC32C:
        return crc32c_masked(covered) == expected;
    default:
        return false;
    }
}

static bool correct(struct buf *stored, uint8_t checksum_type)
{
    for (size_t i = 0; i < stored->len * 8; i++) {
        stored->data[i / 8] ^= (char)(1 << i % 8);
        if (block_is_intact(buf_str(stored), checksum_type)) {
            return true;
        }
        stored->data[i / 8] ^= (char)(1 << i % 8);
    }
    return false;
}

enum block_result block_check(struct buf *stored, uint8_t checksum_type, size_t corrected_max)
{
    if (block_is_intact(buf_str(stored), checksum_type)) {
        return BLOCK_GOOD;
    }
    bool may_be_corrected = stored->len >= BLOCK_TRAILER_LEN && stored->len <= corrected_max;
    return may_be_corrected && correct(stored, checksum_type) ? BLOCK_CORRECTED : BLOCK_BAD;
}

/* Decompresses contents: their length as a varint, then one LZ4 block. */
static struct str decompress(struct str stored, struct buf *room)
{
    struct cursor cursor = cursor_make(stored);
    uint64_t len = cursor_varint(&cursor);
    if (cursor.is_bad || len > contents_bytes_max) {
        return STR_NULL;
    }
    room->len = 0;
    char *out = buf_reserve(room, (size_t)len + 1);
    int got =
        LZ4_decompress_safe((const char *)cursor.at, out, (int)cursor_left(&cursor), (int)len);
    return got >= 0 && (uint64_t)got == len ? str_make(out, (size_t)len) : STR_NULL;
}

struct str block_contents(struct str stored, struct buf *room)
{
    struct str contents = str_make(stored.data, stored.len - BLOCK_TRAILER_LEN);
    switch ((uint8_t)stored.data[contents.len]) {
    case COMPRESSION_NONE:
        return contents;
    case COMPRESSION_LZ4:
        return decompress(contents, room);
    default:
        return STR_NULL;
    }
}

/* Finds where the entries end. False: the footer is malformed. */
static bool entries_len(struct str contents, size_t *out)
{
    const uint8_t *data = (const uint8_t *)contents.data;
    if (contents.len < 4) {
        return false;
    }
    uint32_t footer = get_u32_le(data + contents.len - 4);
    uint64_t tail = 4 + (uint64_t)(footer & 0x7FFFFFFF) * 4;
    if ((footer & 0x80000000U) != 0) {
        if (contents.len < 6) {
            return false;
        }
        const uint8_t *count = data + contents.len - 6;
        tail += 2 + (uint64_t)(count[0] | count[1] << 8);
    }
    *out = contents.len - (size_t)MIN(tail, (uint64_t)contents.len);
    return tail <= contents.len;
}

void block_iter_init(struct block_iter *iter, struct str contents, bool has_delta_values)
{
    *iter = (struct block_iter){.has_delta_values = has_delta_values};
    size_t len = 0;
    iter->is_bad = str_is_null(contents) || !entries_len(contents, &len);
    iter->cursor = cursor_make(iter->is_bad ? STR("") : str_make(contents.data, len));
}

/* Reads the handle of a delta-encoded index entry. The first of a restart interval is complete;
 * each other block follows its predecessor, and its size is stored as a zigzag-encoded difference.
 */
static void read_handle(struct block_iter *iter, bool is_complete)
{
    if (is_complete) {
        iter->handle = block_handle_read(&iter->cursor);
        return;
    }
    uint64_t zigzag = cursor_varint(&iter->cursor);
    uint64_t difference = zigzag >> 1 ^ (~(zigzag & 1) + 1);
    iter->handle.offset += iter->handle.size + BLOCK_TRAILER_LEN;
    iter->handle.size += difference;
}

bool block_iter_next(struct block_iter *iter)
{
    struct cursor *cursor = &iter->cursor;
    if (iter->is_bad || cursor->at == cursor->end) {
        return false;
    }
    uint64_t shared = cursor_varint(cursor);
    uint64_t unshared = cursor_varint(cursor);
    uint64_t value_len = iter->has_delta_values ? 0 : cursor_varint(cursor);
    struct str rest = cursor_bytes(cursor, unshared);
    if (shared > iter->key.len || cursor->is_bad) {
        iter->is_bad = true;
        return false;
    }
    iter->key.len = (size_t)shared;
    buf_add(&iter->key, rest);
    if (iter->has_delta_values) {
        read_handle(iter, shared == 0);
    } else {
        iter->value = cursor_bytes(cursor, value_len);
    }
    iter->is_bad = cursor->is_bad;
    return !iter->is_bad;
}

void block_iter_finish(struct block_iter *iter)
{
    buf_finish(&iter->key);
}
