/* Checks, decompresses and reads blocks of RocksDB's SST files: see sst_block.h. Called by
 * sst_file.c, on the threads of checks, repairs and backups, of the scrubber and of the committer.
 */
#include "store/image/sst_block.h"

#include <lz4.h>
#include <pthread.h>

#include "base/bytes.h"
#include "base/hash.h"

enum { CHECKSUM_CRC32C = 1, CHECKSUM_XXH3 = 4 };
enum { COMPRESSION_NONE = 0, COMPRESSION_LZ4 = 4 };
/* Larger contents are malformed: a block has at most its target size of 8 KiB and one row more. */
static const uint64_t contents_bytes_max = (uint64_t)1 << 30;

static uint32_t crc32c_table[256];
static pthread_once_t crc32c_once = PTHREAD_ONCE_INIT;

static void fill_crc32c_table(void)
{
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t crc = i;
        for (int bit = 0; bit < 8; bit++) {
            crc = crc >> 1 ^ ((crc & 1) != 0 ? 0x82F63B78U : 0);
        }
        crc32c_table[i] = crc;
    }
}

static uint32_t crc32c(struct str bytes)
{
    pthread_once(&crc32c_once, fill_crc32c_table);
    uint32_t crc = ~0U;
    for (size_t i = 0; i < bytes.len; i++) {
        crc = crc32c_table[(crc ^ (uint8_t)bytes.data[i]) & 0xFF] ^ crc >> 8;
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

/* Computes the checksum of contents and compression type. False: the kind is not known. */
static bool checksum_of(struct str covered, uint8_t checksum_type, uint32_t *out)
{
    switch (checksum_type) {
    case CHECKSUM_XXH3:
        *out = xxh3_checksum(covered);
        return true;
    case CHECKSUM_CRC32C:
        *out = crc32c_masked(covered);
        return true;
    default:
        return false;
    }
}

bool block_is_intact(struct str stored, uint8_t checksum_type)
{
    if (stored.len < BLOCK_TRAILER_LEN) {
        return false;
    }
    struct str covered = str_make(stored.data, stored.len - 4);
    uint32_t checksum;
    return checksum_of(covered, checksum_type, &checksum) &&
           checksum == get_u32_le((const uint8_t *)stored.data + covered.len);
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
        tail += 2 + (uint64_t)get_u16_le(data + contents.len - 6);
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

static void add_varint(struct buf *out, uint64_t number)
{
    for (; number >= 0x80; number >>= 7) {
        buf_add_char(out, (char)(number | 0x80));
    }
    buf_add_char(out, (char)number);
}

/* Adds a number as a varint of five bytes, so that its length does not depend on the number. */
static void add_long_varint(struct buf *out, uint32_t number)
{
    for (int shift = 0; shift < 28; shift += 7) {
        buf_add_char(out, (char)((number >> shift & 0x7F) | 0x80));
    }
    buf_add_char(out, (char)(number >> 28));
}

static void add_zeroes(struct buf *out, size_t count)
{
    memset(buf_reserve(out, count), 0, count);
    buf_added(out, count);
}

bool block_make_filler(struct buf *out, uint64_t size, uint8_t checksum_type, struct str key)
{
    enum { TAIL_LEN = 8 /* sequence number and type */, END_LEN = 8 /* one restart, footer */ };
    out->len = 0;
    add_varint(out, 0); /* nothing is shared with a key before it */
    add_varint(out, key.len + TAIL_LEN);
    uint64_t others = out->len + 5 + key.len + TAIL_LEN + END_LEN;
    if (size <= others || size - others > UINT32_MAX) {
        return false;
    }
    uint32_t value_len = (uint32_t)(size - others);
    add_long_varint(out, value_len);
    buf_add(out, key);
    add_zeroes(out, TAIL_LEN); /* sequence number 0, a deletion */
    add_zeroes(out, value_len);
    char end[END_LEN] = {0};
    put_u32_le(end + 4, 1);
    buf_add(out, str_make(end, sizeof(end)));
    assert(out->len == size);
    buf_add_char(out, COMPRESSION_NONE);
    uint32_t checksum;
    if (!checksum_of(buf_str(out), checksum_type, &checksum)) {
        return false;
    }
    put_u32_le(buf_reserve(out, 4), checksum);
    buf_added(out, 4);
    assert(block_is_intact(buf_str(out), checksum_type));
    return true;
}
