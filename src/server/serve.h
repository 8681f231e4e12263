/* server/serve.h: `gramme serve`: opens store and engine, and serves until a signal. */
#ifndef GRAMME_SERVER_SERVE_H
#define GRAMME_SERVER_SERVE_H

#include "server/config.h"

/* Serves until SIGTERM or SIGINT, then closes everything. Returns the exit status of the program.
 */
int serve(const struct config *config);

#endif
