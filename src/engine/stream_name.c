/* Names of streams and shards, sequence numbers, and keys of records. On any thread. */
#include <stdio.h>
#include <time.h>

#include "base/bytes.h"
#include "engine/engine_internal.h"
#include "engine/stream_internal.h"

struct str stream_label(struct arena *arena, int64_t since_ms)
{
    time_t seconds = (time_t)(since_ms / 1000);
    struct tm utc;
    gmtime_r(&seconds, &utc);
    char label[40];
    size_t len = strftime(label, sizeof(label), "%Y-%m-%dT%H:%M:%S", &utc);
    snprintf(label + len, sizeof(label) - len, ".%03d", (int)(since_ms % 1000));
    return arena_copy(arena, str_from_c(label));
}

static struct str arn_prefix(struct engine *engine, struct arena *arena)
{
    return arena_format(arena, "arn:aws:dynamodb:%.*s:%.*s:", STR_ARG(engine->region),
                        STR_ARG(engine->account));
}

struct str stream_arn(struct engine *engine, struct arena *arena, struct str path)
{
    struct str prefix = arn_prefix(engine, arena);
    return arena_format(arena, "%.*s%.*s", STR_ARG(prefix), STR_ARG(path));
}

struct str stream_arn_path(struct engine *engine, struct str arn)
{
    struct arena arena;
    arena_init(&arena);
    struct str prefix = arn_prefix(engine, &arena);
    struct str path = str_starts_with(arn, prefix) ? str_skip(arn, prefix.len) : STR_NULL;
    arena_finish(&arena);
    return path;
}

/* --- shards --- */

uint64_t stream_epoch_at(const struct stream *stream, int64_t time_ms)
{
    int64_t age_ms = time_ms - stream->since_ms;
    return age_ms < 0 ? 0 : (uint64_t)(age_ms / stream->shard_ms);
}

int64_t stream_epoch_start_ms(const struct stream *stream, uint64_t epoch)
{
    return stream->since_ms + (int64_t)epoch * stream->shard_ms;
}

#define SHARD_PREFIX "shardId-"
enum { SHARD_TIME_DIGITS = 20, SHARD_SLOT_DIGITS = 8 };

struct str stream_shard_id(struct arena *arena, const struct stream *stream,
                           struct stream_shard shard)
{
    return arena_format(arena, SHARD_PREFIX "%020lld-%08x",
                        (long long)stream_epoch_start_ms(stream, shard.epoch), shard.slot);
}

static bool parse_digits(struct str text, unsigned base, uint64_t *out)
{
    uint64_t number = 0;
    for (size_t i = 0; i < text.len; i++) {
        char c = text.data[i];
        unsigned digit = c >= '0' && c <= '9'   ? (unsigned)(c - '0')
                         : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a' + 10)
                                                : 16;
        if (digit >= base || number > (UINT64_MAX - digit) / base) {
            return false;
        }
        number = number * base + digit;
    }
    *out = number;
    return text.len > 0;
}

bool stream_shard_parse(const struct stream *stream, struct str id, struct stream_shard *out)
{
    size_t prefix = sizeof(SHARD_PREFIX) - 1;
    uint64_t start_ms;
    uint64_t slot;
    if (id.len != prefix + SHARD_TIME_DIGITS + 1 + SHARD_SLOT_DIGITS ||
        !str_starts_with(id, STR(SHARD_PREFIX)) || id.data[prefix + SHARD_TIME_DIGITS] != '-' ||
        !parse_digits(str_make(id.data + prefix, SHARD_TIME_DIGITS), 10, &start_ms) ||
        !parse_digits(str_skip(id, prefix + SHARD_TIME_DIGITS + 1), 16, &slot)) {
        return false;
    }
    int64_t age_ms = start_ms > INT64_MAX ? -1 : (int64_t)start_ms - stream->since_ms;
    if (age_ms < 0 || age_ms % stream->shard_ms != 0 || slot >= stream->shard_count) {
        return false;
    }
    *out = (struct stream_shard){(uint64_t)(age_ms / stream->shard_ms), (uint32_t)slot};
    return true;
}

/* --- sequence numbers --- */

