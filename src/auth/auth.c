#include "auth/auth.h"

bool auth_mode_from_name(struct str name, enum auth_mode *out)
{
    if (!str_eq(name, STR("any")) && !str_eq(name, STR("none"))) {
        return false;
    }
    *out = str_eq(name, STR("any")) ? AUTH_ANY : AUTH_NONE;
    return true;
}

bool auth_check(enum auth_mode mode, struct str authorization, struct err *err)
{
    if (mode == AUTH_ANY && authorization.len == 0) {
        return err_set(err, ERR_MISSING_AUTHENTICATION_TOKEN,
                       "Request is missing Authentication Token");
    }
    return true;
}
