/* Encodes and decodes segment headers and records, and corrects single flipped bits. A record has
 * two checksums. XXH3-64 proves that it is intact. CRC-32 is linear, so the difference between the
 * stored and the computed value shows which single bit was flipped. */
#include "store/wal/wal_format.h"

#include <libdeflate.h>

#include "base/bytes.h"
#include "base/hash.h"

static const char header_magic[] = "GRAMMEWL";
enum { HEADER_VERSION = 1 };
static const uint32_t record_magic = 0x4C525747; /* "GWRL" */

/* Offsets in the header of a segment. */
enum {
    HEADER_AT_VERSION = 8,
    HEADER_AT_BLOCK = 12,
    HEADER_AT_STORE_ID = 16,
    HEADER_AT_NUMBER = 32,
    HEADER_AT_SIZE = 40,
    HEADER_AT_FIRST = 48,
    HEADER_AT_PREVIOUS = 56,
    HEADER_AT_SALT = 64,
    HEADER_END = 72
};
static_assert(sizeof(header_magic) - 1 == HEADER_AT_VERSION, "the magic ends before the version");
static_assert(HEADER_AT_STORE_ID + STORE_ID_LEN == HEADER_AT_NUMBER, "then comes the number");
static_assert(HEADER_END + CHECKSUM_LEN <= WAL_HEADER_LEN, "the checksum ends the header");
static_assert((int)WAL_HEADER_LEN <= (int)WAL_BLOCK_BYTES, "a header is in the first block");

/* Offsets in a record's header. */
enum {
    AT_MAGIC = 0,
    AT_CRC = 4, /* of all that follows it */
    AT_NUMBER = 8,
    AT_SALT = 16,
    AT_PREVIOUS = 24,
    AT_LENGTH = 32,
    AT_ZERO = 36,
    AT_CHECKSUM = 40 /* of bytes 8 to 39 and the payload */
};
static_assert(AT_CHECKSUM + 8 == WAL_RECORD_HEADER_LEN, "the payload follows the checksum");
static_assert((int)WAL_RECORD_HEADER_LEN < (int)WAL_BLOCK_BYTES, "a block holds a header");

void wal_header_encode(const struct wal_header *header, uint8_t out[WAL_HEADER_LEN])
{
    memset(out, 0, WAL_HEADER_LEN);
    memcpy(out, header_magic, 8);
    put_u32_le(out + HEADER_AT_VERSION, HEADER_VERSION);
    put_u32_le(out + HEADER_AT_BLOCK, WAL_BLOCK_BYTES);
    memcpy(out + HEADER_AT_STORE_ID, header->store_id, STORE_ID_LEN);
    put_u64_le(out + HEADER_AT_NUMBER, header->number);
    put_u64_le(out + HEADER_AT_SIZE, header->size_bytes);
    put_u64_le(out + HEADER_AT_FIRST, header->first);
    put_u64_le(out + HEADER_AT_PREVIOUS, header->previous);
    put_u64_le(out + HEADER_AT_SALT, header->salt);
    checksum_write(out, WAL_HEADER_LEN);
}

bool wal_header_decode(uint8_t bytes[WAL_HEADER_LEN], struct wal_header *out, bool *out_corrected)
{
    enum checksum_result check = checksum_check(bytes, WAL_HEADER_LEN);
    if (check == CHECKSUM_BAD || memcmp(bytes, header_magic, 8) != 0 ||
        get_u32_le(bytes + HEADER_AT_VERSION) != HEADER_VERSION ||
        get_u32_le(bytes + HEADER_AT_BLOCK) != WAL_BLOCK_BYTES) {
        return false;
    }
    memcpy(out->store_id, bytes + HEADER_AT_STORE_ID, STORE_ID_LEN);
    out->number = get_u64_le(bytes + HEADER_AT_NUMBER);
    out->size_bytes = get_u64_le(bytes + HEADER_AT_SIZE);
    out->first = get_u64_le(bytes + HEADER_AT_FIRST);
    out->previous = get_u64_le(bytes + HEADER_AT_PREVIOUS);
    out->salt = get_u64_le(bytes + HEADER_AT_SALT);
    *out_corrected = check == CHECKSUM_CORRECTED;
    return true;
}

static uint64_t record_checksum(const uint8_t *header, struct str payload)
{
    struct str covered = str_make((const char *)header + AT_NUMBER, AT_CHECKSUM - AT_NUMBER);
    return hash_64_seeded(payload, hash_64(covered));
}

static uint32_t record_crc(const uint8_t *header, struct str payload)
{
    uint32_t crc =
        libdeflate_crc32(0, header + AT_NUMBER, WAL_RECORD_HEADER_LEN - (size_t)AT_NUMBER);
    return libdeflate_crc32(crc, payload.data, payload.len);
}

uint64_t wal_record_encode(struct wal_record record, struct str payload,
                           uint8_t out[WAL_RECORD_HEADER_LEN])
{
    assert(payload.len <= UINT32_MAX);
    put_u32_le(out + AT_MAGIC, record_magic);
    put_u64_le(out + AT_NUMBER, record.number);
    put_u64_le(out + AT_SALT, record.salt);
    put_u64_le(out + AT_PREVIOUS, record.previous);
    put_u32_le(out + AT_LENGTH, (uint32_t)payload.len);
    put_u32_le(out + AT_ZERO, 0);
    uint64_t checksum = record_checksum(out, payload);
    put_u64_le(out + AT_CHECKSUM, checksum);
    put_u32_le(out + AT_CRC, record_crc(out, payload));
    return checksum;
}

