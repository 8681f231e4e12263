/* api/tables/index_request.h: converts the definitions of keys and indexes in CreateTable and
 * UpdateTable requests to the structs of src/model, and checks them. A function that returns false
 * has set *definer->err to the service's error. Results are allocated from definer->arena and
 * borrow the request. */
#ifndef GRAMME_API_TABLES_INDEX_REQUEST_H
#define GRAMME_API_TABLES_INDEX_REQUEST_H

#include "api/tables/table_request.h"

/* DEFINITIONS_MAX: more definitions than a table can use. NAMES_MAX: how many names an error
 * message lists. */
enum { DEFINITIONS_MAX = 2 + TABLE_LSI_MAX + TABLE_GSI_MAX * 2 * KEY_ATTRIBUTES_MAX };
enum { NAMES_MAX = 32 };

/* The context of the functions below. */
struct definer {
    struct arena *arena;
    struct err *err;
    struct table *table; /* the table that is being defined */
};

/* Reads AttributeDefinitions into definer->table. */
MUST_USE bool index_request_definitions(const struct definer *definer,
                                        const struct wire_list *list);
/* Returns the names of the definitions as "a, b", for an error message. */
struct str index_request_defined_names(const struct definer *definer);
/* Checks that the KeySchema of a table or local index has at most two elements; only global indexes
 * may have more. `path` names the schema in the error message. */
MUST_USE bool index_request_check_two_keys(const struct definer *definer,
                                           const struct wire_list *schema, const char *path);
/* Reads a KeySchema into *out. Its attributes must be among the definitions of definer->table. */
MUST_USE bool index_request_schema(const struct definer *definer, const struct wire_list *schema,
                                   enum index_kind kind, struct key_schema *out);
/* Reads a Projection into the projection members of *out. */
MUST_USE bool index_request_projection(const struct definer *definer,
                                       const struct projection_request *given, struct index *out);
/* Checks the limit on the number of projected non-key attributes in all indexes of
 * definer->table. */
MUST_USE bool index_request_check_non_key_total(const struct definer *definer);

#endif
