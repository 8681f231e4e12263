/* model/value.h: attribute values as flat bytes, the one form in memory and on disk.
 *
 * A value can be skipped, compared, searched and copied without building a tree. Each value has
 * exactly one encoding (numbers normalised, sets sorted, map entries sorted by name), so two
 * values are equal if and only if their bytes are.
 *
 *   tag       1 byte: type in bits 0-3; bit 4: the truth of a BOOL, or "needs no JSON escape"
 *             of an S
 *   S N B     tag, varint length, bytes (a number's are those of model/number.h)
 *   SS NS BS  tag, u32 length of what follows, u32 count, elements: complete S, N or B values
 *   L         tag, u32 length of what follows, u32 count, elements: complete values
 *   M         tag, u32 length of what follows, u32 count, entries: name, complete value
 *   name      varint (length * 2 + needs no JSON escape), bytes
 *   NULL BOOL tag
 *
 * u32 is little-endian; varint is LEB128 of at most 32 bits. An item is an M value. */
#ifndef GRAMME_MODEL_VALUE_H
#define GRAMME_MODEL_VALUE_H

#include "base/arena.h"
#include "base/bytes.h"
#include "model/number.h"

enum value_type {
    VALUE_NONE,
    VALUE_S,
    VALUE_N,
    VALUE_B,
    VALUE_SS,
    VALUE_NS,
    VALUE_BS,
    VALUE_M,
    VALUE_L,
    VALUE_NULL,
    VALUE_BOOL,
    VALUE_TYPE_COUNT
};

/* A value borrows its bytes. {0} is "no value": an absent attribute or item. */
struct value {
    const uint8_t *data;
    size_t len;
};

#define VALUE_ABSENT         ((struct value){0})
#define VALUE_TYPE_MASK      0x0F
#define VALUE_FLAG           0x10
#define VALUE_CONTAINER_HEAD 9 /* tag, length, count */

/* Returns "S", "NS", "NULL", ... */
const char *value_type_name(enum value_type type);
/* Returns the type of that name, or VALUE_NONE. */
enum value_type value_type_from_name(struct str name);

/* Whether there is no value. */
static inline bool value_is_absent(struct value value)
{
    return value.data == NULL;
}

/* Returns the type; VALUE_NONE for an absent value. */
static inline enum value_type value_type(struct value value)
{
    return value.data == NULL ? VALUE_NONE : (enum value_type)(value.data[0] & VALUE_TYPE_MASK);
}

/* Whether the type is SS, NS or BS. */
static inline bool value_is_set(enum value_type type)
{
    return type == VALUE_SS || type == VALUE_NS || type == VALUE_BS;
}

/* Whether the type is a set, L or M. */
static inline bool value_is_container(enum value_type type)
{
    return type >= VALUE_SS && type <= VALUE_L;
}

/* Returns the type of a set's elements: VALUE_S for VALUE_SS, and so on. */
static inline enum value_type value_element_type(enum value_type set)
{
    return (enum value_type)(set - VALUE_SS + VALUE_S);
}

/* Whether two values are equal; two absent ones are. */
static inline bool value_eq(struct value a, struct value b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.data, b.data, a.len) == 0);
}

/* Reads a varint at `at`. Returns the position after it. */
static inline const uint8_t *value_varint(const uint8_t *at, uint32_t *out)
{
    uint32_t result = *at & 0x7F;
    for (int shift = 7; (*at++ & 0x80) != 0; shift += 7) {
        result |= (uint32_t)(*at & 0x7F) << shift;
    }
    *out = result;
    return at;
}

/* Returns the bytes of an S, N or B. */
static inline struct str value_bytes(struct value value)
{
    uint32_t len;
    const uint8_t *at = value_varint(value.data + 1, &len);
    return str_make(at, len);
}

/* For BOOL: true or false. For S: whether it needs no JSON escape. */
static inline bool value_flag(struct value value)
{
    return (value.data[0] & VALUE_FLAG) != 0;
}

/* Returns the number of elements or entries of a container. */
static inline uint32_t value_count(struct value value)
{
    return get_u32_le(value.data + 5);
}

/* Returns the value that starts at `data`, with its length. */
static inline struct value value_at(const uint8_t *data)
{
    enum value_type type = (enum value_type)(data[0] & VALUE_TYPE_MASK);
    if (type <= VALUE_B) {
        uint32_t len;
        const uint8_t *at = value_varint(data + 1, &len);
        return (struct value){data, (size_t)(at - data) + len};
    }
    if (type <= VALUE_L) {
        return (struct value){data, 5 + (size_t)get_u32_le(data + 1)};
    }
    return (struct value){data, 1};
}

/* Room for a number's value: tag, length, bytes. */
#define VALUE_NUMBER_MAX (2 + NUMBER_BYTES_MAX)

/* Makes the value of a number in `room`, which must outlive it. */
static inline struct value value_from_number(const struct number *number,
                                             uint8_t room[VALUE_NUMBER_MAX])
{
    room[0] = VALUE_N;
    room[1] = number->len;
    memcpy(room + 2, number->bytes, number->len);
    return (struct value){room, 2 + (size_t)number->len};
}

/* Compares two scalars of the same type S, N or B. Returns as memcmp(). */
static inline int value_cmp(struct value a, struct value b)
{
    return str_cmp(value_bytes(a), value_bytes(b));
}

/* Iterates over the elements of a list or set, or the entries of a map, in stored order. */
struct value_iter {
    const uint8_t *at;
    uint32_t left;
};

struct value_name {
    struct str text;
    bool plain; /* needs no JSON escape */
};

/* Starts an iteration over a container. */
static inline struct value_iter value_iter(struct value container)
{
    return (struct value_iter){container.data + VALUE_CONTAINER_HEAD, value_count(container)};
}

/* Returns the next element of a list or set. False at the end. */
static inline bool value_next(struct value_iter *iter, struct value *out)
{
    if (iter->left == 0) {
        return false;
    }
    iter->left--;
    *out = value_at(iter->at);
    iter->at += out->len;
    return true;
}

/* Returns the next entry of a map. False at the end. */
static inline bool value_next_entry(struct value_iter *iter, struct value_name *out_name,
                                    struct value *out)
{
    if (iter->left == 0) {
        return false;
    }
    uint32_t head;
    const uint8_t *at = value_varint(iter->at, &head);
    *out_name = (struct value_name){.text = str_make(at, head >> 1), .plain = (head & 1) != 0};
    iter->at = at + (head >> 1);
    return value_next(iter, out);
}

/* Returns the value of an entry of a map, or VALUE_ABSENT. */
struct value value_map_get(struct value map, struct str name);
/* Returns an element of a list, or VALUE_ABSENT. */
struct value value_list_get(struct value list, size_t index);
/* Whether a set or list has an element equal to `element`. */
bool value_has_element(struct value container, struct value element);

/* Returns how many bytes the value counts in the size of an item, by DynamoDB's rules. For an item
 * (an M value) itself use item_size(). */
size_t value_size(struct value value);
/* Returns the size of an item by DynamoDB's rules: its attribute names and values. */
size_t item_size(struct value item);
/* Returns the nesting depth: 1 for scalars and sets; for a list or map one more than its deepest
 * element. */
int value_depth(struct value value);

/* Whether bytes of unknown origin are exactly one well-formed value. */
MUST_USE bool value_is_valid(struct str bytes);

/* Whether JSON can hold the text without an escape. */
MUST_USE bool value_text_is_plain(struct str text);

#endif
