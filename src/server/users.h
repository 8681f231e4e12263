/* server/users.h: where the server's users, keys and policies come from: a file that is read at the
 * start and on SIGHUP, or the store, where several servers may share them. */
#ifndef GRAMME_SERVER_USERS_H
#define GRAMME_SERVER_USERS_H

#include "auth/sign_in.h"
#include "engine/records.h"
#include "server/config.h"

struct users_options {
    struct str file;            /* of --users; "": the store has them. Borrowed, like all texts */
    struct str master_key_file; /* "": GRAMME_MASTER_KEY in the environment, or none */
    struct str account;
};

struct users {
    struct users_options options;
    struct directory_source source;
    struct secret_arena secrets;
    struct seal_key *key;       /* the master key, or NULL */
    struct seal_key *token_key; /* the same; without one a random key, until the server stops */
    struct engine *engine;      /* borrowed; NULL before users_load() */
    pthread_mutex_t lock;       /* of changes, so that they need not be tried again */
};

/* Reads the master key. Call users_close() also if it fails. */
MUST_USE bool users_open(struct users *users, const struct users_options *options, struct err *err);
/* Reads the users, from the file or from the engine's store; must be called once, before the rest.
 * Root's key may come from the environment (GRAMME_ROOT_ACCESS_KEY_ID, and
 * GRAMME_ROOT_SECRET_ACCESS_KEY, which is overwritten) if the store has no user yet. */
MUST_USE bool users_load(struct users *users, struct engine *engine, struct err *err);
/* Reads them again, e.g. on SIGHUP. False: *err says why, and all stays as it was. */
MUST_USE bool users_reload(struct users *users, struct err *err);
/* Reads them again if another server has changed them; called every second. */
void users_poll(struct users *users);
void users_close(struct users *users);

/* Writes records and publishes the new directory. `revision` is that of the directory from which
 * they were derived. RECORDS_STALE: it is not the newest any more; the newest is published now. */
MUST_USE enum records_status users_change(struct users *users, int64_t revision,
                                          const struct record_change *changes, size_t count,
                                          struct err *err);

/* Reads a master key from a file ("": from GRAMME_MASTER_KEY in the environment, which is
 * overwritten). *out stays NULL if there is none. */
MUST_USE bool users_read_master_key(struct secret_arena *secrets, struct str file,
                                    struct seal_key **out, struct err *err);

#endif
