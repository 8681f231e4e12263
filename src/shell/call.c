/* Runs each call on a thread of its own, so that the main thread can stop waiting when Ctrl-C is
 * pressed. An abandoned call ends by itself; its answer is dropped. */
#include "shell/call_internal.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "client/insight.h"

/* One call. Freed by whoever ends last: the waiting thread or the calling one. */
struct job {
    struct gramme_db *db;
    char *operation; /* NULL: `text` is the path of a page */
    char *text;
    size_t len;
    struct gramme_answer *answer;
    struct gramme_error *error;
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

int wait_readable(int fd, int timeout_ms)
{
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
    return is_interrupted ? -1 : count;
}

/* --- calls --- */

static void release(struct job *job)
{
    if (atomic_fetch_sub(&job->references, 1) == 1) {
        gramme_answer_destroy(job->answer);
        gramme_error_destroy(job->error);
        close(job->done_fd);
        mem_free(job->operation);
        mem_free(job->text);
        mem_free(job);
    }
}

static void *run_job(void *context)
{
    struct job *job = context;
    job->answer =
        job->operation == NULL
            ? insight_fetch(job->db, job->text, &job->error)
            : gramme_call(job->db, job->operation, job->text, job->len, &job->error);
    uint64_t one = 1;
    ssize_t written = write(job->done_fd, &one, sizeof(one));
    (void)written; /* an eventfd of ours takes it */
    release(job);
    atomic_fetch_sub(&running_count, 1);
    return NULL;
}

static struct job *start_job(struct gramme_db *db, const char *operation, struct str text)
{
    struct job *job = mem_zalloc(sizeof(*job));
    job->db = db;
    job->operation = operation == NULL ? NULL : mem_strdup(operation);
    job->text = mem_alloc(text.len + 1);
    memcpy(job->text, text.data, text.len);
    job->text[text.len] = '\0';
    job->len = text.len;
    job->done_fd = eventfd(0, EFD_CLOEXEC);
    atomic_init(&job->references, 2);
    atomic_fetch_add(&running_count, 1);
    pthread_t thread;
    if (job->done_fd < 0 || pthread_create(&thread, NULL, run_job, job) != 0) {
        abort(); /* neither memory nor file descriptors for a single call */
    }
    pthread_detach(thread);
    return job;
}

static bool finish_job(struct session *session, struct job *job, struct gramme_answer **out)
{
    *out = NULL;
    session->was_interrupted = wait_readable(job->done_fd, -1) < 0;
    if (session->was_interrupted) {
        release(job);
        return fail(session, "interrupted; the request may still be carried out");
    }
    *out = job->answer;
    struct gramme_error *error = job->error;
    job->answer = NULL;
    job->error = NULL;
    release(job);
    return *out != NULL || fail_with(session, error);
}

bool call_json(struct session *session, struct gramme_db *db, const char *operation,
               struct str json, struct gramme_answer **out, struct usage *usage)
{
    int64_t start_us = clock_monotonic_us();
    bool good = finish_job(session, start_job(db, operation, json), out);
    if (usage != NULL) {
        usage->us += clock_monotonic_us() - start_us;
        usage->units += good ? gramme_answer_units(*out) : 0;
        usage->calls++;
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

bool call_insight(struct session *session, const char *path, struct gramme_answer **out)
{
    struct buf whole = {0};
    buf_format(&whole, "/_gramme/api/%s", path);
    bool good = finish_job(session, start_job(session->db, NULL, buf_str(&whole)), out);
    buf_finish(&whole);
    return good;
}

bool calls_are_pending(bool wait)
{
    while (wait && atomic_load(&running_count) > 0) {
        usleep(1000);
    }
    return atomic_load(&running_count) > 0;
}
