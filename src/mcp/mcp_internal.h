/* mcp/mcp_internal.h: the state of the MCP server and the outcome of a tool. All of it belongs
 * to the main thread. */
#ifndef GRAMME_MCP_MCP_INTERNAL_H
#define GRAMME_MCP_MCP_INTERNAL_H

#include "base/buf.h"
#include "gramme/gramme.h"

enum {
    ITEMS_DEFAULT = 25,
    ITEMS_MAX = 100,
    ANSWER_BYTES_MAX = 64 * 1024, /* of the JSON that a tool returns */
    LINE_BYTES_MAX = 1024 * 1024, /* of a message */
};

/* Whether the server is Gramme; requested from it once. */
enum db_kind { DB_UNKNOWN, DB_GRAMME, DB_OTHER };

struct server {
    struct gramme_db *db;
    bool may_write; /* --write */
    enum db_kind kind;
};

/* One call of a tool. */
struct tool_call {
    struct server *server;
    const struct gramme_value *arguments; /* a map */
    struct gramme_value *result;          /* a map, to be filled */
    struct buf problem;                   /* why it failed */
};

enum tool_access { TOOL_READ, TOOL_WRITE, TOOL_GRAMME };

struct tool {
    /* Runs the tool: fills call->result; or fills call->problem and returns false. */
    bool (*run)(struct tool_call *call);
    const char *name;
    enum tool_access access;
    const char *description;
    const char *schema; /* JSON Schema of the arguments */
};

/* Returns the number of tools. */
size_t tools_count(void);
/* Returns one of them. */
const struct tool *tools_at(size_t i);
/* Finds a tool by name; NULL: there is none. */
const struct tool *tools_find(const char *name);
/* Whether the tool is offered to clients of this server. */
bool tools_is_offered(struct server *server, const struct tool *tool);

#define TOOL(function, name, access, description, schema) bool function(struct tool_call *call);
#include "mcp/tools.def"
#undef TOOL

/* Records why a tool failed. Returns false. */
bool tool_fail(struct tool_call *call, const char *format, ...) PRINTF_LIKE(2, 3);
/* The same with an error of the library, which it destroys. */
bool tool_fail_with(struct tool_call *call, struct gramme_error *error);
/* Reads an argument that is text. *out is NULL if it is not given. */
MUST_USE bool tool_text(struct tool_call *call, const char *name, bool is_required,
                        const char **out);
/* Reads the argument `limit`, between 1 and `max`. */
MUST_USE bool tool_limit(struct tool_call *call, int fallback, int max, int *out);
/* Returns whether the server is Gramme. The first call sends a request to find out. */
MUST_USE bool db_is_gramme(struct server *server);

/* Copies a list of items into the list `out`, as many as fit the answer's bounds; long texts are
 * cut. Returns how many. */
size_t bounds_add_items(struct gramme_value *out, const struct gramme_value *items, size_t count);
/* Sets an entry to a copy of a value in which long texts are cut and long lists shortened. */
void bounds_set(struct gramme_value *map, const char *name, const struct gramme_value *value);

#endif
