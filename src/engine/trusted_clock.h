/* engine/trusted_clock.h: the time by which data is deleted. A wall clock that jumps ahead by
 * mistake must not delete what expires in between, so the engine deletes (items by time to live,
 * records of streams, tokens) by a clock of its own: the wall clock, unless that is more than an
 * hour ahead of where the monotonic clock says it should be. Then trusted time goes on as if there
 * had been no jump, until the wall clock has run evenly for `confirm_ms`, has come back, or an
 * operator confirms it.
 *
 * The last trusted time is kept in the store, so a jump while the server was down counts too: after
 * a longer stop trusted time is behind for `confirm_ms`. A clock that is set back is believed at
 * once. */
#ifndef GRAMME_ENGINE_TRUSTED_CLOCK_H
#define GRAMME_ENGINE_TRUSTED_CLOCK_H

#include <stdatomic.h>

#include "err/err.h"

enum { TRUSTED_JUMP_MS = 60 * 60 * 1000 };

enum trusted_look {
    TRUSTED_FINE,
    TRUSTED_JUMPED,    /* from now on the wall clock is doubted */
    TRUSTED_DOUBTED,   /* it still is */
    TRUSTED_CONFIRMED, /* it no longer is: it has run evenly for long enough */
    TRUSTED_CAME_BACK, /* it no longer is: it agrees with the trusted time again */
};

struct trusted_clock {
    /* Trusted time minus the time of clock_boot_ms(), as of the last look. */
    atomic_int_least64_t offset_ms;
    atomic_bool is_doubted;
    atomic_bool is_confirmed; /* an operator has; until the next look */
    int64_t confirm_ms;
    /* Only for trusted_clock_look(). */
    int64_t doubted_offset_ms; /* of the wall clock since it was doubted first, or jumped again */
    int64_t doubted_since_ms;  /* by clock_boot_ms() */
    int64_t next_store_ms;     /* by clock_boot_ms(): when trusted time is to be stored again */
};

/* Believes the wall clock as it is now. */
void trusted_clock_init(struct trusted_clock *clock, int64_t confirm_ms);
/* The time of the store when it was last open: if the wall clock is far ahead, it is doubted. */
enum trusted_look trusted_clock_resume(struct trusted_clock *clock, int64_t stored_ms,
                                       int64_t wall_ms, int64_t boot_ms);
/* Compares the clocks; to be called every few seconds, always on the same thread. */
enum trusted_look trusted_clock_look(struct trusted_clock *clock, int64_t wall_ms, int64_t boot_ms);
/* Trusted time if the clocks say so. Any thread. */
int64_t trusted_clock_at(const struct trusted_clock *clock, int64_t wall_ms, int64_t boot_ms);
/* Trusted time now, in milliseconds since 1970. Any thread. */
int64_t trusted_clock_ms(const struct trusted_clock *clock);

/* --- of an engine --- */

struct engine;
struct background;
/* Reads the time at which the store was last open. */
MUST_USE bool engine_clock_load(struct engine *engine, struct err *err);
/* The row of the store that holds trusted time: its key, and what it is to hold now. */
MUST_USE struct str engine_clock_key(struct arena *arena);
MUST_USE struct str engine_clock_row(const struct engine *engine, struct arena *arena);
/* Looks, logs what has changed, and stores the trusted time now and then. On the background thread.
 */
void engine_clock_look(struct background *background);

#endif
