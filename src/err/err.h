/* err/err.h: failures that the outside world can cause (a bad request, a full disk, a conflict), as
 * values. A function that can fail returns false and describes the failure once, in *err, where it
 * is detected; callers pass it on unchanged. */
#ifndef GRAMME_ERR_ERR_H
#define GRAMME_ERR_ERR_H

#include "base/arena.h"

#define ERROR(code_, name_, space_, status_) code_,
enum err_code {
    ERR_NONE,
#include "err/errors.def"
    ERR_CODE_COUNT
};
#undef ERROR

struct err {
    struct arena *arena; /* holds the message */
    enum err_code code;
    struct str message;
};

#define ERR_INIT(arena_) ((struct err){.arena = (arena_)})

/* Fills *err and returns false, so that a failing function can `return err_set(...)`. Does nothing
 * if an error is set already: the first one is the cause. The message is copied to err->arena. */
bool err_set(struct err *err, enum err_code code, const char *format, ...) PRINTF_LIKE(3, 4);
/* The same with a message that may hold any bytes. It is borrowed: it must live as long as
 * err->arena. */
bool err_set_str(struct err *err, enum err_code code, struct str message);

/* Fails because arena_is_over_budget(), or the budget of a buffer is exceeded: with ERR_OVERLOADED
 * if all requests together hold too much memory (the client may retry), with ERR_VALIDATION if one
 * request alone does. */
bool err_set_over_budget(struct err *err, const struct budget *budget);

/* The name of the error on the wire with its namespace: "com.amazon...#ValidationException". */
const char *err_wire_type(enum err_code code);
/* The name without the namespace: "ValidationException". */
const char *err_wire_name(enum err_code code);
/* The status of the HTTP answer. */
int err_http_status(enum err_code code);

#endif
