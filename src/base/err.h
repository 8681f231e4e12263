/* base/err.h: what the world can cause (bad request, full disk, conflict), as a value.
 * A function that can fail returns false and has described the failure once, in *err. */
#ifndef GRAMME_BASE_ERR_H
#define GRAMME_BASE_ERR_H

#include "base/arena.h"

#define ERROR(code_, name_, space_, status_) code_,
enum err_code {
    ERR_NONE,
#include "base/errors.def"
    ERR_CODE_COUNT
};
#undef ERROR

struct err {
    struct arena *arena; /* the message lives here */
    enum err_code code;
    struct str message;
};

/* The message of ERR_OVERLOADED when memory is short. */
#define ERR_OVERLOADED_TEXT "The server is out of memory for requests. Try again later."

#define ERR_INIT(arena_) ((struct err){.arena = (arena_)})

/* Fills *err and returns false, so that a failing function can `return err_set(...)`. An error
 * that is set already is kept: the first one is the one to tell. */
bool err_set(struct err *err, enum err_code code, const char *format, ...) PRINTF_LIKE(3, 4);
/* The same with a message that may hold any bytes; `message` must live as long as err->arena. */
bool err_set_str(struct err *err, enum err_code code, struct str message);

/* Fails because arena_is_over_budget(), or a buffer is: ERR_OVERLOADED if all requests together
 * hold too much, so that it may be tried again; ERR_VALIDATION if one request alone does. */
bool err_set_over_budget(struct err *err, const struct budget *budget);

/* The name on the wire with and without its namespace, and the HTTP status. */
const char *err_wire_type(enum err_code code);
const char *err_wire_name(enum err_code code);
int err_http_status(enum err_code code);

#endif
