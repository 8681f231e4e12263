/* Reads the system's clocks. Any thread. */
#include "base/clock.h"

#include <stdatomic.h>
#include <stdio.h>
#include <sys/timex.h>
#include <time.h>

static atomic_int_least64_t moved_ms;

int64_t clock_wall_ms(void)
{
    return clock_wall_us() / 1000;
}

int64_t clock_wall_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000 +
           atomic_load_explicit(&moved_ms, memory_order_relaxed) * 1000;
}

void clock_move_wall(int64_t by_ms)
{
    atomic_fetch_add(&moved_ms, by_ms);
}

int64_t clock_wall_moved_ms(void)
{
    return atomic_load_explicit(&moved_ms, memory_order_relaxed);
}

int64_t clock_monotonic_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

int64_t clock_monotonic_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

int64_t clock_thread_ns(void)
{
    struct timespec used;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return (int64_t)used.tv_sec * 1000000000 + used.tv_nsec;
}

int64_t clock_boot_ms(void)
{
    struct timespec now;
#ifdef CLOCK_BOOTTIME
    clock_gettime(CLOCK_BOOTTIME, &now);
#else
    clock_gettime(CLOCK_MONOTONIC, &now);
#endif
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

bool clock_boot_id(char out[CLOCK_BOOT_ID_LEN])
{
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");
    if (file == NULL) {
        return false;
    }
    size_t len = fread(out, 1, CLOCK_BOOT_ID_LEN, file);
    fclose(file);
    return len == CLOCK_BOOT_ID_LEN;
}

bool clock_is_synchronized(void)
{
    struct timex status = {0};
    int state = adjtimex(&status);
    return state != -1 && state != TIME_ERROR;
}
