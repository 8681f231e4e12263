/* client/value_tree_internal.h: values as a tree that can be built and changed. An answer, a
 * request, and a value that the user made are each a tree in one arena.
 *
 * Not model/value.h: C programs need NUL-terminated texts, change items, and read answers that are
 * not only attribute values. */
#ifndef GRAMME_CLIENT_VALUE_TREE_INTERNAL_H
#define GRAMME_CLIENT_VALUE_TREE_INTERNAL_H

#include "base/arena.h"
#include "base/buf.h"
#include "gramme/gramme.h"

struct tree;

struct gramme_value {
    struct tree *tree;
    struct str name; /* as an entry of a map: ends with NUL; else STR_NULL */
    enum gramme_type type;
    bool truth;      /* GRAMME_BOOL */
    struct str text; /* string, number, binary: ends with NUL */
    /* Containers. */
    struct gramme_value **children;
    size_t count;
    size_t capacity;
};

struct tree {
    struct arena arena;
    const char *problem; /* the first mistake in building; NULL: none */
    struct gramme_value *root;
};

/* Creates a tree whose root is an empty container of the type. */
MUST_USE struct tree *tree_create(enum gramme_type root);
/* Frees a tree. Accepts NULL. */
void tree_destroy(struct tree *tree);
/* Records a mistake, if it is the first. */
void tree_complain(struct tree *tree, const char *format, ...) PRINTF_LIKE(2, 3);

/* Makes a value that is not yet part of another. */
MUST_USE struct gramme_value *value_create(struct tree *tree, enum gramme_type type);
/* The same with a copy of the bytes. */
MUST_USE struct gramme_value *value_create_text(struct tree *tree, enum gramme_type type,
                                                struct str text);
/* Makes a deep copy, including the recorded mistake of the value's tree. */
MUST_USE struct gramme_value *value_create_copy(struct tree *tree, const struct gramme_value *from);
/* Copies a text, followed by a NUL that is not counted. */
MUST_USE struct str tree_copy_text(struct tree *tree, struct str text);
/* Appends a child, without looking for an entry of the same name. */
void value_append(struct gramme_value *container, struct gramme_value *child);
/* Returns the entry of a map, or NULL; of several with one name the last. */
MUST_USE struct gramme_value *value_find(const struct gramme_value *map, struct str name);
/* Returns the map or list that is the entry `name`; creates it if it does not exist. */
MUST_USE struct gramme_value *value_need(struct gramme_value *map, const char *name,
                                         enum gramme_type type);

/* Writes JSON. *problem: NULL, or why the result is unusable: a recorded mistake, too many levels,
 * not a map where there must be one. */
void value_write(struct buf *out, const struct gramme_value *value, enum gramme_form form,
                 const char **problem);
/* Reads a whole JSON text into the tree, as its root. False: *problem says why. */
MUST_USE bool value_read(struct tree *tree, struct str json, enum gramme_form form,
                         const char **problem);

#endif
