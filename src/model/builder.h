/* model/builder.h: makes values (model/value.h). Values are written one after the other; a
 * container is opened, filled and closed, and closing brings it into its one form. */
#ifndef GRAMME_MODEL_BUILDER_H
#define GRAMME_MODEL_BUILDER_H

#include "model/value.h"

struct builder {
    struct arena *arena;
    uint8_t *data;
    size_t len;
    size_t capacity;
};

/* The bytes grow in `arena`, which must outlive the values made. A good `capacity` saves copies. */
void builder_init(struct builder *builder, struct arena *arena, size_t capacity);
/* All that was written, as one value. The room that is left goes back to the arena. */
MUST_USE struct value builder_finish(struct builder *builder);

/* A string whose flag the caller knows; else builder_add_string() looks. */
void builder_add_text(struct builder *builder, struct str text, bool plain);
void builder_add_string(struct builder *builder, struct str text);
/* A number's bytes. */
void builder_add_number(struct builder *builder, struct str bytes);
void builder_add_int64(struct builder *builder, int64_t number);
void builder_add_binary(struct builder *builder, struct str bytes);
void builder_add_null(struct builder *builder);
void builder_add_bool(struct builder *builder, bool truth);
/* A copy of a value made elsewhere. */
void builder_add_value(struct builder *builder, struct value value);
/* Copies of whole elements or entries that stand one after the other in another container. */
void builder_add_raw(struct builder *builder, const uint8_t *from, const uint8_t *to);
/* The name of the next entry, inside an open map. */
void builder_add_name(struct builder *builder, struct str name, bool plain);
/* The same for a name whose flag is not known. */
void builder_add_key(struct builder *builder, struct str name);

/* Returns the place to hand to close. */
MUST_USE size_t builder_open(struct builder *builder, enum value_type type);
/* Ends a list of `count` elements. */
void builder_close_list(struct builder *builder, size_t open, uint32_t count);
/* Ends a map of `count` entries and sorts them; of entries with one name the last one stays. */
void builder_close_map(struct builder *builder, size_t open, uint32_t count);
/* Ends a set of `count` elements and sorts them. False if two are equal; the value is then unfit
 * for use. */
MUST_USE bool builder_close_set(struct builder *builder, size_t open, uint32_t count);
/* Ends a map whose entries were written in order of their names, each once. */
void builder_close_sorted(struct builder *builder, size_t open, uint32_t count);

#endif
