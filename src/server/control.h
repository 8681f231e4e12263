/* server/control.h: the control socket of a running server: DIR/control.sock in its data directory,
 * mode 0600, for processes of the same user. `gramme backup` asks it for a checkpoint.
 *
 *   client: checkpoint\n
 *   server: ok SEED FORMAT PATH\n    a directory with the tables as they are now; or
 *           error MESSAGE\n
 *
 * The checkpoint is there until the connection is closed; then the server deletes it. There is at
 * most one at a time. */
#ifndef GRAMME_SERVER_CONTROL_H
#define GRAMME_SERVER_CONTROL_H

#include "store/store.h"

#define CONTROL_SOCKET_NAME "control.sock"
/* Of the checkpoint, in the data directory. */
#define CONTROL_CHECKPOINT_NAME "checkpoint"

struct control;

/* Starts a thread that serves the socket. NULL: the store has no directory, or the socket cannot be
 * created, which is logged; the server works without it. `store` must outlive it. */
MUST_USE struct control *control_start(struct store *store);
/* Stops the thread and deletes a checkpoint. Accepts NULL. */
void control_stop(struct control *control);

/* For clients: connects to the socket of the server that uses the directory. Negative: errno says
 * why; ENOENT and ECONNREFUSED: no server uses it. */
MUST_USE int control_connect(const char *directory);
/* Deletes a checkpoint that is no longer used, if there is one. */
void control_delete_checkpoint(const char *directory);

#endif
