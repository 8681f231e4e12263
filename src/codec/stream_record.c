/* Encodes and decodes stream records. Called when src/engine writes items of tables with a stream,
 * and for GetRecords. */
#include "codec/stream_record.h"

#include "base/bytes.h"

enum { RECORD_VERSION = 1, RECORD_HEAD_LEN = 1 + 1 + 8 + 4 };
enum { EVENT_MASK = 3, FLAG_BY_SERVICE = 4, FLAG_OLD = 8, FLAG_NEW = 16, FLAG_MICROS = 32 };
enum { MICROS_LEN = 4 };

static uint8_t *add_value(uint8_t *at, struct value value)
{
    if (value.len > 0) {
        memcpy(at, value.data, value.len);
    }
    return at + value.len;
}

struct str stream_record_encode(struct arena *arena, const struct stream_record *record)
{
    size_t head = RECORD_HEAD_LEN + (record->has_micros ? MICROS_LEN : 0);
    size_t len = head + record->keys.len + record->old_image.len + record->new_image.len;
    uint8_t *data = (uint8_t *)arena_bytes(arena, len);
    data[0] = RECORD_VERSION;
    data[1] = (uint8_t)((unsigned)record->event | (record->by_expiry ? FLAG_BY_SERVICE : 0) |
                        (value_is_absent(record->old_image) ? 0 : FLAG_OLD) |
                        (value_is_absent(record->new_image) ? 0 : FLAG_NEW) |
                        (record->has_micros ? FLAG_MICROS : 0));
    put_u64_le(data + 2, (uint64_t)record->time_ms);
    put_u32_le(data + 10, (uint32_t)record->size);
    if (record->has_micros) {
        put_u32_le(data + RECORD_HEAD_LEN, record->micros);
    }
    uint8_t *at = add_value(data + head, record->keys);
    at = add_value(at, record->old_image);
    add_value(at, record->new_image);
    return str_make(data, len);
}

static const uint8_t *take_value(const uint8_t *at, struct value *out)
{
    *out = value_at(at);
    return at + out->len;
}

struct stream_record stream_record_decode(struct str bytes)
{
    const uint8_t *data = (const uint8_t *)bytes.data;
    assert(bytes.len > RECORD_HEAD_LEN && data[0] == RECORD_VERSION);
    struct stream_record record = {
        .event = (enum stream_event)(data[1] & EVENT_MASK),
        .by_expiry = (data[1] & FLAG_BY_SERVICE) != 0,
        .time_ms = (int64_t)get_u64_le(data + 2),
        .size = get_u32_le(data + 10),
        .has_micros = (data[1] & FLAG_MICROS) != 0,
    };
    const uint8_t *at = data + RECORD_HEAD_LEN;
    if (record.has_micros) {
        record.micros = get_u32_le(at);
        at += MICROS_LEN;
    }
    at = take_value(at, &record.keys);
    if ((data[1] & FLAG_OLD) != 0) {
        at = take_value(at, &record.old_image);
    }
    if ((data[1] & FLAG_NEW) != 0) {
        at = take_value(at, &record.new_image);
    }
    assert(at == data + bytes.len);
    return record;
}
