/* The program pg_baseline: measures a plain loop over libpq that sends the statements of this
 * store, with a number of connections and of requests in flight. `make bench` compares Gramme with
 * it. One thread.
 *
 *   pg_baseline URL MODE CONNECTIONS DEPTH SECONDS
 *
 *   get   rows that are there, DEPTH gets in flight on each connection
 *   put   transactions of DEPTH items of a fixed set, with one index entry each
 *   hot   transactions of DEPTH updates, all of the same row
 *
 * Prints JSON: requests a second, and the CPU time for each that this process took, and that the
 * backends of PostgreSQL took if they run on this machine. put and hot write rows into gramme.kv:
 * not for a database that a server uses. */
#include <libpq-fe.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/random.h"

enum {
    CONNECTIONS_MAX = 64,
    DEPTH_MAX = 64,
    ROWS_MAX = 20000,   /* whose keys get draws from */
    ITEMS = 10000,      /* that put writes, as `gramme bench put` does */
    ITEM_KEY_LEN = 36,  /* space, hash, sort key of 16 bytes */
    INDEX_KEY_LEN = 70, /* space, hash, sort key, and what tells items apart */
    VALUE_LEN = 1084,   /* an item of 1 KB */
    MARKER_BUCKET = 87,
    PARAMS_MAX = 4,
};

enum statement {
#define STATEMENT(name_, sql_) STATEMENT_##name_,
#include "store/pg/statements.def"
#undef STATEMENT
};
static const struct {
    const char *name;
    const char *sql;
} statements[] = {
#define STATEMENT(name_, sql_) {#name_, sql_},
#include "store/pg/statements.def"
#undef STATEMENT
};

enum mode { MODE_GET, MODE_PUT, MODE_HOT };

struct row_key {
    uint8_t bytes[INDEX_KEY_LEN];
    size_t len;
};

struct baseline;

/* A connection and its requests in flight. */
struct link {
    struct baseline *baseline;
    PGconn *pq;
    size_t outstanding; /* statements without a result */
    bool is_writing;    /* the second round trip of a transaction */
    struct row_key keys[DEPTH_MAX];
    uint64_t items[DEPTH_MAX]; /* their numbers, before the keys are sorted */
};

struct baseline {
    enum mode mode;
    size_t link_count;
    size_t depth;
    struct link links[CONNECTIONS_MAX];
    struct random random;
    struct row_key *rows; /* that are there */
    size_t row_count;
    uint64_t done;
    char value[VALUE_LEN];
};

static void die(const char *what, const char *why)
{
    fprintf(stderr, "pg_baseline: %s: %s\n", what, why);
    exit(1);
}

/* Statements ------------------------------------------------------------------------------- */

struct params {
    const char *values[PARAMS_MAX];
    int lengths[PARAMS_MAX];
    int formats[PARAMS_MAX];
    uint8_t bucket[2];
    uint8_t wid[8];
};

static void add_param(struct params *params, int at, const void *data, size_t len)
{
    params->values[at] = data;
    params->lengths[at] = (int)len;
    params->formats[at] = 1;
}

static void send(struct link *link, enum statement statement, const struct params *params,
                 int count)
{
    if (PQsendQueryPrepared(link->pq, statements[statement].name, count,
                            count > 0 ? params->values : NULL, count > 0 ? params->lengths : NULL,
                            count > 0 ? params->formats : NULL, 1) != 1) {
        die("sending", PQerrorMessage(link->pq));
    }
    link->outstanding++;
}

/* A statement about one row: b, k, then wid and v if it takes them. */
static void send_row(struct link *link, enum statement statement, int bucket,
                     const struct row_key *key, int count)
{
    struct baseline *baseline = link->baseline;
    struct params params;
    put_u16_be(params.bucket, (uint16_t)bucket);
    put_u64_be(params.wid, random_next(&baseline->random) >> 2);
    add_param(&params, 0, params.bucket, sizeof(params.bucket));
    add_param(&params, 1, key->bytes, key->len);
    add_param(&params, 2, params.wid, sizeof(params.wid));
    add_param(&params, 3, baseline->value, sizeof(baseline->value));
    send(link, statement, &params, count);
}

