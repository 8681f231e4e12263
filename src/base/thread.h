/* base/thread.h: scheduling of the calling thread. */
#ifndef GRAMME_BASE_THREAD_H
#define GRAMME_BASE_THREAD_H

#include "base/base.h"

/* Asks the scheduler for short time slices for the calling thread. A thread that runs only briefly
 * at a time is then scheduled sooner when the processors are busy. Has no effect on kernels before
 * 6.12. */
void thread_ask_for_short_slices(void);

/* Lowers the priority of the calling thread, for work that must not delay threads that serve
 * connections. They preempt it as soon as they have work; when nothing else runs it gets the whole
 * processor. */
void thread_lower_priority(void);

#endif
