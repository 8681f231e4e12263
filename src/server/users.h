/* server/users.h: reads the users, keys and policies of the server: from a file, at the start and
 * on SIGHUP, or from the store, which several servers may share. */
#ifndef GRAMME_SERVER_USERS_H
#define GRAMME_SERVER_USERS_H

#include "auth/sign_in.h"
#include "engine/records.h"
#include "server/config.h"

struct users_options {
    struct str file;            /* of --users; "": use the store. Borrowed, as all texts */
    struct str master_key_file; /* "": GRAMME_MASTER_KEY in the environment, or none */
    struct str account;
};

struct users {
    struct users_options options;
    struct directory_source source;
    struct secret_arena secrets;
    struct seal_key *key;       /* the master key, or NULL */
    struct seal_key *token_key; /* of session tokens: the master key, or a random one */
    struct str root_secret;     /* from the environment; STR_NULL: none */
    struct engine *engine;      /* borrowed; NULL before users_load() */
    pthread_mutex_t lock;       /* serializes changes, so that they need no retries */
};

/* Reads the master key, and overwrites secrets in the environment. The caller must call
 * users_close(), also after a failure. */
MUST_USE bool users_open(struct users *users, const struct users_options *options, struct err *err);
/* Reads the users, from the file or from the engine's store; must be called once, before the rest.
 * Root's key may come from the environment (GRAMME_ROOT_ACCESS_KEY_ID and
 * GRAMME_ROOT_SECRET_ACCESS_KEY) if the store has no user yet. */
MUST_USE bool users_load(struct users *users, struct engine *engine, struct err *err);
/* Reads the users again, on SIGHUP. False: *err says why, and nothing has changed. */
MUST_USE bool users_reload(struct users *users, struct err *err);
/* Reads the users again if another server has changed them. Call it once a second. */
void users_poll(struct users *users);
/* Frees the users and erases secrets from memory. */
void users_close(struct users *users);

/* Writes records and publishes the new directory. `revision` is that of the directory from which
 * they were derived. RECORDS_STALE: there is a newer one, which is published now; derive the
 * records again. */
MUST_USE enum records_status users_change(struct users *users, int64_t revision,
                                          const struct record_change *changes, size_t count,
                                          struct err *err);

/* Reads a master key from a file ("": from GRAMME_MASTER_KEY in the environment, which is
 * overwritten in either case). *out stays NULL if there is none. */
MUST_USE bool users_read_master_key(struct secret_arena *secrets, struct str file,
                                    struct seal_key **out, struct err *err);

#endif
