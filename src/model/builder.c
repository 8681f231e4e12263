/* Builds values. Called where requests are decoded (src/wire), where expressions are evaluated
 * (src/expr) and where items are changed. */
#include "model/builder.h"

#include "base/bytes.h"

#include <stdlib.h>

void builder_init(struct builder *builder, struct arena *arena, size_t capacity)
{
    capacity = MAX(capacity, (size_t)64);
    *builder = (struct builder){
        .arena = arena,
        .data = (uint8_t *)arena_bytes(arena, capacity),
        .capacity = capacity,
    };
}

struct value builder_finish(struct builder *builder)
{
    arena_trim(builder->arena, (char *)builder->data, builder->capacity, builder->len);
    return (struct value){builder->data, builder->len};
}

static uint8_t *reserve(struct builder *builder, size_t extra)
{
    if (UNLIKELY(builder->capacity - builder->len < extra)) {
        size_t capacity = MAX(builder->capacity * 2, builder->len + extra);
        uint8_t *data = (uint8_t *)arena_bytes(builder->arena, capacity);
        memcpy(data, builder->data, builder->len);
        builder->data = data;
        builder->capacity = capacity;
    }
    return builder->data + builder->len;
}

static uint8_t *put_varint(uint8_t *at, uint32_t number)
{
    while (number >= 0x80) {
        *at++ = (uint8_t)(number | 0x80);
        number >>= 7;
    }
    *at++ = (uint8_t)number;
    return at;
}

enum { VARINT_MAX = 5 };

static void add_scalar(struct builder *builder, uint8_t tag, struct str bytes)
{
    uint8_t *at = reserve(builder, 1 + VARINT_MAX + bytes.len);
    uint8_t *start = at;
    *at++ = tag;
    at = put_varint(at, (uint32_t)bytes.len);
    if (bytes.len > 0) {
        memcpy(at, bytes.data, bytes.len);
    }
    builder->len += (size_t)(at - start) + bytes.len;
}

void builder_add_text(struct builder *builder, struct str text, bool plain)
{
    add_scalar(builder, VALUE_S | (plain ? VALUE_FLAG : 0), text);
}

void builder_add_string(struct builder *builder, struct str text)
{
    builder_add_text(builder, text, value_text_is_plain(text));
}

void builder_add_number(struct builder *builder, struct str bytes)
{
    add_scalar(builder, VALUE_N, bytes);
}

void builder_add_int64(struct builder *builder, int64_t number)
{
    struct number encoded;
    number_from_int64(number, &encoded);
    builder_add_number(builder, number_str(&encoded));
}

void builder_add_binary(struct builder *builder, struct str bytes)
{
    add_scalar(builder, VALUE_B, bytes);
}

static void add_tag(struct builder *builder, uint8_t tag)
{
    *reserve(builder, 1) = tag;
    builder->len++;
}

void builder_add_null(struct builder *builder)
{
    add_tag(builder, VALUE_NULL);
}

void builder_add_bool(struct builder *builder, bool truth)
{
    add_tag(builder, VALUE_BOOL | (truth ? VALUE_FLAG : 0));
}

void builder_add_value(struct builder *builder, struct value value)
{
    memcpy(reserve(builder, value.len), value.data, value.len);
    builder->len += value.len;
}

void builder_add_raw(struct builder *builder, const uint8_t *from, const uint8_t *to)
{
    size_t len = (size_t)(to - from);
    memcpy(reserve(builder, len), from, len);
    builder->len += len;
}

void builder_add_name(struct builder *builder, struct str name, bool plain)
{
    uint8_t *at = reserve(builder, VARINT_MAX + name.len);
    uint8_t *start = at;
    at = put_varint(at, (uint32_t)name.len << 1 | (plain ? 1 : 0));
    if (name.len > 0) {
        memcpy(at, name.data, name.len);
    }
    builder->len += (size_t)(at - start) + name.len;
}

void builder_add_key(struct builder *builder, struct str name)
{
    builder_add_name(builder, name, value_text_is_plain(name));
}

size_t builder_open(struct builder *builder, enum value_type type)
{
    size_t open = builder->len;
    reserve(builder, VALUE_CONTAINER_HEAD)[0] = (uint8_t)type;
    builder->len += VALUE_CONTAINER_HEAD;
    return open;
}

void builder_close_list(struct builder *builder, size_t open, uint32_t count)
{
    put_u32_le(builder->data + open + 1, (uint32_t)(builder->len - open - 5));
    put_u32_le(builder->data + open + 5, count);
}

void builder_close_sorted(struct builder *builder, size_t open, uint32_t count)
{
    builder_close_list(builder, open, count);
}

