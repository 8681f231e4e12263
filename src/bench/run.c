/* Runs a workload: starts the worker threads, shows progress, collects the results. Runs on the
 * main thread. */
#include "bench/run_internal.h"

#include <pthread.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "bench/worker_internal.h"

enum { CONNS_PER_THREAD_MIN = 8, POLL_MS = 10, SHOW_MS = 300, NS_PER_S = 1000000000 };

struct run {
    const struct run_plan *plan;
    struct worker *workers;
    int worker_count;
    int64_t start_ns;
    int64_t measure_from_ns;
    int64_t until_ns;
    int64_t shown_ns;
};

static int choose_thread_count(const struct run_plan *plan)
{
    int wanted = plan->thread_count;
    if (wanted == 0) {
        long processors = sysconf(_SC_NPROCESSORS_ONLN);
        wanted = (int)MIN(MAX(processors, 1L), (long)plan->connection_count / CONNS_PER_THREAD_MIN);
    }
    return MAX(MIN(wanted, plan->connection_count), 1);
}

/* Returns an equal share of `total`; the first ones are one larger. */
static uint64_t share_of(uint64_t total, int number, int count)
{
    return total / (uint64_t)count + (total % (uint64_t)count > (uint64_t)number);
}

static bool connect_workers(struct run *run, struct err *err)
{
    const struct run_plan *plan = run->plan;
    int first_conn = 0;
    for (int i = 0; i < run->worker_count; i++) {
        struct worker *worker = &run->workers[i];
        worker->plan = plan;
        worker->first_conn = first_conn;
        worker->conn_count = (int)share_of((uint64_t)plan->connection_count, i, run->worker_count);
        worker->quota = plan->request_count == 0
                            ? UINT64_MAX
                            : share_of(plan->request_count, i, run->worker_count);
        first_conn += worker->conn_count;
        if (!worker_connect(worker, err)) {
            return false;
        }
    }
    return true;
}

static bool start_workers(struct run *run, struct err *err)
{
    const struct run_plan *plan = run->plan;
    run->start_ns = clock_monotonic_ns();
    run->measure_from_ns = run->start_ns + (int64_t)(plan->warmup_seconds * NS_PER_S);
    run->until_ns = plan->request_count > 0
                        ? INT64_MAX
                        : run->measure_from_ns + (int64_t)(plan->seconds * NS_PER_S);
    for (int i = 0; i < run->worker_count; i++) {
        struct worker *worker = &run->workers[i];
        worker->measure_from_ns = run->measure_from_ns;
        worker->until_ns = run->until_ns;
        if (plan->rate > 0) { /* staggers the threads */
            worker->interval_ns =
                MAX((int64_t)(NS_PER_S / plan->rate * run->worker_count), (int64_t)1);
            worker->next_due_ns = run->start_ns + worker->interval_ns * (i + 1) / run->worker_count;
        }
        if (pthread_create(&worker->thread, NULL, worker_main, worker) != 0) {
            run->worker_count = i;
            return err_set(err, ERR_INTERNAL, "cannot start a thread");
        }
    }
    return true;
}

static void sleep_ns(int64_t duration_ns)
{
    struct timespec duration = {.tv_sec = duration_ns / NS_PER_S,
                                .tv_nsec = duration_ns % NS_PER_S};
    nanosleep(&duration, NULL);
}

static bool all_finished(const struct run *run)
{
    for (int i = 0; i < run->worker_count; i++) {
        if (!atomic_load(&run->workers[i].finished)) {
            return false;
        }
    }
    return true;
}

static uint64_t done_count(const struct run *run)
{
    uint64_t total = 0;
    for (int i = 0; i < run->worker_count; i++) {
        total += atomic_load_explicit(&run->workers[i].done_count, memory_order_relaxed);
    }
    return total;
}

static void show_progress(struct run *run)
{
    const struct run_plan *plan = run->plan;
    int64_t now_ns = clock_monotonic_ns();
    if (plan->label == NULL || now_ns - run->shown_ns < (int64_t)SHOW_MS * 1000000) {
        return;
    }
    run->shown_ns = now_ns;
    double seconds = (double)(now_ns - run->start_ns) / NS_PER_S;
    uint64_t done = done_count(run);
    double share = plan->request_count > 0 ? (double)done / (double)plan->request_count
                                           : seconds / (plan->warmup_seconds + plan->seconds);
    fprintf(stderr, "\r%s: %3.0f %%, %.1f s, %.0f requests/s   ", plan->label,
            100 * MIN(share, 1.0), seconds, (double)done / seconds);
    fflush(stderr);
}

/* Waits until `until_ns`, or until all workers have finished. */
static void watch(struct run *run, int64_t until_ns)
{
    for (;;) {
        int64_t left_ns = until_ns - clock_monotonic_ns();
        if (left_ns <= 0 || all_finished(run)) {
            return;
        }
        sleep_ns(MIN(left_ns, (int64_t)POLL_MS * 1000000));
        show_progress(run);
    }
}

static void collect(const struct run *run, struct run_result *out)
{
    int64_t last_ns = run->measure_from_ns;
    for (int i = 0; i < run->worker_count; i++) {
        const struct worker *worker = &run->workers[i];
        histogram_merge(&out->latency, &worker->latency);
        tally_merge(&out->errors, &worker->errors);
        out->answer_bytes += worker->answer_bytes;
        out->retry_count += worker->retry_count;
        out->reconnect_count += worker->reconnect_count;
        out->generator_cpu_seconds += worker->cpu_seconds;
        last_ns = MAX(last_ns, worker->last_ns);
    }
    out->seconds = (double)(last_ns - run->measure_from_ns) / NS_PER_S;
    out->thread_count = run->worker_count;
}

static void measure(struct run *run, struct run_result *out)
{
    const struct process_list *server = &run->plan->server;
    watch(run, run->measure_from_ns);
    double cpu_before = process_list_cpu_seconds(server);
    watch(run, INT64_MAX);
    for (int i = 0; i < run->worker_count; i++) {
        pthread_join(run->workers[i].thread, NULL);
    }
    out->server_cpu_seconds = process_list_cpu_seconds(server) - cpu_before;
    out->server_bytes = process_list_bytes(server);
    if (run->plan->label != NULL) {
        fprintf(stderr, "\r%*s\r", 60, "");
    }
    collect(run, out);
}

bool run_work(const struct run_plan *plan, struct run_result *out, struct err *err)
{
    *out = (struct run_result){0};
    struct run run = {.plan = plan, .worker_count = choose_thread_count(plan)};
    run.workers = mem_zalloc((size_t)run.worker_count * sizeof(*run.workers));
    int allocated = run.worker_count;
    bool good = connect_workers(&run, err);
    if (good) {
        good = start_workers(&run, err);
        measure(&run, out);
    }
    for (int i = 0; i < allocated; i++) {
        worker_destroy(&run.workers[i]);
    }
    mem_free(run.workers);
    return good;
}
