/* server/set_clock.h: the operation SetClock, which the service does not have: tests set the clock
 * of the server, so that they need not wait until a token expires.
 *
 *   {"Now": 1800000000} or {"AdvanceSeconds": 600}  ->  {"Now": 1800000000}
 *
 * Seconds since 1970. The clock runs on from there; it may also be set back. After a restart the
 * server uses the system clock again. */
#ifndef GRAMME_SERVER_SET_CLOCK_H
#define GRAMME_SERVER_SET_CLOCK_H

#include "engine/engine.h"
#include "http/http.h"

#define SET_CLOCK_TARGET "Gramme_20261115.SetClock"

/* Sets the clock and writes the body of the answer. False: *err says why; the clock is unchanged.
 */
MUST_USE bool set_clock(struct engine *engine, struct http_exchange *exchange, struct err *err);

#endif
