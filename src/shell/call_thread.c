/* Runs each call on a thread of its own, so that the main thread can stop waiting when Ctrl-C is
 * pressed. An abandoned call ends by itself; its answer is dropped. */
#include "shell/call_thread_internal.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"

/* One call. The thread that ends last frees it: the waiting thread or the calling one. */
struct job {
    struct gramme_db *db;
    char *operation;
    char *json; /* NULL: `operation` is a page of Gramme's insight API */
    size_t len;
    struct gramme_value *page_parameters;
    struct gramme_answer *answer;
    struct gramme_error *error;
    pthread_t thread;
    int done_fd;
    atomic_int references;
};

static atomic_int running_count;
static volatile sig_atomic_t is_interrupted;

/* --- Ctrl-C --- */

static void on_interrupt(int signal_number)
{
    (void)signal_number;
    is_interrupted = 1;
}

void interrupts_init(void)
{
    struct sigaction action = {.sa_handler = on_interrupt};
    sigset_t mask;
    sigemptyset(&mask);
    sigaddset(&mask, SIGINT);
    sigaction(SIGINT, &action, NULL);
    pthread_sigmask(SIG_BLOCK, &mask, NULL);
    signal(SIGPIPE, SIG_IGN);
}

/* Takes a Ctrl-C that came while the signal was blocked. ppoll() alone would report input that was
 * typed after it first. */
static bool take_pending(void)
{
    sigset_t pending;
    struct timespec now = {0};
    if (sigpending(&pending) != 0 || !sigismember(&pending, SIGINT)) {
        return false;
    }
    sigemptyset(&pending);
    sigaddset(&pending, SIGINT);
    return sigtimedwait(&pending, NULL, &now) == SIGINT;
}

int wait_readable(int fd, int timeout_ms)
{
    if (take_pending()) {
        return -1;
    }
    struct pollfd poll = {.fd = fd, .events = POLLIN};
    struct timespec time = {timeout_ms / 1000, (long)(timeout_ms % 1000) * 1000000};
    sigset_t mask;
    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    sigdelset(&mask, SIGINT);
    is_interrupted = 0;
    int count;
    do {
        count = ppoll(&poll, 1, timeout_ms < 0 ? NULL : &time, &mask);
    } while (count < 0 && !is_interrupted); /* another signal, SIGWINCH for example */
    return is_interrupted || take_pending() ? -1 : count;
}

/* --- calls --- */

static void release(struct job *job)
{
    if (atomic_fetch_sub(&job->references, 1) == 1) {
        gramme_answer_destroy(job->answer);
        gramme_error_destroy(job->error);
        close(job->done_fd);
        mem_free(job->operation);
        mem_free(job->json);
        gramme_value_destroy(job->page_parameters);
        mem_free(job);
    }
}

static void *run_job(void *context)
{
    struct job *job = context;
    job->answer = job->json == NULL
                      ? gramme_insight(job->db, job->operation, job->page_parameters, &job->error)
                      : gramme_call(job->db, job->operation, job->json, job->len, &job->error);
    atomic_fetch_sub(&running_count, 1); /* the handle is not used any more */
    uint64_t one = 1;
    ssize_t written = write(job->done_fd, &one, sizeof(one));
    (void)written; /* an eventfd of ours takes it */
    release(job);
    return NULL;
}

static struct job *create_job(struct gramme_db *db, const char *operation)
{
    struct job *job = mem_zalloc(sizeof(*job));
    job->db = db;
    job->operation = mem_strdup(operation);
    job->done_fd = eventfd(0, EFD_CLOEXEC);
    atomic_init(&job->references, 2);
    return job;
}

static void start_job(struct job *job)
{
    atomic_fetch_add(&running_count, 1);
    if (job->done_fd < 0 || pthread_create(&job->thread, NULL, run_job, job) != 0) {
        abort(); /* neither memory nor file descriptors for a single call */
    }
}

static void add_usage(struct usage *usage, int64_t us, const struct gramme_answer *answer)
{
    usage->us += us;
    usage->units += answer != NULL ? gramme_answer_units(answer) : 0;
    usage->calls++;
}

/* Starts the call and waits for its end, or for Ctrl-C. */
static bool run_and_wait(struct session *session, struct job *job, struct gramme_answer **out)
{
    *out = NULL;
    int64_t start_us = clock_monotonic_us();
    start_job(job);
    session->was_interrupted = wait_readable(job->done_fd, -1) < 0;
    if (session->was_interrupted) {
        pthread_detach(job->thread);
        release(job);
        return fail(session, "interrupted; the request may still be carried out");
    }
    pthread_join(job->thread, NULL);
    *out = job->answer;
    struct gramme_error *error = job->error;
    job->answer = NULL;
    job->error = NULL;
    release(job);
    add_usage(&session->usage, clock_monotonic_us() - start_us, *out);
    return *out != NULL || fail_with(session, error);
}

bool call_json(struct session *session, struct gramme_db *db, const char *operation,
               struct str json, struct gramme_answer **out, struct usage *usage)
{
    int64_t before_us = session->usage.us;
    struct job *job = create_job(db, operation);
    job->json = mem_alloc(json.len + 1);
    memcpy(job->json, json.data, json.len);
    job->json[json.len] = '\0';
    job->len = json.len;
    bool good = run_and_wait(session, job, out);
    if (usage != NULL) {
        add_usage(usage, session->usage.us - before_us, *out);
    }
    return good;
}

bool call(struct session *session, struct gramme_db *db, const char *operation,
          const struct gramme_value *parameters, struct gramme_answer **out, struct usage *usage)
{
    size_t len;
    char *json = gramme_value_to_json(parameters, GRAMME_WIRE, &len);
    if (json == NULL) {
        const char *problem = gramme_value_problem(parameters);
        return fail(session, "%s", problem != NULL ? problem : "the request cannot be written");
    }
    bool good = call_json(session, db, operation, str_make(json, len), out, usage);
    gramme_free(json);
    return good;
}

bool call_insight(struct session *session, const char *page, const struct gramme_value *parameters,
                  struct gramme_answer **out)
{
    struct job *job = create_job(session->db, page);
    job->page_parameters = gramme_value_copy(parameters);
    return run_and_wait(session, job, out);
}

bool calls_are_pending(bool wait)
{
    while (wait && atomic_load(&running_count) > 0) {
        usleep(1000);
    }
    return atomic_load(&running_count) > 0;
}
