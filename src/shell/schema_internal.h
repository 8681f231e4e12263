/* shell/schema_internal.h: the shell's cache: descriptions of tables, for a minute, and names of
 * attributes in results, for completion. */
#ifndef GRAMME_SHELL_SCHEMA_INTERNAL_H
#define GRAMME_SHELL_SCHEMA_INTERNAL_H

#include "shell/session_internal.h"
#include "shell/split_internal.h"

/* The key of a table or index. Texts are borrowed from the description. */
struct key_names {
    const char *name[2]; /* partition key, sort key; [1] is NULL: there is none */
    const char *type[2]; /* "S", "N" or "B" */
    bool is_composite;   /* a part of it has several attributes, of which the last is named here */
};

/* A table or an index that a command names. */
struct target {
    const char *table;
    const char *index;                      /* NULL: the table itself */
    const struct gramme_value *description; /* of the table; borrowed from the session's cache */
    struct key_names table_key;
    struct key_names key; /* of the index, if there is one */
};

/* Returns the description of a table (Table of DescribeTable), valid until the next command; NULL:
 * the failure is recorded. */
MUST_USE const struct gramme_value *schema_describe(struct session *session, const char *table);
/* Finds what a word of a command names: TABLE, TABLE.INDEX or "TABLE"."INDEX". Texts are in
 * `arena`. */
MUST_USE bool schema_find(struct session *session, struct arena *arena, const struct words *words,
                          size_t word, struct target *out);
/* Reads a key schema: of a table's description, or of an index in it. */
void schema_key(const struct gramme_value *description, const struct gramme_value *of,
                struct key_names *out);
/* Builds a primary key into the map `out` from texts, by the types of the key. `sort` may be
 * STR_NULL if there is no sort key. */
MUST_USE bool schema_set_key(struct session *session, struct gramme_value *out,
                             const struct key_names *key, struct str partition, struct str sort);
/* Sets an entry to a text as a value of type "S", "N" or "B" (base64). */
MUST_USE bool schema_set_typed(struct session *session, struct gramme_value *map, const char *name,
                               const char *type, struct str text);
/* Forgets a table's description, because it was changed. */
void schema_forget(struct session *session, const char *table);
/* Frees everything. */
void schema_finish(struct session *session);

/* Remembers names of the item's attributes for completion; a bounded number. */
void schema_see_item(struct session *session, const struct gramme_value *item);
/* Calls visit with the name of each table; asks the server at most every few seconds. */
void schema_each_table(struct session *session, void (*visit)(void *context, const char *name),
                       void *context);
/* Calls visit with the name of each index of a table whose description is known. */
void schema_each_index(struct session *session, const char *table,
                       void (*visit)(void *context, const char *name), void *context);
/* Calls visit with the names of attributes that were seen. */
void schema_each_attribute(struct session *session, void (*visit)(void *context, const char *name),
                           void *context);

#endif
