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

/* An id is 1 to IDENTITY_ID_LEN_MAX printable ASCII characters, as in OpenID Connect, without '#',
 * which separates the parts of keys, and without a space at an end. "." and ".." are no ids,
 * because browsers remove them from paths. Providers make ids of many forms: "auth0|x", e-mail
 * addresses, "f:UUID:ana". */
enum { IDENTITY_ID_LEN_MAX = 255 };
/* The same rule, for error messages. */
#define IDENTITY_ID_RULE "1 to 255 ASCII characters without # and without a space at an end"

struct identity {
    char id[IDENTITY_ID_LEN_MAX + 1];
    char name[201];
    char email[IDENTITY_ID_LEN_MAX + 1];
    unsigned roles; /* a set of enum role */
};

/* Returns whether a text is a valid id, of a user or of another object of an application. */
bool identity_id_is_valid(const char *text);
/* Fills name or email of an identity; cuts a longer text between two characters. */
void identity_copy_text(char *out, size_t size, const char *text);
/* Returns whether the identity has one of the roles; an admin has all. */
bool identity_has(const struct identity *identity, unsigned roles);
/* Returns whether the identity has this id or is an admin. */
bool identity_is(const struct identity *identity, const char *id);

/* Returns the role with a name ("agent"); 0: there is none. */
unsigned role_from_name(const char *name);
/* Adds the names of the roles to a list. */
void roles_show(unsigned roles, struct gramme_value *list);
/* Returns the roles that a list names, or a text with names separated by commas or spaces. Ignores
 * unknown names. */
unsigned roles_read(const struct gramme_value *value);
/* Returns the roles that a text names, separated by commas or spaces. Ignores unknown names. */
unsigned roles_parse(const char *text);

#endif
