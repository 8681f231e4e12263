/* mcp/table_key_internal.h: primary keys of tables and indexes, from plain JSON. */
#ifndef GRAMME_MCP_TABLE_KEY_INTERNAL_H
#define GRAMME_MCP_TABLE_KEY_INTERNAL_H

#include "mcp/mcp_internal.h"

/* The key of a table or index. Texts are borrowed from `answer`. */
struct table_key {
    struct gramme_answer *answer; /* of DescribeTable; the caller destroys it */
    const char *name[2];          /* partition key, sort key or NULL */
    const char *type[2];          /* "S", "N" or "B" */
};

/* Describes the table that the argument `table` names, and finds its key, or that of the argument
 * `index`. On failure out->answer is NULL. */
MUST_USE bool key_find(struct tool_call *call, bool use_index, struct table_key *out);
/* Sets an entry to a plain JSON value as the key's type needs it. */
MUST_USE bool key_set(struct tool_call *call, struct gramme_value *map, const char *name,
                      const char *type, const struct gramme_value *value);
/* Fills the primary key `out` from the argument `key`. */
MUST_USE bool key_read(struct tool_call *call, const struct table_key *key,
                       struct gramme_value *out);

#endif
