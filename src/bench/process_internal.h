/* bench/process_internal.h: CPU time and memory of other processes, from /proc. */
#ifndef GRAMME_BENCH_PROCESS_INTERNAL_H
#define GRAMME_BENCH_PROCESS_INTERNAL_H

#include "err/err.h"

enum { PROCESSES_MAX = 16 };

struct process_list {
    int64_t pids[PROCESSES_MAX];
    size_t count;
};

/* Reads "12,34"; STR_NULL is an empty list. */
MUST_USE bool process_list_read(struct process_list *list, struct str text, struct err *err);
/* Returns the user and system time of all processes, with all their threads; a process that has
 * ended counts as 0. */
MUST_USE double process_list_cpu_seconds(const struct process_list *list);
/* Returns the resident memory of all processes. */
MUST_USE uint64_t process_list_bytes(const struct process_list *list);

#endif
