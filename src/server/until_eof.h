/* server/until_eof.h: `--until-eof`: the server ends when its standard input does. */
#ifndef GRAMME_SERVER_UNTIL_EOF_H
#define GRAMME_SERVER_UNTIL_EOF_H

#include "err/err.h"

/* Starts a thread that reads and discards standard input, and raises SIGINT in this process when it
 * ends: the process at the other end of the pipe has closed it or has ended. SIGINT must be blocked
 * in all threads. Fails with ERR_INTERNAL if there is no standard input or no thread. */
MUST_USE bool until_eof_start(struct err *err);

#endif
