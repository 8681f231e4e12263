/* base/thread.h: what threads ask of the scheduler. */
#ifndef GRAMME_BASE_THREAD_H
#define GRAMME_BASE_THREAD_H

#include "base/base.h"

/* Asks for short slices for the thread that calls: one that needs only moments at a time then gets
 * them sooner when the processors are busy. Kernels before 6.12 do not know that and go on as
 * they are. */
void thread_ask_for_short_slices(void);

/* Lowers the priority of the calling thread, for work that must not delay the threads that serve
 * connections: those take the processor from it as soon as they have something to do. When nothing
 * else runs it works at full speed. */
void thread_lower_priority(void);

#endif
