/* store/rocks/commit/commit.h: updates. What the rest of the store uses of this folder. */
#ifndef GRAMME_STORE_ROCKS_COMMIT_COMMIT_H
#define GRAMME_STORE_ROCKS_COMMIT_COMMIT_H

#include "store/rocks/rocks_internal.h"

/* commit_group.c */
/* Creates the group, which is used again for every commit. */
MUST_USE struct rocks_group *rocks_group_create(struct rocks *rocks);
/* Frees the group. */
void rocks_group_destroy(struct rocks_group *group);

/* committer.c */
/* store_update() of this store. */
void rocks_update(struct store *store, struct store_update *update, bool is_alone);
/* store_set_clock() of this store. */
void rocks_set_clock(struct store *store, struct store_clock clock);
/* The committer thread. */
void *rocks_committer_main(void *rocks);

/* numbers.c */
/* Reads the newest stamp and time from the database, when it is opened. */
MUST_USE bool rocks_load_numbers(struct rocks *rocks, struct err *err);

/* dropped_spaces.c */
/* store_drop_space() of this store. */
void rocks_drop_space(struct store *store, uint32_t space);
/* Reads the dropped spaces from the database, when it is opened. */
MUST_USE bool rocks_load_drops(struct rocks *rocks, struct err *err);

#endif
