/* Row keys of items and index entries. Called by src/engine for every read and write, on the thread
 * of the call or, for index entries, in evals. Keeps no state. */
#include "codec/row_key.h"

#include "base/bytes.h"
#include "base/hash.h"

void key_start(struct key_writer *writer, struct arena *arena, uint32_t space)
{
    writer->arena = arena;
    writer->data = (uint8_t *)arena_bytes(arena, KEY_BYTES_MAX);
    put_u32_be(writer->data, space);
    writer->len = KEY_SPACE_LEN;
}

struct str key_finish(struct key_writer *writer)
{
    arena_trim(writer->arena, (char *)writer->data, KEY_BYTES_MAX, writer->len);
    return str_make(writer->data, writer->len);
}

/* A single value is hashed as its type and bytes; several values each with their length, too. */
void key_add_hash(struct key_writer *writer, uint64_t seed, const struct value *values,
                  size_t count)
{
    struct arena_mark mark = arena_mark(writer->arena);
    size_t size = 0;
    for (size_t i = 0; i < count; i++) {
        size += 5 + value_bytes(values[i]).len;
    }
    char *input = arena_bytes(writer->arena, size);
    size_t len = 0;
    for (size_t i = 0; i < count; i++) {
        struct str bytes = value_bytes(values[i]);
        input[len++] = (char)value_type(values[i]);
        if (count > 1) {
            put_u32_le(input + len, (uint32_t)bytes.len);
            len += 4;
        }
        memcpy(input + len, bytes.data, bytes.len);
        len += bytes.len;
    }
    hash_128(str_make(input, len), seed, writer->data + writer->len);
    writer->len += KEY_HASH_LEN;
    arena_rewind(writer->arena, mark);
}

void key_add_bytes(struct key_writer *writer, struct str bytes)
{
    assert(writer->len + bytes.len <= KEY_BYTES_MAX);
    memcpy(writer->data + writer->len, bytes.data, bytes.len);
    writer->len += bytes.len;
}

void key_add_grouped(struct key_writer *writer, struct str bytes)
{
    size_t at = 0;
    do {
        size_t count = MIN(bytes.len - at, (size_t)8);
        uint8_t *group = writer->data + writer->len;
        assert(writer->len + 9 <= KEY_BYTES_MAX);
        memset(group, 0, 8);
        memcpy(group, bytes.data + at, count);
        at += count;
        group[8] = (uint8_t)(at < bytes.len ? 9 : count);
        writer->len += 9;
    } while (at < bytes.len);
}

void key_add_grouped_prefix(struct key_writer *writer, struct str bytes)
{
    key_add_grouped(writer, bytes);
    size_t last = bytes.len == 0 ? 0 : (bytes.len - 1) % 8 + 1;
    writer->len -= 9 - last;
}

struct str key_after_prefix(struct arena *arena, struct str prefix)
{
    struct str after = arena_copy(arena, prefix);
    while (after.len > 0) {
        uint8_t *last = (uint8_t *)after.data + after.len - 1;
        if (*last != 0xFF) {
            (*last)++;
            return after;
        }
        after.len--;
    }
    return STR_NULL;
}

struct str key_of_item(struct arena *arena, uint64_t seed, uint32_t space, struct value hash,
                       struct value sort)
{
    struct key_writer writer;
    key_start(&writer, arena, space);
    key_add_hash(&writer, seed, &hash, 1);
    if (!value_is_absent(sort)) {
        key_add_bytes(&writer, value_bytes(sort));
    }
    return key_finish(&writer);
}