/* Verifies the XXH3 checksum only, with the length in the header. */
static bool decode_checked(const uint8_t *bytes, size_t len, uint64_t salt, struct wal_found *out)
{
    uint64_t payload_len = get_u32_le(bytes + AT_LENGTH);
    if (payload_len > len - WAL_RECORD_HEADER_LEN || get_u64_le(bytes + AT_SALT) != salt) {
        return false;
    }
    struct str payload = str_make((const char *)bytes + WAL_RECORD_HEADER_LEN, payload_len);
    uint64_t checksum = record_checksum(bytes, payload);
    if (checksum != get_u64_le(bytes + AT_CHECKSUM)) {
        return false;
    }
    *out = (struct wal_found){
        .record = {.number = get_u64_le(bytes + AT_NUMBER),
                   .salt = salt,
                   .previous = get_u64_le(bytes + AT_PREVIOUS)},
        .payload = payload,
        .checksum = checksum,
    };
    return true;
}

bool wal_record_decode(struct str bytes, uint64_t salt, struct wal_found *out)
{
    const uint8_t *at = (const uint8_t *)bytes.data;
    return bytes.len >= WAL_RECORD_HEADER_LEN && get_u32_le(at + AT_MAGIC) == record_magic &&
           decode_checked(at, bytes.len, salt, out) &&
           record_crc(at, out->payload) == get_u32_le(at + AT_CRC);
}

/* One step of the reflected CRC-32 with a zero bit. */
static uint32_t crc_shift(uint32_t crc)
{
    return (crc >> 1) ^ (0xEDB88320U & (0U - (crc & 1)));
}

/* A bit that was flipped t steps before the end changes the CRC to t shifts of the value 1. False:
 * no single bit among the last `bit_count` explains the difference. */
static bool locate_bit(uint32_t difference, uint64_t bit_count, uint64_t *out_steps)
{
    uint32_t crc = 1;
    for (uint64_t steps = 1; steps <= bit_count; steps++) {
        crc = crc_shift(crc);
        if (crc == difference) {
            *out_steps = steps;
            return true;
        }
    }
    return false;
}

/* Corrects a bit that the CRC covers, with the length in the header. */
static bool correct_covered(uint8_t *bytes, size_t len, uint64_t salt, struct wal_found *out)
{
    uint64_t payload_len = get_u32_le(bytes + AT_LENGTH);
    if (payload_len > len - WAL_RECORD_HEADER_LEN) {
        return false;
    }
    struct str payload = str_make((const char *)bytes + WAL_RECORD_HEADER_LEN, payload_len);
    uint32_t difference = record_crc(bytes, payload) ^ get_u32_le(bytes + AT_CRC);
    uint64_t end = WAL_RECORD_HEADER_LEN + payload_len;
    uint64_t steps;
    if (!locate_bit(difference, 8 * (end - AT_NUMBER), &steps)) {
        return false;
    }
    uint64_t bytes_before_end = (steps + 7) / 8;
    uint8_t mask = (uint8_t)(1U << (8 * bytes_before_end - steps));
    bytes[end - bytes_before_end] ^= mask;
    if (decode_checked(bytes, len, salt, out)) {
        return true;
    }
    bytes[end - bytes_before_end] ^= mask;
    return false;
}

/* Corrects a bit of the length, for which checksums are computed over the wrong bytes: tries each.
 */
static bool correct_length(uint8_t *bytes, size_t len, uint64_t salt, struct wal_found *out)
{
    uint32_t length = get_u32_le(bytes + AT_LENGTH);
    for (int bit = 0; bit < 32; bit++) {
        put_u32_le(bytes + AT_LENGTH, length ^ 1U << bit);
        if (decode_checked(bytes, len, salt, out)) {
            return true;
        }
    }
    put_u32_le(bytes + AT_LENGTH, length);
    return false;
}

/* Returns how many bits differ from the expected header, without length and checksums, which are
 * not known. */
static int header_difference(const uint8_t *bytes, struct wal_record expected)
{
    return __builtin_popcountll(get_u64_le(bytes + AT_NUMBER) ^ expected.number) +
           __builtin_popcountll(get_u64_le(bytes + AT_SALT) ^ expected.salt) +
           __builtin_popcountll(get_u64_le(bytes + AT_PREVIOUS) ^ expected.previous) +
           __builtin_popcount(get_u32_le(bytes + AT_MAGIC) ^ record_magic);
}

bool wal_record_correct(uint8_t *bytes, size_t len, struct wal_record expected,
                        struct wal_found *out)
{
    if (len < WAL_RECORD_HEADER_LEN || header_difference(bytes, expected) > 1) {
        return false;
    }
    uint64_t salt = expected.salt;
    bool good = decode_checked(bytes, len, salt, out) || /* it was in the magic or the CRC */
                correct_length(bytes, len, salt, out) || correct_covered(bytes, len, salt, out);
    if (good) {
        put_u32_le(bytes + AT_MAGIC, record_magic);
        put_u32_le(bytes + AT_CRC, record_crc(bytes, out->payload));
    }
    return good && out->record.number == expected.number &&
           out->record.previous == expected.previous;
}
