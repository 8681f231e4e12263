/* store/rocks/commit/prepare.h: prepares expensive updates on slow threads, so that they do not
 * delay the committer.
 *
 * A slow thread reads the declared rows and calls update->prepare() for each; meanwhile the
 * committer watches their keys. If none of them was written when the update comes back, the
 * committer sets is_prepared and calls eval without rows; else the update is prepared again. An
 * update that was prepared in vain several times becomes exclusive: other updates that declare one
 * of its keys are parked until it has joined a group. At most one update is exclusive at a time, so
 * exclusive updates never wait for each other.
 *
 * All functions: on the thread that has the turn to commit. */
#ifndef GRAMME_STORE_ROCKS_COMMIT_PREPARE_H
#define GRAMME_STORE_ROCKS_COMMIT_PREPARE_H

#include "store/store.h"

struct rocks;
struct preparation;

struct preparations {
    struct rocks *rocks;
    struct watch **buckets; /* watched keys by hash; a power of two of them */
    size_t bucket_count;
    size_t watch_count;
    size_t added_count;            /* added and not yet started */
    struct preparation *all;       /* added and not yet removed */
    struct preparation *exclusive; /* or NULL */
    struct task *parked;           /* updates that wait for the exclusive one, newest first */
};

/* Initializes an empty set of preparations. */
void preparations_init(struct preparations *preparations, struct rocks *rocks);
/* Frees it; none may be under way. */
void preparations_finish(struct preparations *preparations);

/* Returns whether an update with so many bytes of declared rows is too expensive for the committer
 * to evaluate. */
MUST_USE bool preparations_wants(const struct store_update *update, size_t row_bytes);
/* Adds an update that is to be prepared. When it is prepared it is pushed to the committer's inbox.
 */
void preparations_add(struct preparations *preparations, struct store_update *update);
/* Starts the updates that were added. The committer calls it after each commit, when the rows of
 * the group can be read. */
void preparations_start(struct preparations *preparations);
/* Returns whether a task of the inbox is an update that was prepared. */
MUST_USE bool preparations_is_back(const struct task *task);
/* Takes an update that was prepared. True: it can be evaluated now; is_prepared is false if a row
 * could not be read. False: a row has changed meanwhile, and the update was added again. */
MUST_USE bool preparations_take_back(struct preparations *preparations,
                                     struct store_update *update);
/* A group writes the key: preparations that declare it become stale. */
void preparations_note_write(struct preparations *preparations, struct str key);
/* Makes all preparations stale: a write has failed or the database was opened again, so the rows
 * that were read may differ from those in the database. */
void preparations_invalidate(struct preparations *preparations);
/* Parks an update that shares a key with the exclusive one. False: it need not wait. */
MUST_USE bool preparations_park(struct preparations *preparations, struct store_update *update);
/* Returns the parked updates if they need not wait any longer, oldest first; else NULL. */
MUST_USE struct task *preparations_unpark(struct preparations *preparations);

#endif
