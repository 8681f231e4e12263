/* server/console.h: the console, a web application that is compiled into the program and served
 * under /_gramme/. Its sources are in console/; tools/console builds them. */
#ifndef GRAMME_SERVER_CONSOLE_H
#define GRAMME_SERVER_CONSOLE_H

#include "http/http.h"

#define CONSOLE_TARGET "/_gramme/"

/* Whether this program contains the console: a build without the npm packages does not. */
MUST_USE bool console_is_built(void);

/* Answers a GET or HEAD of one of the console's files, and of "/_gramme", which is redirected to
 * "/_gramme/". Returns false, without an answer, for every other path. Needs no credentials: the
 * files hold no data. Called on any thread of the HTTP server. */
MUST_USE bool console_handle(struct http_exchange *exchange);

#endif
