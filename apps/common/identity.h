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

struct identity {
    char id[129];
    char name[201];
    char email[255];
    unsigned roles; /* enum role, added */
};

/* An id is 1 to 128 letters, digits and . _ @ + : - */
bool identity_id_is_valid(const char *text);
/* Fills name or email of an identity; what does not fit is cut, never inside a character. */
void identity_copy_text(char *out, size_t size, const char *text);
/* Whether they have one of the roles; an admin has all. */
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
