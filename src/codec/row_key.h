/* codec/row_key.h: row keys. See docs/internals/formats.md for the layout with test vectors.
 *
 *   items      space | h(pk)  | sk
 *   LSI        space | h(pk)  | grp(lsk) sk
 *   GSI        space | h(gpk) | grp(gsk)... h(pk) sk
 *
 * A key attribute's bytes are those of its value: a string's UTF-8, a binary's bytes, a number's
 * ordered form. The last part is raw; those before it are written in groups, so that their
 * end is known and the order is kept. */
#ifndef GRAMME_CODEC_ROW_KEY_H
#define GRAMME_CODEC_ROW_KEY_H

#include "base/arena.h"
#include "model/table.h"

#define KEY_SPACE_LEN 4
#define KEY_HASH_LEN  16
/* The longest key: space and hash, four grouped sort keys of 1024 bytes, a hash, a raw sort key. */
#define KEY_BYTES_MAX (4 + 16 + 4 * (1024 / 8 + 1) * 9 + 16 + 1024)

/* A key under construction, in memory of KEY_BYTES_MAX bytes. */
struct key_writer {
    struct arena *arena;
    uint8_t *data;
    size_t len;
};

/* Starts a key in `space`. Its memory is allocated from `arena`. */
void key_start(struct key_writer *writer, struct arena *arena, uint32_t space);
/* Returns the key and gives unused memory back to the arena. */
MUST_USE struct str key_finish(struct key_writer *writer);

/* h(): adds the hash of one or more key values, seeded with the store's seed. */
void key_add_hash(struct key_writer *writer, uint64_t seed, const struct value *values,
                  size_t count);
/* Adds raw bytes. */
void key_add_bytes(struct key_writer *writer, struct str bytes);
/* grp(): adds the bytes in groups of 8, each followed by a marker: the number of bytes used, or 9
 * if more groups follow. Keeps the order, and the end can be found. */
void key_add_grouped(struct key_writer *writer, struct str bytes);
/* Adds the part of grp() that all values with this prefix share: for begins_with(). */
void key_add_grouped_prefix(struct key_writer *writer, struct str bytes);

/* Returns the smallest key behind all keys that start with `prefix`; STR_NULL if there is none. */
struct str key_after_prefix(struct arena *arena, struct str prefix);

/* Returns the key of an item's row. `sort` is VALUE_ABSENT for a table without sort key. */
struct str key_of_item(struct arena *arena, uint64_t seed, uint32_t space, struct value hash,
                       struct value sort);

#endif
