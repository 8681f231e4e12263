/* engine/trusted_clock.h: the clock by which the engine deletes data (items by time to live,
 * records of streams, tokens), and which the times of updates follow. A wall clock that jumps ahead
 * by mistake must neither delete data nor move the times of updates ahead, so trusted time is the
 * wall clock, unless that has advanced by an hour more than the monotonic clock. Then trusted time
 * continues without the jump, until the wall clock has run evenly for `confirm_ms`, agrees with
 * trusted time again, or an operator confirms it. Jumps of less than an hour are trusted, each on
 * its own: their sum has no limit, because a slow clock that is corrected in steps looks the same.
 *
 * The last trusted time is stored, so a jump while the server was stopped counts, too. If the
 * machine has not rebooted, the boot clock shows how long the server was stopped. After a reboot,
 * or if another machine stored the time, a wall clock that is an hour or more ahead is trusted only
 * if the kernel reports it as synchronized; otherwise trusted time lags behind for `confirm_ms`. A
 * clock that is set back is trusted at once.
 */
#ifndef GRAMME_ENGINE_TRUSTED_CLOCK_H
#define GRAMME_ENGINE_TRUSTED_CLOCK_H

#include <stdatomic.h>

#include "base/clock.h"
#include "err/err.h"

enum { TRUSTED_JUMP_MS = 60 * 60 * 1000 };

enum trusted_look {
    TRUSTED_FINE,
    TRUSTED_JUMPED,    /* the wall clock is not trusted from now on */
    TRUSTED_DOUBTED,   /* it is still not trusted */
    TRUSTED_CONFIRMED, /* it is trusted again: it has run evenly for long enough */
    TRUSTED_CAME_BACK, /* it is trusted again: it agrees with trusted time */
};

struct trusted_clock {
    /* Trusted time minus the time of clock_boot_ms(), as of the last trusted_clock_look(). */
    atomic_int_least64_t offset_ms;
    atomic_bool is_doubted;
    atomic_bool is_confirmed; /* an operator has confirmed it; reset by the next check */
    atomic_bool is_loaded;    /* the stored time was read: data may be deleted by this clock */
    int64_t confirm_ms;
    /* Only for trusted_clock_look(). */
    int64_t doubted_offset_ms; /* offset of the wall clock at its last jump */
    int64_t doubted_since_ms;  /* by clock_boot_ms() */
    int64_t next_store_ms;     /* by clock_boot_ms(): when trusted time is stored next */
    int64_t stored_ms;         /* by clock_boot_ms(): the last time, or the start */
    bool has_boot_id;
    char boot_id[CLOCK_BOOT_ID_LEN];
};

/* A row of trusted time. */
struct trusted_time {
    int64_t trusted_ms;
    bool has_boot_id;
    char boot_id[CLOCK_BOOT_ID_LEN];
    int64_t boot_ms; /* clock_boot_ms() at that time */
};

/* Starts with the current wall clock. */
void trusted_clock_init(struct trusted_clock *clock, int64_t confirm_ms);
/* Continues from a stored trusted time. If the wall clock is more than TRUSTED_JUMP_MS ahead of the
 * stored time plus the known elapsed time, it is trusted only if it `is_synchronized` and the
 * machine has rebooted since. */
enum trusted_look trusted_clock_resume(struct trusted_clock *clock,
                                       const struct trusted_time *stored, int64_t wall_ms,
                                       int64_t boot_ms, bool is_synchronized);
/* Reads a row of trusted time; false: it is not one. */
MUST_USE bool trusted_time_decode(struct str row, struct trusted_time *out);
/* Compares the clocks. Call it every few seconds, always on the same thread. */
enum trusted_look trusted_clock_look(struct trusted_clock *clock, int64_t wall_ms, int64_t boot_ms);
/* An operator confirms the wall clock: it is trusted from now on. The next look reports it. Any
 * thread. */
void trusted_clock_confirm(struct trusted_clock *clock, int64_t wall_ms, int64_t boot_ms);
/* Returns trusted time for these readings of the clocks. Any thread. */
int64_t trusted_clock_at(const struct trusted_clock *clock, int64_t wall_ms, int64_t boot_ms);
/* Returns the current trusted time, in milliseconds since 1970. Any thread. */
int64_t trusted_clock_ms(const struct trusted_clock *clock);
/* The same in microseconds; `clock` is a struct trusted_clock. For store_set_clock(). */
int64_t trusted_clock_us(const void *clock);

/* --- of an engine --- */

struct engine;
struct background;
/* Reads the stored trusted time. Blocks. */
MUST_USE bool engine_clock_load(struct engine *engine, struct err *err);
/* Returns the key of the row of trusted time. */
MUST_USE struct str engine_clock_key(struct arena *arena);
/* Returns the row of the current trusted time. */
MUST_USE struct str engine_clock_row(const struct engine *engine, struct arena *arena);
/* Compares the clocks, logs changes, and stores trusted time after the first minute and then
 * every ten minutes. On the background thread of expiry. */
void engine_clock_look(struct background *background);
/* Stores trusted time when the engine is closed, unless it was stored within the last minute.
 * Blocks.
 */
void engine_clock_close(struct engine *engine);

#endif
