/* auth/auth.h: the mode in which the server checks who sends requests. */
#ifndef GRAMME_AUTH_AUTH_H
#define GRAMME_AUTH_AUTH_H

#include "err/err.h"

enum auth_mode {
    AUTH_ANY,  /* "off" or "any": there must be credentials; which does not matter */
    AUTH_NONE, /* "none": not even that */
    AUTH_WARN, /* everything is checked; what would be refused is logged and carried out */
    AUTH_ON,   /* everything is checked */
};

MUST_USE bool auth_mode_from_name(struct str name, enum auth_mode *out);

/* Whether signatures and policies are looked at in this mode. */
static inline bool auth_mode_checks(enum auth_mode mode)
{
    return mode == AUTH_WARN || mode == AUTH_ON;
}

#endif
