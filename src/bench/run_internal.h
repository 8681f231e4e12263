/* bench/run_internal.h: runs a workload for some time, and its results. */
#ifndef GRAMME_BENCH_RUN_INTERNAL_H
#define GRAMME_BENCH_RUN_INTERNAL_H

#include "bench/histogram_internal.h"
#include "bench/process_internal.h"
#include "bench/tally_internal.h"
#include "bench/workloads_internal.h"

struct run_plan {
    struct source *source;
    const char *label; /* shown with the progress; NULL: none is shown */
    int connection_count;
    int thread_count; /* 0: choose */
    double seconds;
    double warmup_seconds;
    uint64_t request_count; /* 0: until the time is over */
    double rate;            /* requests per second; 0: as fast as possible */
    struct process_list server;
};

struct run_result {
    struct histogram latency;
    double seconds;
    uint64_t answer_bytes; /* bodies */
    uint64_t retry_count;  /* after responses that asked to retry */
    uint64_t reconnect_count;
    struct tally errors;
    int thread_count;
    double generator_cpu_seconds;
    double server_cpu_seconds; /* while it was measured */
    uint64_t server_bytes;     /* resident, at the end */
};

/* Runs the plan. Fails only if it cannot start; later failures are counted in out->errors. */
MUST_USE bool run_work(const struct run_plan *plan, struct run_result *out, struct err *err);

#endif
