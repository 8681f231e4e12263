/* Sets errors and looks up what errors.def says of a code. Any thread: an err belongs to its
 * caller. */
#include "err/err.h"

#include "err/messages.h"

struct err_kind {
    const char *type;
    const char *name;
    int status;
};

#define ERROR(code_, name_, space_, status_) [code_] = {space_ name_, name_, status_},
static const struct err_kind kinds[ERR_CODE_COUNT] = {
#include "err/errors.def"
};
#undef ERROR

bool err_set(struct err *err, enum err_code code, const char *format, ...)
{
    if (err->code != ERR_NONE) {
        return false;
    }
    va_list args;
    va_start(args, format);
    err->message = arena_vformat(err->arena, format, args);
    va_end(args);
    err->code = code;
    return false;
}

bool err_set_str(struct err *err, enum err_code code, struct str message)
{
    if (err->code == ERR_NONE) {
        err->code = code;
        err->message = message;
    }
    return false;
}

bool err_set_over_budget(struct err *err, const struct budget *budget)
{
    return budget_state(budget) != BUDGET_OVER_POOL
               ? err_set_str(err, ERR_VALIDATION,
                             STR("The request needs more memory than one request may have"))
               : err_set_str(err, ERR_OVERLOADED, STR(MESSAGE_OVERLOADED));
}

const char *err_wire_type(enum err_code code)
{
    return kinds[code].type;
}

const char *err_wire_name(enum err_code code)
{
    return kinds[code].name;
}

int err_http_status(enum err_code code)
{
    return kinds[code].status;
}
