/* base/clock.h: the only place that reads the system's clocks. Any thread. */
#ifndef GRAMME_BASE_CLOCK_H
#define GRAMME_BASE_CLOCK_H

#include "base/base.h"

/* Wall clock: milliseconds since 1970, plus what clock_move_wall() has added. */
int64_t clock_wall_ms(void);
/* The same in microseconds. */
int64_t clock_wall_us(void);
/* Moves the wall clock of this process forward, or back if `by_ms` is negative. For tests
 * (`--test-clock on`). */
void clock_move_wall(int64_t by_ms);
/* By how much clock_move_wall() has moved it: for times that come from another machine's clock. */
int64_t clock_wall_moved_ms(void);
/* A clock that never goes back; only differences are meaningful. */
int64_t clock_monotonic_us(void);
/* The same in nanoseconds. */
int64_t clock_monotonic_ns(void);
/* Processor time that the calling thread has used, in nanoseconds. */
int64_t clock_thread_ns(void);
/* Milliseconds since the machine was started. Counts time in sleep, too, if the system supports
 * that. */
int64_t clock_boot_ms(void);

enum { CLOCK_BOOT_ID_LEN = 36 };
/* Writes the name of this start of the machine to `out`: clock_boot_ms() of two processes can be
 * compared if it is the same. False: not known. */
bool clock_boot_id(char out[CLOCK_BOOT_ID_LEN]);
/* Whether the kernel says that the wall clock is synchronized with a time server. */
bool clock_is_synchronized(void);

#endif
