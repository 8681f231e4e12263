/* base/clock.h: the one place that asks what time it is. */
#ifndef GRAMME_BASE_CLOCK_H
#define GRAMME_BASE_CLOCK_H

#include "base/base.h"

/* Wall clock, milliseconds since 1970, as moved by clock_move_wall(). */
int64_t clock_wall_ms(void);
/* The same in microseconds. */
int64_t clock_wall_us(void);
/* Sets the wall clock of this process forward, or back if `by_ms` is negative: for tests. */
void clock_move_wall(int64_t by_ms);
/* Never goes back; only differences mean something. */
int64_t clock_monotonic_us(void);
int64_t clock_monotonic_ns(void);
/* Milliseconds since the machine was started; goes on while it sleeps, where the system can tell.
 */
int64_t clock_boot_ms(void);

#endif
