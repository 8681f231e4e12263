/* api/index_request.h: keys and indexes, from the parts of a request that define them to the
 * model's form. CreateTable and UpdateTable share it. Refusals are in *err. */
#ifndef GRAMME_API_INDEX_REQUEST_H
#define GRAMME_API_INDEX_REQUEST_H

#include "api/table_request.h"

/* More definitions than any table can use, and more names than a text should list. */
enum { DEFINITIONS_MAX = 2 + TABLE_LSI_MAX + TABLE_GSI_MAX * 2 * KEY_ATTRIBUTES_MAX };
enum { NAMES_MAX = 32 };

/* Where keys and indexes are defined. */
struct definer {
    struct arena *arena;
    struct err *err;
    struct table *table; /* gets the definitions; its keys and indexes are looked at */
};

/* AttributeDefinitions, into definer->table. */
MUST_USE bool index_request_definitions(const struct definer *definer,
                                        const struct wire_list *list);
/* "a, b": the names of the definitions, for a text. */
struct str index_request_defined_names(const struct definer *definer);
/* A table and a local index have two keys at most; the model allows more, for global indexes.
 * `path` names the schema in the text. */
MUST_USE bool index_request_check_two_keys(const struct definer *definer,
                                           const struct wire_list *schema, const char *path);
/* A KeySchema, whose attributes must be defined. */
MUST_USE bool index_request_schema(const struct definer *definer, const struct wire_list *schema,
                                   enum index_kind kind, struct key_schema *out);
/* Reads a Projection into out->projection and its names. */
MUST_USE bool index_request_projection(const struct definer *definer,
                                       const struct projection_request *given, struct index *out);
/* The limit on projected names in all indexes of a table. */
MUST_USE bool index_request_check_non_key_total(const struct definer *definer);

#endif
