/* apps/common/follower.h: runs an application's struct app_follower: reads the table's stream on
 * its own thread, calls act() with each change, and stores its position. After a restart it
 * continues from there, so that no change is missed. Changes since the last stored position (5
 * seconds of them at most, and none after an orderly end) are given to act() again.
 *
 * Several servers may follow the same table: each acts on every change, and any stored position is
 * one up to which everything has been done. */
#ifndef GRAMME_APPS_FOLLOWER_H
#define GRAMME_APPS_FOLLOWER_H

#include "apps/common/app.h"

struct follower;

struct follower_options {
    const struct app_follower *app;
    struct gramme_db *db;
    struct gramme_db *streams; /* where the operations of streams go; may be `db` */
};

/* Starts the thread. Borrows what the options name. */
struct follower *follower_create(const struct follower_options *options);
/* Stores the position and ends the thread. Accepts NULL. */
void follower_stop(struct follower *follower);
/* The same, and frees it. Accepts NULL. */
void follower_destroy(struct follower *follower);
/* Call it after a write of this server: the stream is read soon. Any thread. */
void follower_note_write(struct follower *follower);

#endif
