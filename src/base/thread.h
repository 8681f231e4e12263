/* base/thread.h: scheduling of the calling thread. */
#ifndef GRAMME_BASE_THREAD_H
#define GRAMME_BASE_THREAD_H

#include "base/base.h"

/* Asks the scheduler for short time slices for the calling thread. A thread that runs only briefly
 * at a time is then scheduled sooner when the processors are busy. Has no effect on kernels before
 * 6.12. */
void thread_ask_for_short_slices(void);

/* Leaves a thread about a tenth of a processor when everything is busy. With less, large requests,
 * and those that wait for locks they hold, would wait too long. */
enum { THREAD_LOW_NICE = 10 };
/* Lowers the priority of the calling thread to a nice value, for work that must not delay threads
 * that serve connections. They preempt it as soon as they have work; when nothing else runs it gets
 * the whole processor. */
void thread_lower_priority(int nice);

#endif
