/* Measures the limits of disk, memory and network of this machine: `gramme bench --limit`. Called
 * by bench.c on the main thread; the network needs a second thread, which answers. */
#include "bench/limits_internal.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "bench/limit_rows_internal.h"

enum {
    FSYNC_BYTES = 4096,
    PREALLOCATED_BYTES = 32 << 20,
    FILLED_BYTES = 16 << 20,
    ANSWER_BYTES = 200,
    REQUEST_OVERHEAD = 500,
    LINE_WORDS = 8, /* a cache line */
    LINES = 1 << 23,
    READS = 1000
};

static double cpu_seconds(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

/* Runs `step` until the time is over; each step counts as `per_step` units. */
static bool repeat(const struct bench_options *options, uint64_t per_step,
                   bool (*step)(void *context, struct err *err), void *context,
                   struct limit_result *out, struct err *err)
{
    double cpu_before = cpu_seconds();
    int64_t start_ns = clock_monotonic_ns();
    int64_t until_ns = start_ns + (int64_t)(options->seconds * 1e9);
    int64_t now_ns = start_ns;
    while (now_ns < until_ns) {
        int64_t before_ns = now_ns;
        if (!step(context, err)) {
            return false;
        }
        now_ns = clock_monotonic_ns();
        histogram_add(&out->latency, now_ns - before_ns);
        out->count += per_step;
    }
    out->seconds = (double)(now_ns - start_ns) / 1e9;
    out->cpu_seconds = cpu_seconds() - cpu_before;
    return true;
}

/* fsync ------------------------------------------------------------------------------------- */

static bool write_and_sync(int fd, struct err *err)
{
    static const char bytes[FSYNC_BYTES];
    return (write(fd, bytes, sizeof(bytes)) == (ssize_t)sizeof(bytes) && fdatasync(fd) == 0) ||
           err_set(err, ERR_INTERNAL, "cannot write: %s", strerror(errno));
}

/* Preallocates space as RocksDB does for its log; ignores file systems that cannot. */
static bool append_and_sync(void *context, struct err *err)
{
    int fd = *(int *)context;
    off_t end = lseek(fd, 0, SEEK_CUR);
    if (end % PREALLOCATED_BYTES == 0) {
        fallocate(fd, FALLOC_FL_KEEP_SIZE, end, PREALLOCATED_BYTES);
    }
    return write_and_sync(fd, err);
}

/* Overwrites existing data: the file neither grows nor moves. */
static bool overwrite_and_sync(void *context, struct err *err)
{
    int fd = *(int *)context;
    if (lseek(fd, 0, SEEK_CUR) >= FILLED_BYTES) {
        lseek(fd, 0, SEEK_SET);
    }
    return write_and_sync(fd, err);
}

/* Creates a file that is deleted when it is closed. */
static bool open_scratch(const struct bench_options *options, int *out, struct err *err)
{
    struct str name =
        arena_format(err->arena, "%.*s/gramme-bench-XXXXXX", STR_ARG(options->directory));
    char *path = mem_strdup(name.data);
    *out = mkostemp(path, O_CLOEXEC);
    bool good = *out >= 0;
    if (good) {
        unlink(path);
    } else {
        err_set(err, ERR_INTERNAL, "cannot write to %.*s: %s", STR_ARG(options->directory),
                strerror(errno));
    }
    mem_free(path);
    return good;
}

static bool measure_fsync(const struct bench_options *options, struct limit_result *out,
                          struct err *err)
{
    int fd;
    if (!open_scratch(options, &fd, err)) {
        return false;
    }
    out->unit = "fsyncs";
    bool good = repeat(options, 1, append_and_sync, &fd, out, err);
    close(fd);
    return good;
}

static bool measure_overwrite(const struct bench_options *options, struct limit_result *out,
                              struct err *err)
{
    int fd;
    if (!open_scratch(options, &fd, err)) {
        return false;
    }
    char *zeroes = mem_zalloc(FILLED_BYTES);
    bool good = write(fd, zeroes, FILLED_BYTES) == FILLED_BYTES && fsync(fd) == 0;
    mem_free(zeroes);
    out->unit = "fsyncs";
    good = good ? repeat(options, 1, overwrite_and_sync, &fd, out, err)
                : err_set(err, ERR_INTERNAL, "cannot write: %s", strerror(errno));
    close(fd);
    return good;
}

/* RocksDB ----------------------------------------------------------------------------------- */

struct commits {
    struct limit_rows *rows;
    int64_t per_commit;
};

static bool commit_puts(void *context, struct err *err)
{
    struct commits *commits = context;
    for (int64_t i = 0; i < commits->per_commit; i++) {
        limit_rows_put(commits->rows);
    }
    return limit_rows_commit(commits->rows, err);
}

static bool measure_rocksdb(const struct bench_options *options, struct limit_result *out,
                            struct err *err)
{
    struct commits commits = {.per_commit = options->batch};
    out->unit = "puts";
    bool good = limit_rows_open(options, &commits.rows, err) &&
                repeat(options, (uint64_t)options->batch, commit_puts, &commits, out, err);
    limit_rows_close(commits.rows);
    return good;
}

/* A round trip ------------------------------------------------------------------------------ */

struct wire {
    int client;
    int server;
    int log; /* the file that the server syncs before it responds; -1: none */
    size_t request_bytes;
    char *buffer;
    pthread_t thread;
};

static bool receive(int fd, char *buffer, size_t count)
{
    while (count > 0) {
        ssize_t got = recv(fd, buffer, count, 0);
        if (got <= 0) {
            return false;
        }
        count -= (size_t)got;
    }
    return true;
}

static void *answer_main(void *arg)
{
    struct wire *wire = arg;
    static const char answer[ANSWER_BYTES];
    char *buffer = mem_alloc(wire->request_bytes);
    struct arena arena;
    arena_init(&arena);
    struct err err = ERR_INIT(&arena);
    while (receive(wire->server, buffer, wire->request_bytes) &&
           (wire->log < 0 || append_and_sync(&wire->log, &err)) &&
           send(wire->server, answer, sizeof(answer), MSG_NOSIGNAL) == (ssize_t)sizeof(answer)) {
        /* again */
    }
    /* If the disk failed, the other end sees the closed connection */
    shutdown(wire->server, SHUT_RDWR);
    arena_finish(&arena);
    mem_free(buffer);
    return NULL;
}

static bool ask(void *context, struct err *err)
{
    struct wire *wire = context;
    char answer[ANSWER_BYTES];
    size_t bytes = wire->request_bytes;
    if (send(wire->client, wire->buffer, bytes, MSG_NOSIGNAL) == (ssize_t)bytes &&
        receive(wire->client, answer, sizeof(answer))) {
        return true;
    }
    return err_set(err, ERR_INTERNAL, "the loopback connection was lost");
}

/* Makes both ends of a TCP connection over loopback. */
static bool connect_ends(struct wire *wire, struct err *err)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(address);
    int on = 1;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    wire->client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool good = listener >= 0 && wire->client >= 0 &&
                bind(listener, (struct sockaddr *)&address, len) == 0 && listen(listener, 1) == 0 &&
                getsockname(listener, (struct sockaddr *)&address, &len) == 0 &&
                connect(wire->client, (struct sockaddr *)&address, len) == 0;
    wire->server = good ? accept4(listener, NULL, NULL, SOCK_CLOEXEC) : -1;
    if (listener >= 0) {
        close(listener);
    }
    if (wire->server < 0) {
        return err_set(err, ERR_INTERNAL, "cannot connect over loopback: %s", strerror(errno));
    }
    setsockopt(wire->client, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    setsockopt(wire->server, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    return true;
}

static bool measure_wire(const struct bench_options *options, int log, struct limit_result *out,
                         struct err *err)
{
    struct wire wire = {.client = -1, .server = -1, .log = log};
    wire.request_bytes = (size_t)options->size + REQUEST_OVERHEAD;
    wire.buffer = mem_zalloc(wire.request_bytes);
    out->unit = "round trips";
    bool good = connect_ends(&wire, err);
    if (good && pthread_create(&wire.thread, NULL, answer_main, &wire) != 0) {
        good = err_set(err, ERR_INTERNAL, "cannot start a thread");
    } else if (good) {
        good = repeat(options, 1, ask, &wire, out, err);
        shutdown(wire.client, SHUT_RDWR);
        pthread_join(wire.thread, NULL);
    }
    if (wire.client >= 0) {
        close(wire.client);
    }
    if (wire.server >= 0) {
        close(wire.server);
    }
    mem_free(wire.buffer);
    return good;
}

static bool measure_roundtrip(const struct bench_options *options, struct limit_result *out,
                              struct err *err)
{
    return measure_wire(options, -1, out, err);
}

static bool measure_durable(const struct bench_options *options, struct limit_result *out,
                            struct err *err)
{
    int log;
    if (!open_scratch(options, &log, err)) {
        return false;
    }
    bool good = measure_wire(options, log, out, err);
    close(log);
    return good;
}

/* Memory ------------------------------------------------------------------------------------ */

struct lines {
    uint64_t *words; /* the first word of each cache line is the index of the next one */
    uint64_t at;
};

static bool follow(void *context, struct err *err)
{
    (void)err;
    struct lines *lines = context;
    for (int i = 0; i < READS; i++) {
        lines->at = lines->words[lines->at * LINE_WORDS];
    }
    return true;
}

static bool measure_memory(const struct bench_options *options, struct limit_result *out,
                           struct err *err)
{
    struct lines lines = {.words = mem_alloc((size_t)LINES * LINE_WORDS * sizeof(uint64_t))};
    for (uint64_t i = 0; i < LINES; i++) {
        /* Visits every line once in a pseudo-random order (Knuth's MMIX generator). */
        lines.words[i * LINE_WORDS] = (i * 6364136223846793005 + 1442695040888963407) % LINES;
    }
    out->unit = "thousand reads";
    bool good = repeat(options, 1, follow, &lines, out, err);
    mem_free(lines.words);
    return good;
}

bool limit_measure(const struct bench_options *options, struct limit_result *out, struct err *err)
{
    static const struct {
        const char *name;
        bool (*measure)(const struct bench_options *options, struct limit_result *out,
                        struct err *err);
    } limits[] = {
        {"fsync", measure_fsync},     {"overwrite", measure_overwrite},
        {"rocksdb", measure_rocksdb}, {"roundtrip", measure_roundtrip},
        {"durable", measure_durable}, {"memory", measure_memory},
    };
    *out = (struct limit_result){0};
    for (size_t i = 0; i < COUNT_OF(limits); i++) {
        if (str_eq(options->limit, str_from_c(limits[i].name))) {
            return limits[i].measure(options, out, err);
        }
    }
    return err_set(err, ERR_VALIDATION,
                   "--limit is fsync, overwrite, rocksdb, roundtrip, durable or memory");
}
