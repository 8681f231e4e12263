/* apps/common/identity.h: users and their roles. */
#ifndef GRAMME_APPS_IDENTITY_H
#define GRAMME_APPS_IDENTITY_H

#include <stdbool.h>
#include <stddef.h>

#include "gramme/gramme.h"

enum role {
    ROLE_ADMIN = 1,
    ROLE_PROVIDER = 2, /* calls: the user is a provider */
    ROLE_AGENT = 4,    /* tickets: the service desk */
    ROLE_OPERATOR = 8, /* reconciliation */
    ROLES_ALL = 15,
};

/* An id is 1 to IDENTITY_ID_LEN_MAX printable ASCII characters, as OpenID Connect has them, but no
 * '#', which separates the parts of keys, no space at an end, and not "." or "..", which browsers
 * remove from paths. Providers make ids of many forms: "auth0|x", e-mail addresses, "f:UUID:ana".
 */
enum { IDENTITY_ID_LEN_MAX = 255 };
/* The same for people. */
#define IDENTITY_ID_RULE "1 to 255 ASCII characters without # and without a space at an end"

struct identity {
    char id[IDENTITY_ID_LEN_MAX + 1];
    char name[201];
    char email[IDENTITY_ID_LEN_MAX + 1];
    unsigned roles; /* enum role, added */
};

/* Whether a text is an id of a user, or of anything that applications name in the same way. */
bool identity_id_is_valid(const char *text);
/* Fills name or email of an identity; what does not fit is cut, never inside a character. */
void identity_copy_text(char *out, size_t size, const char *text);
/* Returns whether the identity has one of the roles; an admin has all. */
bool identity_has(const struct identity *identity, unsigned roles);
/* Whether they are the user of this id, or an admin. */
bool identity_is(const struct identity *identity, const char *id);

/* The role of a name ("agent"); 0: none. */
unsigned role_from_name(const char *name);
/* Adds the names to a list. */
void roles_show(unsigned roles, struct gramme_value *list);
/* Names of a list, or one text with names between commas or spaces. Unknown names are left out. */
unsigned roles_read(const struct gramme_value *value);
/* Names in a text, between commas or spaces. Unknown names are left out. */
unsigned roles_parse(const char *text);

#endif