static int bucket_of(const struct row_key *key)
{
    return key->bytes[4];
}

/* Requests --------------------------------------------------------------------------------- */

/* The key of an item, or of its index entry, always the same for its number. */
static void make_key(struct row_key *key, uint64_t item, size_t len)
{
    struct random random;
    random_init_seed(&random, item * 2 + (len == ITEM_KEY_LEN));
    for (size_t i = 0; i < len; i += 8) {
        uint64_t bits = random_next(&random);
        memcpy(key->bytes + i, &bits, len - i < 8 ? len - i : 8);
    }
    put_u32_be(key->bytes, len == ITEM_KEY_LEN ? 16 : 17); /* the space */
    key->len = len;
}

static void make_fixed_key(struct row_key *key, uint8_t kind, uint8_t number)
{
    *key = (struct row_key){.len = ITEM_KEY_LEN};
    key->bytes[4] = kind;
    key->bytes[5] = number;
}

static int key_cmp(const void *a, const void *b)
{
    return memcmp(((const struct row_key *)a)->bytes, ((const struct row_key *)b)->bytes,
                  ITEM_KEY_LEN);
}

/* The first round trip of a transaction: its rows are locked and read. */
static void begin(struct link *link)
{
    struct baseline *baseline = link->baseline;
    struct row_key marker;
    make_fixed_key(&marker, MARKER_BUCKET, (uint8_t)(link - baseline->links));
    send(link, STATEMENT_BEGIN, NULL, 0);
    send_row(link, STATEMENT_MARK, MARKER_BUCKET, &marker, 3);
    size_t rows = baseline->mode == MODE_HOT ? 1 : baseline->depth;
    for (size_t i = 0; i < rows; i++) {
        link->items[i] = random_next(&baseline->random) % ITEMS;
        make_key(&link->keys[i], link->items[i], ITEM_KEY_LEN);
    }
    if (baseline->mode == MODE_HOT) {
        make_fixed_key(&link->keys[0], 1, 0);
    }
    qsort(link->keys, rows, sizeof(link->keys[0]), key_cmp);
    for (size_t i = 0; i < rows; i++) {
        send_row(link, STATEMENT_LOCK, bucket_of(&link->keys[i]), &link->keys[i], 2);
        send_row(link, STATEMENT_READ, bucket_of(&link->keys[i]), &link->keys[i], 2);
    }
    link->is_writing = false;
}

/* The second: rows and index entries are written. Counters stay as they are, because no item is new
 * or has another size. */
static void commit(struct link *link)
{
    struct baseline *baseline = link->baseline;
    bool is_hot = baseline->mode == MODE_HOT;
    for (size_t i = 0; i < (is_hot ? 1 : baseline->depth); i++) {
        send_row(link, STATEMENT_UPDATE, bucket_of(&link->keys[i]), &link->keys[i], 4);
        if (!is_hot) {
            struct row_key entry;
            make_key(&entry, link->items[i], INDEX_KEY_LEN);
            send_row(link, STATEMENT_PUT, bucket_of(&entry), &entry, 4);
        }
    }
    send(link, STATEMENT_COMMIT, NULL, 0);
    link->is_writing = true;
}

static void sync_and_flush(struct link *link)
{
    if (PQpipelineSync(link->pq) != 1 || PQflush(link->pq) < 0) {
        die("sending", PQerrorMessage(link->pq));
    }
}

/* Gets are independent: as many as have been answered are sent again. */
static void refill(struct link *link)
{
    struct baseline *baseline = link->baseline;
    if (link->outstanding == baseline->depth) {
        return;
    }
    while (link->outstanding < baseline->depth) {
        const struct row_key *key =
            &baseline->rows[random_next(&baseline->random) % baseline->row_count];
        send_row(link, STATEMENT_GET, bucket_of(key), key, 2);
    }
    sync_and_flush(link);
}

