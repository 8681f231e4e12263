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

#define ERR_INIT(arena_) ((struct err){.arena = (arena_)})

/* Fills *err and returns false, so that a failing function can `return err_set(...)`. An error
 * that is set already is kept: the first one is the one to tell. */
bool err_set(struct err *err, enum err_code code, const char *format, ...) PRINTF_LIKE(3, 4);
/* The same with a message that may hold any bytes; `message` must live as long as err->arena. */
bool err_set_str(struct err *err, enum err_code code, struct str message);

/* The name on the wire with and without its namespace, and the HTTP status. */
const char *err_wire_type(enum err_code code);
const char *err_wire_name(enum err_code code);
int err_http_status(enum err_code code);

#endif
