/* auth/auth.h: how strictly the server checks credentials, signatures and policies: `--auth`. */
#ifndef GRAMME_AUTH_AUTH_H
#define GRAMME_AUTH_AUTH_H

#include "err/err.h"

enum auth_mode {
    AUTH_ANY,  /* "off" or "any": an Authorization header is required, its signature is ignored */
    AUTH_NONE, /* "none": no Authorization header is required */
    AUTH_WARN, /* "warn": signatures and policies are checked; a failed check is logged and the
                  request is executed */
    AUTH_ON,   /* "on": signatures and policies are checked; a failed check fails the request */
};

/* Sets *out to the mode with this name. Returns false, with *out unchanged, if there is no such
 * mode. */
MUST_USE bool auth_mode_from_name(struct str name, enum auth_mode *out);

/* Returns whether this mode checks signatures and policies. */
static inline bool auth_mode_checks(enum auth_mode mode)
{
    return mode == AUTH_WARN || mode == AUTH_ON;
}

#endif
