/* base/clock.h: the one place that asks what time it is. */
#ifndef GRAMME_BASE_CLOCK_H
#define GRAMME_BASE_CLOCK_H

#include "base/base.h"

/* Wall clock, milliseconds since 1970. */
int64_t clock_wall_ms(void);
/* Never goes back; only differences mean something. */
int64_t clock_monotonic_us(void);
int64_t clock_monotonic_ns(void);

#endif
