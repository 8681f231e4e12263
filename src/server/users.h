/* server/users.h: where the server's users, keys and policies come from: a file that is read at the
 * start and on SIGHUP, or the store. */
#ifndef GRAMME_SERVER_USERS_H
#define GRAMME_SERVER_USERS_H

#include "auth/sign_in.h"
#include "server/config.h"

struct users {
    struct directory_source source;
    struct secret_arena secrets;
    struct seal_key *key; /* the master key, or NULL */
    struct str file;      /* of --users; "": the store has them. Borrows the configuration */
    struct str account;
};

/* Reads the master key and, if there is a users file, the users. Call users_close() also if it
 * fails. */
MUST_USE bool users_open(struct users *users, const struct config *config, struct err *err);
/* SIGHUP: reads the file again. False: *err says why, and all stays as it was. */
MUST_USE bool users_reload(struct users *users, struct err *err);
void users_close(struct users *users);

/* Reads a master key from a file (STR_NULL or "": from GRAMME_MASTER_KEY in the environment, which
 * is overwritten). *out stays NULL if there is none. */
MUST_USE bool users_read_master_key(struct secret_arena *secrets, struct str file,
                                    struct seal_key **out, struct err *err);

#endif