struct str stream_sequence(struct arena *arena, uint64_t epoch, uint64_t stamp)
{
    return arena_format(arena, "%llu%020llu", (unsigned long long)epoch + 1,
                        (unsigned long long)stamp);
}

struct str stream_last_sequence(struct arena *arena, uint64_t epoch)
{
    return arena_format(arena, "%llu99999999999999999999", (unsigned long long)epoch + 1);
}

bool stream_sequence_parse(struct str text, uint64_t *out_epoch, uint64_t *out_stamp)
{
    if (text.len <= STREAM_STAMP_DIGITS) {
        return false;
    }
    size_t head = text.len - STREAM_STAMP_DIGITS;
    uint64_t number;
    for (size_t i = head; i < text.len; i++) {
        if (text.data[i] < '0' || text.data[i] > '9') {
            return false;
        }
    }
    if (!parse_digits(str_make(text.data, head), 10, &number) || number == 0) {
        return false;
    }
    if (!parse_digits(str_skip(text, head), 10, out_stamp)) {
        *out_stamp = UINT64_MAX;
    }
    *out_epoch = number - 1;
    return true;
}

/* --- rows --- */

struct str stream_record_key(struct arena *arena, uint32_t space, struct stream_shard shard,
                             uint64_t stamp)
{
    uint8_t *key = (uint8_t *)arena_bytes(arena, STORE_PREFIX_LEN + STREAM_STAMP_LEN);
    put_u32_be(key, space);
    put_u64_be(key + STORE_SPACE_LEN, shard.epoch);
    put_u64_be(key + STORE_SPACE_LEN + 8, shard.slot);
    put_u64_be(key + STORE_PREFIX_LEN, stamp);
    return str_make(key, STORE_PREFIX_LEN + STREAM_STAMP_LEN);
}

struct str stream_prefix(struct arena *arena, uint32_t space, struct stream_shard shard)
{
    return str_make(stream_record_key(arena, space, shard, 0).data, STORE_PREFIX_LEN);
}

struct str stream_log(struct arena *arena, uint32_t space, uint32_t slot)
{
    return stream_prefix(arena, space, (struct stream_shard){0, slot});
}

struct stream_shard stream_key_shard(struct str key)
{
    const uint8_t *part = (const uint8_t *)key.data + STORE_SPACE_LEN;
    return (struct stream_shard){get_u64_be(part), (uint32_t)get_u64_be(part + 8)};
}

uint64_t stream_key_stamp(struct str key)
{
    assert(key.len == STORE_PREFIX_LEN + STREAM_STAMP_LEN);
    return get_u64_be((const uint8_t *)key.data + STORE_PREFIX_LEN);
}

struct str stream_trim_key(struct arena *arena, uint32_t space, uint32_t slot)
{
    return stream_prefix(arena, space, (struct stream_shard){UINT64_MAX, slot});
}

void stream_trim_range(struct store_range *range, struct arena *arena, uint32_t space)
{
    range->lo = stream_trim_key(arena, space, 0);
    range->hi = key_after_prefix(arena, str_make(range->lo.data, STORE_SPACE_LEN));
}

enum { TRIM_VERSION = 1, TRIM_LEN = 1 + 8 + 8 };

struct str stream_trim_row(struct arena *arena, struct stream_trimmed trimmed)
{
    uint8_t *row = (uint8_t *)arena_bytes(arena, TRIM_LEN);
    row[0] = TRIM_VERSION;
    put_u64_be(row + 1, trimmed.epoch);
    put_u64_be(row + 9, trimmed.stamp);
    return str_make(row, TRIM_LEN);
}

bool stream_is_trim(struct str row)
{
    return row.len == TRIM_LEN && row.data[0] == TRIM_VERSION;
}

struct stream_trimmed stream_trim_decode(struct str row)
{
    if (str_is_null(row)) {
        return (struct stream_trimmed){0};
    }
    const uint8_t *data = (const uint8_t *)row.data;
    assert(stream_is_trim(row));
    return (struct stream_trimmed){.epoch = get_u64_be(data + 1), .stamp = get_u64_be(data + 9)};
}
