/* bench/run_internal.h: running a kind of work for a while, and what came of it. */
#ifndef GRAMME_BENCH_RUN_INTERNAL_H
#define GRAMME_BENCH_RUN_INTERNAL_H

#include "bench/histogram_internal.h"
#include "bench/process_internal.h"
#include "bench/tally_internal.h"
#include "bench/works_internal.h"

struct run_plan {
    struct source *source;
    const char *label; /* shown with the progress; NULL: none is shown */
    int connection_count;
    int thread_count; /* 0: choose */
    double seconds;
    double warmup_seconds;
    uint64_t request_count; /* 0: until the time is over */
    double rate;            /* requests a second; 0: as fast as it goes */
    struct process_list server;
};

struct run_result {
    struct histogram latency;
    double seconds;
    uint64_t answer_bytes; /* bodies */
    uint64_t retry_count;  /* of answers that said "later" */
    uint64_t reconnect_count;
    struct tally errors;
    int thread_count;
    double generator_cpu_seconds;
    double server_cpu_seconds; /* while it was measured */
    uint64_t server_bytes;     /* resident, at the end */
};

/* Fails only if it cannot start; what happens later is in out->errors. */
MUST_USE bool run_work(const struct run_plan *plan, struct run_result *out, struct err *err);

#endif
