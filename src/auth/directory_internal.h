/* auth/directory_internal.h: the inside of a snapshot, for directory.c, directory_read.c and
 * directory_write.c. */
#ifndef GRAMME_AUTH_DIRECTORY_INTERNAL_H
#define GRAMME_AUTH_DIRECTORY_INTERNAL_H

#include <stdatomic.h>

#include "auth/directory.h"
#include "base/map.h"

#define SEAL_SECRET "access key" /* the purpose argument of seal_text() for access keys */

struct directory {
    atomic_int references;
    int64_t revision;
    struct arena arena; /* all memory of the snapshot except secrets and compiled policies */
    struct secret_arena secrets; /* the secret access keys */
    struct str account;
    struct map users;    /* name -> struct directory_principal */
    struct map roles;    /* name -> struct directory_principal */
    struct map policies; /* name -> struct directory_policy */
    struct map built_in; /* name -> struct directory_policy, of the built-in policies */
    struct map keys;     /* id -> struct directory_key */
};

/* Returns whether it is the name of a built-in policy. */
MUST_USE bool directory_is_built_in(struct str name);
/* Compiles a policy and puts it into `map`, which is directory->policies or ->built_in. Copies
 * `name` and `document`. Returns false with *err of policy_parse(). */
MUST_USE bool directory_put_policy(struct directory *directory, struct map *map, struct str name,
                                   struct str document, struct err *err);

#endif
