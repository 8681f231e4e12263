/* Fuzzes shard iterators, shard ids and sequence numbers. Input: a text that is parsed as each of
 * them; and numbers of which an iterator is made. Properties: a text that can be parsed is written
 * as the same text; an iterator can be read after it was written, and is refused if any byte was
 * changed. */
#include "base/bytes.h"
#include "engine/stream.h"
#include "engine/stream_iterator.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const uint64_t seed = 0x9E3779B97F4A7C15;

static void check_text(struct arena *arena, struct str text)
{
    struct stream_iterator iterator;
    if (stream_iterator_read(text, seed, arena, &iterator)) {
        assert(str_eq(stream_iterator_write(arena, seed, &iterator), text));
    }
    static const struct stream stream = {.since_ms = 5, .shard_ms = 10, .shard_count = 3};
    struct stream_shard shard;
    if (stream_shard_parse(&stream, text, &shard)) {
        assert(str_eq(stream_shard_id(arena, &stream, shard), text));
    }
    uint64_t epoch;
    uint64_t stamp;
    if (stream_sequence_parse(text, &epoch, &stamp) && stamp < UINT64_MAX && text.data[0] != '0') {
        assert(str_eq(stream_sequence(arena, epoch, stamp), text));
    }
}

static uint64_t take(const uint8_t **at)
{
    uint64_t number = get_u64_le(*at);
    *at += sizeof(number);
    return number;
}

/* Input of a new iterator: four numbers, the position and value of a changed byte; the rest is the
 * ARN. */
enum { NUMBERS_LEN = 4 * 8 + 2 + 1 };

static void check_made(struct arena *arena, const uint8_t *data, size_t size)
{
    const uint8_t *at = data;
    struct stream_iterator made = {.epoch = take(&at)};
    made.slot = (uint32_t)take(&at);
    made.position = take(&at);
    made.made_ms = (int64_t)take(&at);
    made.arn = str_make(data + NUMBERS_LEN, size - NUMBERS_LEN);
    struct str text = stream_iterator_write(arena, seed, &made);
    struct stream_iterator back;
    bool is_read = stream_iterator_read(text, seed, arena, &back);
    assert(is_read);
    assert(str_eq(back.arn, made.arn) && back.epoch == made.epoch && back.slot == made.slot &&
           back.position == made.position && back.made_ms == made.made_ms);
    size_t where = get_u16_le(at) % text.len;
    if (at[2] != 0) {
        ((char *)text.data)[where] ^= (char)at[2];
        is_read = stream_iterator_read(text, seed, arena, &back);
        assert(!is_read);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0 || size > 4096) {
        return 0;
    }
    struct arena arena;
    arena_init(&arena);
    check_text(&arena, str_make(data, size));
    if (size > NUMBERS_LEN) {
        check_made(&arena, data, size);
    }
    arena_finish(&arena);
    return 0;
}
