/* auth/auth.h: who may ask. Today requests signed with any credentials are accepted, as DynamoDB
 * Local does; checking signatures will be one more mode, at this place. */
#ifndef GRAMME_AUTH_AUTH_H
#define GRAMME_AUTH_AUTH_H

#include "err/err.h"

enum auth_mode {
    AUTH_ANY,  /* there must be credentials; which does not matter */
    AUTH_NONE, /* not even that */
};

MUST_USE bool auth_mode_from_name(struct str name, enum auth_mode *out);
/* `authorization` is the header's value, or STR_NULL. Errors as the service words them. */
MUST_USE bool auth_check(enum auth_mode mode, struct str authorization, struct err *err);

#endif
