/* codec/key.h: row keys. See docs/internals/formats.md for the layout with test vectors.
 *
 *   items      space | h(pk)  | sk
 *   LSI        space | h(pk)  | grp(lsk) sk
 *   GSI        space | h(gpk) | grp(gsk)... h(pk) sk
 *
 * A key attribute's bytes are those of its value: a string's UTF-8, a binary's bytes, a number's
 * ordered form. The last part is raw; those before it are written in groups, so that their
 * end is known and the order is kept. */
#ifndef GRAMME_CODEC_KEY_H
#define GRAMME_CODEC_KEY_H

#include "base/arena.h"
#include "model/table.h"

#define KEY_SPACE_LEN 4
#define KEY_HASH_LEN  16
/* Space and hash, four grouped sort keys of 1024 bytes, a hash, a raw one. */
#define KEY_BYTES_MAX (4 + 16 + 4 * (1024 / 8 + 1) * 9 + 16 + 1024)

/* Writes a key piece by piece into memory of KEY_BYTES_MAX bytes. */
struct key_writer {
    struct arena *arena;
    uint8_t *data;
    size_t len;
};

void key_start(struct key_writer *writer, struct arena *arena, uint32_t space);
MUST_USE struct str key_finish(struct key_writer *writer);

/* h(): the hash of one or more key values under the store's seed. */
void key_add_hash(struct key_writer *writer, uint64_t seed, const struct value *values,
                  size_t count);
void key_add_bytes(struct key_writer *writer, struct str bytes);
/* grp(): 8 bytes and a marker each: how many of them count, or 9 if more groups follow. */
void key_add_grouped(struct key_writer *writer, struct str bytes);
/* The part of grp() that all longer values share: for ranges by prefix. */
void key_add_grouped_prefix(struct key_writer *writer, struct str bytes);

/* The smallest key behind all that start with `prefix`; STR_NULL if there is none. */
struct str key_after_prefix(struct arena *arena, struct str prefix);

/* The key of an item's row. `sort` is VALUE_ABSENT for a table without sort key. */
struct str key_of_item(struct arena *arena, uint64_t seed, uint32_t space, struct value hash,
                       struct value sort);

#endif
