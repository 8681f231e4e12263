/* auth/directory_internal.h: a snapshot, for directory.c and directory_read.c. */
#ifndef GRAMME_AUTH_DIRECTORY_INTERNAL_H
#define GRAMME_AUTH_DIRECTORY_INTERNAL_H

#include <stdatomic.h>

#include "auth/directory.h"
#include "base/map.h"

#define SEAL_SECRET "access key" /* the purpose of sealed secrets */

struct directory {
    atomic_int references;
    int64_t revision;
    struct arena arena;          /* all but secrets and policies */
    struct secret_arena secrets; /* of keys */
    struct str account;
    struct map users;    /* name -> struct directory_principal */
    struct map roles;    /* name -> struct directory_principal */
    struct map policies; /* name -> struct directory_policy */
    struct map built_in; /* the same */
    struct map keys;     /* id -> struct directory_key */
};

/* Whether it is the name of a policy that everybody has. */
MUST_USE bool directory_is_built_in(struct str name);
/* Compiles a policy and puts it into one of the two maps. */
MUST_USE bool directory_keep_policy(struct directory *directory, struct map *map, struct str name,
                                    struct str document, struct err *err);

#endif
