/* Fuzzes the encoding of keys. Input: two byte strings; the first byte is the length of the first
 * one. Properties: encoded keys have the order of the strings; the range of a prefix contains
 * exactly the strings that start with it. */
#include "codec/row_key.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct str grouped(struct arena *arena, struct str bytes)
{
    struct key_writer writer;
    key_start(&writer, arena, 7);
    key_add_grouped(&writer, bytes);
    key_add_bytes(&writer, STR("tail"));
    return key_finish(&writer);
}

static int sign(int number)
{
    return (number > 0) - (number < 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0 || size > 1024) {
        return 0;
    }
    struct str rest = str_make(data + 1, size - 1);
    size_t len = MIN((size_t)data[0], rest.len);
    struct str a = str_make(rest.data, len);
    struct str b = str_skip(rest, len);
    struct arena arena;
    arena_init(&arena);
    struct str key_a = grouped(&arena, a);
    struct str key_b = grouped(&arena, b);
    assert(sign(str_cmp(key_a, key_b)) == sign(str_cmp(a, b)));

    struct key_writer writer;
    key_start(&writer, &arena, 7);
    key_add_grouped(&writer, b);
    struct str lo = key_finish(&writer);
    key_start(&writer, &arena, 7);
    key_add_grouped_prefix(&writer, b);
    struct str hi = key_after_prefix(&arena, key_finish(&writer));
    bool inside = str_cmp(key_a, lo) >= 0 && str_cmp(key_a, hi) < 0;
    assert(inside == str_starts_with(a, b));
    arena_finish(&arena);
    return 0;
}