static void go_on(struct link *link)
{
    struct baseline *baseline = link->baseline;
    if (baseline->mode == MODE_GET) {
        refill(link);
        return;
    }
    if (link->outstanding > 0) {
        return;
    }
    if (link->is_writing) { /* it is committed */
        baseline->done += baseline->depth;
        begin(link);
    } else {
        commit(link);
    }
    sync_and_flush(link);
}

static void take(struct link *link, PGresult *result)
{
    ExecStatusType status = PQresultStatus(result);
    if (status != PGRES_PIPELINE_SYNC) {
        if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK) {
            die("a statement failed", PQresultErrorMessage(result));
        }
        link->outstanding--;
        link->baseline->done += link->baseline->mode == MODE_GET;
    }
    PQclear(result);
}

static void receive(struct link *link)
{
    int nulls = 0; /* one between two results */
    if (PQconsumeInput(link->pq) != 1) {
        die("receiving", PQerrorMessage(link->pq));
    }
    while (!PQisBusy(link->pq) && nulls < 2) {
        PGresult *result = PQgetResult(link->pq);
        nulls = result == NULL ? nulls + 1 : 0;
        if (result != NULL) {
            take(link, result);
        }
    }
    go_on(link);
}

/* Preparing -------------------------------------------------------------------------------- */

static void run_sql(PGconn *pq, const char *sql)
{
    PGresult *result = PQexec(pq, sql);
    if (PQresultStatus(result) != PGRES_COMMAND_OK) {
        die(sql, PQresultErrorMessage(result));
    }
    PQclear(result);
}

static void open_link(struct link *link, const char *url)
{
    link->pq = PQconnectdb(url);
    if (PQstatus(link->pq) != CONNECTION_OK) {
        die("connecting", PQerrorMessage(link->pq));
    }
    for (size_t i = 0; i < sizeof(statements) / sizeof(statements[0]); i++) {
        PQclear(PQprepare(link->pq, statements[i].name, statements[i].sql, 0, NULL));
    }
}

/* Markers are updated, not inserted: they must be there. */
static void make_marker(struct link *link)
{
    struct row_key marker;
    make_fixed_key(&marker, MARKER_BUCKET, (uint8_t)(link - link->baseline->links));
    char text[2 * ITEM_KEY_LEN + 1];
    for (size_t i = 0; i < ITEM_KEY_LEN; i++) {
        snprintf(text + 2 * i, 3, "%02x", marker.bytes[i]);
    }
    char sql[256];
    snprintf(sql, sizeof(sql),
             "INSERT INTO gramme.kv VALUES (%d, '\\x%s', 0, '') ON CONFLICT DO NOTHING",
             MARKER_BUCKET, text);
    run_sql(link->pq, sql);
}

/* Keys of items: rows of 1 KB. */
static void read_rows(struct baseline *baseline)
{
    char sql[128];
    snprintf(sql, sizeof(sql),
             "SELECT k FROM gramme.kv WHERE length(v) > 900 AND length(k) = %d LIMIT %d",
             ITEM_KEY_LEN, ROWS_MAX);
    PGresult *result = PQexecParams(baseline->links[0].pq, sql, 0, NULL, NULL, NULL, NULL, 1);
    baseline->row_count = (size_t)PQntuples(result);
    baseline->rows = mem_alloc((baseline->row_count + 1) * sizeof(*baseline->rows));
    for (size_t i = 0; i < baseline->row_count; i++) {
        memcpy(baseline->rows[i].bytes, PQgetvalue(result, (int)i, 0), ITEM_KEY_LEN);
        baseline->rows[i].len = ITEM_KEY_LEN;
    }
    PQclear(result);
    if (baseline->row_count == 0) {
        die("get", "there are no items");
    }
}

static void start(struct baseline *baseline, const char *url)
{
    for (size_t i = 0; i < baseline->link_count; i++) {
        struct link *link = &baseline->links[i];
        link->baseline = baseline;
        open_link(link, url);
        if (baseline->mode != MODE_GET) {
            make_marker(link);
        } else if (i == 0) {
            read_rows(baseline);
        }
        if (PQenterPipelineMode(link->pq) != 1 || PQsetnonblocking(link->pq, 1) != 0) {
            die("pipeline mode", PQerrorMessage(link->pq));
        }
        link->is_writing = false;
        if (baseline->mode == MODE_GET) {
            refill(link);
        } else {
            begin(link);
            sync_and_flush(link);
        }
    }
}