/* An entry of a map or an element of a set while they are sorted. */
struct entry {
    struct str key;
    struct str all; /* all bytes of the entry */
};

/* Equal keys stay in the order in which they were written. */
static int entry_cmp(const void *a, const void *b)
{
    const struct entry *left = a;
    const struct entry *right = b;
    int order = str_cmp(left->key, right->key);
    return order != 0 ? order : left->all.data < right->all.data ? -1 : 1;
}

static bool entries_are_sorted(const struct entry *entries, uint32_t count)
{
    for (uint32_t i = 1; i < count; i++) {
        if (str_cmp(entries[i - 1].key, entries[i].key) >= 0) {
            return false;
        }
    }
    return true;
}

/* Insertion sort for the few attributes that most items have, qsort for the rest. */
static void sort_entries(struct entry *entries, uint32_t count)
{
    if (count > 24) {
        qsort(entries, count, sizeof(*entries), entry_cmp);
        return;
    }
    for (uint32_t i = 1; i < count; i++) {
        struct entry moving = entries[i];
        uint32_t k = i;
        for (; k > 0 && str_cmp(entries[k - 1].key, moving.key) > 0; k--) {
            entries[k] = entries[k - 1];
        }
        entries[k] = moving;
    }
}

/* Keeps the last of each run of equal keys; returns how many are left. */
static uint32_t drop_duplicates(struct entry *entries, uint32_t count)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (i + 1 == count || !str_eq(entries[i].key, entries[i + 1].key)) {
            entries[kept++] = entries[i];
        }
    }
    return kept;
}

/* Rewrites the contents of the container at `open` in the order of `entries`. */
static void rewrite(struct builder *builder, size_t open, const struct entry *entries,
                    uint32_t count)
{
    size_t size = builder->len - open - VALUE_CONTAINER_HEAD;
    char *sorted = arena_bytes(builder->arena, size);
    size_t at = 0;
    for (uint32_t i = 0; i < count; i++) {
        memcpy(sorted + at, entries[i].all.data, entries[i].all.len);
        at += entries[i].all.len;
    }
    memcpy(builder->data + open + VALUE_CONTAINER_HEAD, sorted, at);
    builder->len = open + VALUE_CONTAINER_HEAD + at;
    builder_close_list(builder, open, count);
}

enum { ENTRIES_ON_STACK = 24 };

void builder_close_map(struct builder *builder, size_t open, uint32_t count)
{
    builder_close_list(builder, open, count);
    /* What is allocated here is freed again: maps nest, and each contains the bytes of all inner
     * ones. */
    struct arena_mark mark = arena_mark(builder->arena);
    struct entry small[ENTRIES_ON_STACK];
    struct entry *entries =
        count <= ENTRIES_ON_STACK ? small : arena_alloc(builder->arena, count * sizeof(*entries));
    struct value_iter iter = value_iter((struct value){builder->data + open, 0});
    struct value_name name;
    struct value value;
    for (uint32_t i = 0; i < count; i++) {
        const uint8_t *start = iter.at;
        bool more = value_next_entry(&iter, &name, &value);
        assert(more);
        entries[i] =
            (struct entry){.key = name.text, .all = str_make(start, (size_t)(iter.at - start))};
    }
    if (!entries_are_sorted(entries, count)) {
        sort_entries(entries, count);
        rewrite(builder, open, entries, drop_duplicates(entries, count));
    }
    arena_rewind(builder->arena, mark);
}

static bool close_set(struct builder *builder, size_t open, uint32_t count)
{
    builder_close_list(builder, open, count);
    struct entry small[ENTRIES_ON_STACK];
    struct entry *entries =
        count <= ENTRIES_ON_STACK ? small : arena_alloc(builder->arena, count * sizeof(*entries));
    struct value_iter iter = value_iter((struct value){builder->data + open, 0});
    struct value value;
    for (uint32_t i = 0; i < count; i++) {
        bool more = value_next(&iter, &value);
        assert(more);
        entries[i] =
            (struct entry){.key = value_bytes(value), .all = str_make(value.data, value.len)};
    }
    if (entries_are_sorted(entries, count)) {
        return true;
    }
    sort_entries(entries, count);
    if (drop_duplicates(entries, count) != count) {
        return false;
    }
    rewrite(builder, open, entries, count);
    return true;
}

bool builder_close_set(struct builder *builder, size_t open, uint32_t count)
{
    struct arena_mark mark = arena_mark(builder->arena);
    bool fits = close_set(builder, open, count);
    arena_rewind(builder->arena, mark);
    return fits;
}
