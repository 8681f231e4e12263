/* shell/results_internal.h: prints items in the session's format. */
#ifndef GRAMME_SHELL_RESULTS_INTERNAL_H
#define GRAMME_SHELL_RESULTS_INTERNAL_H

#include "shell/call_thread_internal.h"
#include "shell/schema_internal.h"

/* Items to print, borrowed, and hints about the order of columns. */
struct items {
    const struct gramme_value **list;
    size_t count;
    size_t capacity;
    const struct key_names *keys[2]; /* their attributes come first; NULL: none */
    struct str columns;              /* the list of a SELECT, whose order is kept; STR_NULL: none */
    size_t first;                    /* how many were printed before */
};

/* Appends an item. */
void items_add(struct items *items, const struct gramme_value *item);
/* Frees the list, not the items. */
void items_finish(struct items *items);

/* Appends the items to session->out in the session's format. */
void results_print(struct session *session, const struct items *items);
/* Tables: the same as a table. */
void results_print_table(struct session *session, const struct items *items);

/* The names of all attributes of the items, in the order in which columns are shown. */
struct columns {
    const char **names;
    size_t count;
};
/* Collects them; names are borrowed from the items, the array is the caller's to free. */
void columns_collect(const struct items *items, struct columns *out);

/* Appends a value for display: text without quotes, containers as JSON. Not yet safe for a
 * terminal. */
void results_add_plain(struct buf *out, const struct gramme_value *value);
/* Appends a field of CSV, quoted if it must be. */
void results_add_csv(struct buf *out, struct str text);
/* Appends an item as one line of JSON: plain, or as DynamoDB writes it. */
void results_add_json(struct buf *out, const struct gramme_value *item, enum gramme_form form);

/* Prints "(3 items, 1.5 units, 4.2 ms)" if the session shows times. After a command that does not
 * call it run_one() does, with the usage of all calls. */
void results_print_usage(struct session *session, const char *what, size_t count,
                         const struct usage *usage);
/* "item" or "items" and the like: an s unless there is one. */
#define PLURAL(count) ((count) == 1 ? "" : "s")

#endif