/* Runs until the time is over; returns the seconds that it took. */
static double run(struct baseline *baseline, double seconds)
{
    int64_t start_ns = clock_monotonic_ns();
    int64_t until_ns = start_ns + (int64_t)(seconds * 1e9);
    struct pollfd polls[CONNECTIONS_MAX];
    while (clock_monotonic_ns() < until_ns) {
        for (size_t i = 0; i < baseline->link_count; i++) {
            bool has_more = PQflush(baseline->links[i].pq) > 0;
            polls[i] = (struct pollfd){.fd = PQsocket(baseline->links[i].pq),
                                       .events = (short)(POLLIN | (has_more ? POLLOUT : 0))};
        }
        if (poll(polls, baseline->link_count, 1000) < 0) {
            die("poll", "failed");
        }
        for (size_t i = 0; i < baseline->link_count; i++) {
            if (polls[i].revents & (POLLIN | POLLERR | POLLHUP)) {
                receive(&baseline->links[i]);
            }
        }
    }
    return (double)(clock_monotonic_ns() - start_ns) / 1e9;
}

static double cpu_seconds(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

/* Returns the CPU time of a process of this machine so far; 0 if it cannot be read. */
static double process_cpu_seconds(int pid)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/stat", pid);
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        return 0;
    }
    char text[1024];
    size_t len = fread(text, 1, sizeof(text) - 1, file);
    fclose(file);
    text[len] = '\0';
    const char *after_name = strrchr(text, ')');
    unsigned long user = 0;
    unsigned long system = 0;
    if (after_name == NULL ||
        sscanf(after_name + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user,
               &system) != 2) {
        return 0;
    }
    return (double)(user + system) / (double)sysconf(_SC_CLK_TCK);
}

static double backends_cpu_seconds(const struct baseline *baseline)
{
    double sum = 0;
    for (size_t i = 0; i < baseline->link_count; i++) {
        sum += process_cpu_seconds(PQbackendPID(baseline->links[i].pq));
    }
    return sum;
}

static size_t read_number(const char *text, size_t max)
{
    size_t number = strtoul(text, NULL, 10);
    if (number < 1 || number > max) {
        die("not a number in range", text);
    }
    return number;
}

int main(int argc, char **argv)
{
    static struct baseline baseline;
    if (argc != 6) {
        die("usage", "pg_baseline URL get|put|hot CONNECTIONS DEPTH SECONDS");
    }
    baseline.mode = strcmp(argv[2], "get") == 0   ? MODE_GET
                    : strcmp(argv[2], "put") == 0 ? MODE_PUT
                                                  : MODE_HOT;
    baseline.link_count = read_number(argv[3], CONNECTIONS_MAX);
    baseline.depth = read_number(argv[4], DEPTH_MAX);
    random_init(&baseline.random);
    start(&baseline, argv[1]);
    double warmup = 0.3;
    run(&baseline, warmup);
    baseline.done = 0;
    double cpu_before = cpu_seconds();
    double backends_before = backends_cpu_seconds(&baseline);
    double took = run(&baseline, strtod(argv[5], NULL));
    double cpu = cpu_seconds() - cpu_before;
    double backends_cpu = backends_cpu_seconds(&baseline) - backends_before;
    double count = (double)(baseline.done > 0 ? baseline.done : 1);
    printf("{\"per_second\": %.1f, \"count\": %llu, \"seconds\": %.3f, \"cpu_us\": %.2f, "
           "\"database_cpu_us\": %.2f}\n",
           (double)baseline.done / took, (unsigned long long)baseline.done, took, cpu * 1e6 / count,
           backends_cpu * 1e6 / count);
    for (size_t i = 0; i < baseline.link_count; i++) {
        PQfinish(baseline.links[i].pq); /* what is under way is rolled back */
    }
    mem_free(baseline.rows);
    return 0;
}
