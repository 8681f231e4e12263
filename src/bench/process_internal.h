/* bench/process_internal.h: what other processes use, from /proc. */
#ifndef GRAMME_BENCH_PROCESS_INTERNAL_H
#define GRAMME_BENCH_PROCESS_INTERNAL_H

#include "err/err.h"

enum { PROCESSES_MAX = 16 };

struct process_list {
    int64_t pids[PROCESSES_MAX];
    size_t count;
};

/* From "12,34"; STR_NULL is an empty list. */
MUST_USE bool process_list_read(struct process_list *list, struct str text, struct err *err);
/* User and system time of all, all their threads included; a process that is gone counts as 0. */
MUST_USE double process_list_cpu_seconds(const struct process_list *list);
/* Resident memory of all. */
MUST_USE uint64_t process_list_bytes(const struct process_list *list);

#endif
