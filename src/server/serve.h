/* server/serve.h: `gramme serve`: opens store and engine, serves until told to stop. */
#ifndef GRAMME_SERVER_SERVE_H
#define GRAMME_SERVER_SERVE_H

#include "server/config.h"

/* Returns when SIGTERM or SIGINT has come and everything is closed; the program's exit status. */
int serve(const struct config *config);

#endif
