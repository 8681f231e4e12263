/* model/builder.h: makes values (model/value.h). Values are written one after the other; a
 * container is opened, filled and closed. Closing brings it to its canonical form (sorted).
 *
 * Used by one thread at a time. */
#ifndef GRAMME_MODEL_BUILDER_H
#define GRAMME_MODEL_BUILDER_H

#include "model/value.h"

struct builder {
    struct arena *arena;
    uint8_t *data;
    size_t len;
    size_t capacity;
};

/* Starts a value. Its bytes are allocated from `arena`, which must outlive it. A `capacity` near
 * the final size avoids copies. */
void builder_init(struct builder *builder, struct arena *arena, size_t capacity);
/* Returns the value that was written. Unused capacity goes back to the arena. */
MUST_USE struct value builder_finish(struct builder *builder);

/* Adds a string; `plain`: it needs no JSON escape (value_text_is_plain()). */
void builder_add_text(struct builder *builder, struct str text, bool plain);
/* Adds a string, and finds out whether it is plain. */
void builder_add_string(struct builder *builder, struct str text);
/* Adds a number, given by the bytes of its encoding (model/number.h). */
void builder_add_number(struct builder *builder, struct str bytes);
/* Adds a number. */
void builder_add_int64(struct builder *builder, int64_t number);
/* Adds a binary value. */
void builder_add_binary(struct builder *builder, struct str bytes);
/* Adds NULL. */
void builder_add_null(struct builder *builder);
/* Adds a BOOL. */
void builder_add_bool(struct builder *builder, bool truth);
/* Adds a copy of a value. */
void builder_add_value(struct builder *builder, struct value value);
/* Adds copies of whole elements or entries that are adjacent in another container. */
void builder_add_raw(struct builder *builder, const uint8_t *from, const uint8_t *to);
/* Adds the name of the next entry, inside an open map. `plain`: it needs no JSON escape. */
void builder_add_name(struct builder *builder, struct str name, bool plain);
/* As builder_add_name(), and finds out whether the name is plain. */
void builder_add_key(struct builder *builder, struct str name);

/* Opens a container. Returns its position, for the function that closes it. */
MUST_USE size_t builder_open(struct builder *builder, enum value_type type);
/* Closes a list of `count` elements. */
void builder_close_list(struct builder *builder, size_t open, uint32_t count);
/* Closes a map of `count` entries and sorts them; of entries with equal names the last one is kept.
 */
void builder_close_map(struct builder *builder, size_t open, uint32_t count);
/* Closes a set of `count` elements and sorts them. False if two are equal; the builder is then
 * unusable. */
MUST_USE bool builder_close_set(struct builder *builder, size_t open, uint32_t count);
/* Closes a map whose entries were written in order of their names, without duplicates. */
void builder_close_sorted(struct builder *builder, size_t open, uint32_t count);

#endif
