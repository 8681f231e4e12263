/* store/rocks/prepare.h: expensive updates are evaluated away from the committer.
 *
 * A slow thread reads the declared rows one by one and hands each to update->prepare(); meanwhile
 * the committer watches their keys. If nobody has written one of them when the update comes back,
 * eval finds is_prepared set and needs no rows; else it is prepared again. An update that has lost
 * this race several times becomes exclusive: others that declare one of its keys are parked until
 * it has joined a group. There is one exclusive update at a time, so none waits for another.
 *
 * All functions: on the thread that has the turn to commit. */
#ifndef GRAMME_STORE_ROCKS_PREPARE_H
#define GRAMME_STORE_ROCKS_PREPARE_H

#include "store/store.h"

struct rocks;
struct preparation;

struct preparations {
    struct rocks *rocks;
    struct watch **buckets; /* watched keys by hash; a power of two of them */
    size_t bucket_count;
    size_t watch_count;
    size_t added_count;            /* that are to be started */
    struct preparation *all;       /* added and not yet removed */
    struct preparation *exclusive; /* or NULL */
    struct task *parked;           /* updates that wait for it, newest first */
};

void preparations_init(struct preparations *preparations, struct rocks *rocks);
void preparations_finish(struct preparations *preparations);

/* Whether an update with so many bytes of declared rows is too expensive for the committer. */
MUST_USE bool preparations_wants(const struct store_update *update, size_t row_bytes);
/* The update is to be prepared. It comes back through the committer's inbox. */
void preparations_add(struct preparations *preparations, struct store_update *update);
/* Starts those that were added: after each commit, when the rows of the group can be read. */
void preparations_start(struct preparations *preparations);
/* Whether the task is an update that comes back. */
MUST_USE bool preparations_is_back(const struct task *task);
/* An update has come back. True: it can be evaluated now, and is_prepared says how. False: a row
 * has changed meanwhile, and it was added again. */
MUST_USE bool preparations_take_back(struct preparations *preparations,
                                     struct store_update *update);
/* Somebody writes the key. */
void preparations_note_write(struct preparations *preparations, struct str key);
/* Rows may have changed in a way that nobody can tell: prepares everything again. */
void preparations_invalidate(struct preparations *preparations);
/* Parks the update if it has to wait for the exclusive one. */
MUST_USE bool preparations_park(struct preparations *preparations, struct store_update *update);
/* The updates that need not wait any longer, oldest first; NULL: none. */
MUST_USE struct task *preparations_unpark(struct preparations *preparations);

#endif
