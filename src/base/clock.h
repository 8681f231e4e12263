/* base/clock.h: the one place that asks what time it is. */
#ifndef GRAMME_BASE_CLOCK_H
#define GRAMME_BASE_CLOCK_H

#include "base/base.h"

/* Wall clock, milliseconds since 1970. */
int64_t clock_wall_ms(void);
/* The same in microseconds. */
int64_t clock_wall_us(void);
/* Never goes back; only differences mean something. */
int64_t clock_monotonic_us(void);

#endif
