/* Scheduling of threads through Linux system calls. Each function affects the calling thread. */
#include "base/thread.h"

#include <errno.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The kernel's struct sched_attr, which the C library does not declare. */
struct scheduling {
    uint32_t size;
    uint32_t policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime_ns; /* for ordinary threads: the time slice */
    uint64_t deadline_ns;
    uint64_t period_ns;
};

void thread_ask_for_short_slices(void)
{
    struct scheduling wanted;
    if (syscall(SYS_sched_getattr, 0, &wanted, sizeof(wanted), 0) != 0 || wanted.policy != 0) {
        return; /* another scheduling policy is set already: keep it */
    }
    wanted.size = sizeof(wanted);
    wanted.runtime_ns = 100000;
    syscall(SYS_sched_setattr, 0, &wanted, 0);
}

void thread_lower_priority(int nice)
{
    id_t thread = (id_t)syscall(SYS_gettid); /* on Linux the nice value belongs to a thread */
    errno = 0;
    int current = getpriority(PRIO_PROCESS, thread);
    if (errno == 0 && current < nice) {
        setpriority(PRIO_PROCESS, thread, nice);
    }
}
