/* The list of tools, their arguments and failures. Called by mcp.c and by the tools. */
#include <stdarg.h>

#include "base/format.h"
#include "mcp/mcp_internal.h"

static const struct tool tools[] = {
#define TOOL(function, name, access, description, schema)                                          \
    {function, name, access, description, schema},
#include "mcp/tools.def"
#undef TOOL
};

size_t tools_count(void)
{
    return COUNT_OF(tools);
}

const struct tool *tools_at(size_t i)
{
    return &tools[i];
}

const struct tool *tools_find(const char *name)
{
    for (size_t i = 0; i < COUNT_OF(tools); i++) {
        if (strcmp(tools[i].name, name) == 0) {
            return &tools[i];
        }
    }
    return NULL;
}

bool tools_is_offered(struct server *server, const struct tool *tool)
{
    switch (tool->access) {
    case TOOL_WRITE:
        return server->may_write;
    case TOOL_GRAMME:
        return db_is_gramme(server) || server->kind == DB_UNKNOWN;
    default:
        return true;
    }
}

bool db_is_gramme(struct server *server)
{
    if (server->kind == DB_UNKNOWN) {
        struct gramme_error *error = NULL;
        struct gramme_answer *answer = gramme_call(server->db, "ListOperations", "{}", 2, &error);
        bool is_denied = gramme_error_is(error, GRAMME_ACCESS_DENIED);
        if (answer != NULL || is_denied) {
            server->kind = DB_GRAMME;
        } else if (gramme_error_status(error) >= 400) {
            server->kind = DB_OTHER;
        }
        gramme_answer_destroy(answer);
        gramme_error_destroy(error);
    }
    return server->kind == DB_GRAMME;
}

/* --- failures --- */

bool tool_fail(struct tool_call *call, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    call->problem.len = 0;
    format_add(&call->problem, format, args);
    va_end(args);
    return false;
}

bool tool_fail_with(struct tool_call *call, struct gramme_error *error)
{
    tool_fail(call, "%s: %s", gramme_error_code(error), gramme_error_message(error));
    gramme_error_destroy(error);
    return false;
}

/* --- arguments --- */

bool tool_text(struct tool_call *call, const char *name, bool is_required, const char **out)
{
    const struct gramme_value *value = gramme_get(call->arguments, name);
    *out = gramme_value_string(value);
    if (value == NULL) {
        return !is_required || tool_fail(call, "the argument %s is missing", name);
    }
    if (*out == NULL) {
        return tool_fail(call, "the argument %s must be a string", name);
    }
    return strlen(*out) == gramme_value_len(value) ||
           tool_fail(call, "the argument %s has a NUL in it", name);
}

bool tool_limit(struct tool_call *call, int fallback, int max, int *out)
{
    const struct gramme_value *value = gramme_get(call->arguments, "limit");
    int64_t number = fallback;
    if (value != NULL && (!gramme_value_int(value, &number) || number < 1 || number > max)) {
        return tool_fail(call, "limit must be a whole number from 1 to %d", max);
    }
    *out = (int)number;
    return true;
}
