/* server/set_clock.h: an operation of our own: tests set the clock of the server, so that they need
 * not wait ten minutes for a token to expire.
 *
 *   {"Now": 1800000000} or {"AdvanceSeconds": 600}  ->  {"Now": 1800000000}
 *
 * Seconds since 1970. The clock goes on from there; it may be set back too. A restart forgets it.
 */
#ifndef GRAMME_SERVER_SET_CLOCK_H
#define GRAMME_SERVER_SET_CLOCK_H

#include "engine/engine.h"
#include "http/http.h"

#define SET_CLOCK_TARGET "Gramme_20261115.SetClock"

/* Does what the request says and writes the answer's body. */
MUST_USE bool set_clock(struct engine *engine, struct http_exchange *exchange, struct err *err);

#endif
