/* The delivery threads: the list of feeds, when each is served, and metrics. Started and stopped by
 * src/server. */
#include "kinesis/kinesis_internal.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"

enum { FOLLOWER_MS = 500, IDLE_MS = 60 * 1000, SETTLE_MS = 10 };

/* --- feeds --- */

/* Another thread may have changed the list of feeds. Any thread. */
static void read_again(void *context)
{
    struct kinesis *kinesis = context;
    for (size_t i = 0; i < WORKER_COUNT; i++) {
        atomic_store(&kinesis->workers[i].must_read, true);
        background_wake(&kinesis->workers[i].background);
    }
}

static void free_delivery(struct delivery *delivery)
{
    mem_free(delivery->cursors);
    mem_free(delivery->left_out_to);
    buf_finish(&delivery->table_name);
    buf_finish(&delivery->stream_arn);
    mem_free(delivery);
}

/* Forgets the deliveries of feeds that are not in the list. */
static void forget_others(struct worker *worker)
{
    pthread_mutex_lock(&worker->kinesis->lock);
    struct delivery **at = &worker->deliveries;
    while (*at != NULL) {
        struct delivery *delivery = *at;
        if (delivery->is_listed) {
            at = &delivery->next;
            continue;
        }
        *at = delivery->next;
        free_delivery(delivery);
    }
    pthread_mutex_unlock(&worker->kinesis->lock);
}

static struct delivery *find_delivery(struct worker *worker, const struct feed *feed)
{
    struct delivery *delivery = worker->deliveries;
    while (delivery != NULL && delivery->space != feed->space) {
        delivery = delivery->next;
    }
    if (delivery == NULL) {
        delivery = mem_zalloc(sizeof(*delivery));
        delivery->space = feed->space;
        buf_add(&delivery->table_name, feed->table_name);
        buf_add(&delivery->stream_arn, feed->destination.stream_arn);
        pthread_mutex_lock(&worker->kinesis->lock);
        delivery->next = worker->deliveries;
        worker->deliveries = delivery;
        pthread_mutex_unlock(&worker->kinesis->lock);
    }
    return delivery;
}

static bool is_mine(const struct worker *worker, const struct feed *feed)
{
    return feed->space % WORKER_COUNT == worker->number;
}

static bool read_feeds(struct worker *worker)
{
    worker->feed_count = 0;
    arena_reset(&worker->arena);
    if (!feed_read_all(&worker->background, &worker->arena, &worker->feeds, &worker->feed_count)) {
        worker->feed_count = 0;
        return false;
    }
    for (struct delivery *known = worker->deliveries; known != NULL; known = known->next) {
        known->is_listed = false;
    }
    for (size_t i = 0; i < worker->feed_count; i++) {
        if (is_mine(worker, &worker->feeds[i])) {
            find_delivery(worker, &worker->feeds[i])->is_listed = true;
        }
    }
    forget_others(worker);
    return true;
}

/* Whether an earlier feed of the same table has changes for the same stream: those come first. */
static bool has_predecessor(const struct worker *worker, const struct feed *feed)
{
    for (const struct feed *before = worker->feeds; before < feed; before++) {
        if (str_eq(before->table_name, feed->table_name) &&
            str_eq(before->destination.stream_arn, feed->destination.stream_arn)) {
            return true;
        }
    }
    return false;
}

/* Removes a feed that is not needed any more. */
static int64_t remove_feed(struct worker *worker, const struct feed *feed)
{
    if (!feed_remove(&worker->background, feed)) {
        return RETRY_MS;
    }
    read_again(worker->kinesis);
    return 0;
}

/* Serves a feed once. Returns the time until the next call in ms. */
static int64_t serve_feed(struct worker *worker, const struct feed *feed)
{
    struct delivery *delivery = find_delivery(worker, feed);
    bool is_settled = feed_is_settled(worker->kinesis->engine, feed);
    bool has_ended = feed->ended_ms != 0;
    enum destination_state state = feed->destination.state;
    if (state == DESTINATION_ENABLING && !has_ended) {
        return is_settled ? enable_feed(worker, feed, delivery) : SETTLE_MS;
    }
    if (state != DESTINATION_ACTIVE && state != DESTINATION_DISABLING) {
        return is_settled ? remove_feed(worker, feed) : SETTLE_MS; /* was never ACTIVE */
    }
    if (has_predecessor(worker, feed)) {
        return limit_backlog(worker, feed, delivery);
    }
    bool is_empty = false;
    int64_t wait_ms = deliver_feed(worker, feed, delivery, &is_empty);
    if (is_empty && has_ended) {
        return is_settled ? remove_feed(worker, feed) : SETTLE_MS;
    }
    return wait_ms;
}

static int64_t worker_round(struct background *background)
{
    struct worker *worker = CONTAINER_OF(background, struct worker, background);
    if (!engine_leads_transfers(background->engine)) {
        worker->feed_count = 0;
        for (struct delivery *known = worker->deliveries; known != NULL; known = known->next) {
            known->is_listed = false;
        }
        forget_others(worker);
        atomic_store(&worker->must_read, true);
        return FOLLOWER_MS;
    }
    if (atomic_exchange(&worker->must_read, false) && !read_feeds(worker)) {
        atomic_store(&worker->must_read, true);
        return RETRY_MS;
    }
    int64_t wait_ms = worker->number == 0 ? finish_disabling(worker) : IDLE_MS;
    for (size_t i = 0; i < worker->feed_count && !background_is_stopping(background) &&
                       !atomic_load(&worker->must_read);
         i++) {
        if (is_mine(worker, &worker->feeds[i])) {
            int64_t feed_wait_ms = serve_feed(worker, &worker->feeds[i]);
            wait_ms = MIN(wait_ms, feed_wait_ms);
        }
    }
    return MIN(wait_ms, (int64_t)IDLE_MS);
}

/* --- start and stop --- */

static bool open_client(struct kinesis *kinesis, struct err *err)
{
    struct aws_problem problem;
    struct aws_options options = {
        .service = "kinesis",
        .url = kinesis->options.endpoint.len > 0 ? kinesis->options.endpoint.data : NULL,
        .region = kinesis->options.region.data,
    };
    return aws_client_open(&options, &kinesis->client, &problem) ||
           err_set(err, ERR_VALIDATION, "--kinesis-endpoint: %s", problem.text);
}

static void prepare_worker(struct kinesis *kinesis, uint32_t number)
{
    struct worker *worker = &kinesis->workers[number];
    worker->kinesis = kinesis;
    worker->number = number;
    atomic_init(&worker->must_read, true);
    arena_init(&worker->arena);
    arena_init(&worker->window_arena);
    background_prepare(&worker->background, kinesis->engine);
}

bool kinesis_start(struct engine *engine, const struct kinesis_options *options,
                   struct kinesis **out, struct err *err)
{
    struct kinesis *kinesis = mem_zalloc(sizeof(*kinesis));
    kinesis->engine = engine;
    kinesis->options = *options;
    arena_init(&kinesis->arena);
    kinesis->options.endpoint = arena_copy_c(&kinesis->arena, options->endpoint);
    kinesis->options.region = arena_copy_c(&kinesis->arena, options->region);
    pthread_mutex_init(&kinesis->lock, NULL);
    bool ok = open_client(kinesis, err);
    for (uint32_t i = 0; i < WORKER_COUNT; i++) {
        prepare_worker(kinesis, i);
    }
    if (ok) {
        engine_watch_catalog(engine, read_again, kinesis);
    }
    for (uint32_t i = 0; i < WORKER_COUNT && ok; i++) {
        ok =
            background_start(&kinesis->workers[i].background, engine, "kinesis", worker_round, err);
    }
    if (!ok) {
        kinesis_stop(kinesis);
        return false;
    }
    *out = kinesis;
    return true;
}

static void finish_worker(struct worker *worker)
{
    background_finish(&worker->background);
    while (worker->deliveries != NULL) {
        struct delivery *delivery = worker->deliveries;
        worker->deliveries = delivery->next;
        free_delivery(delivery);
    }
    stream_put_finish(&worker->put);
    buf_finish(&worker->data);
    arena_finish(&worker->arena);
    arena_finish(&worker->window_arena);
}

void kinesis_stop(struct kinesis *kinesis)
{
    if (kinesis == NULL) {
        return;
    }
    engine_watch_catalog(kinesis->engine, NULL, NULL);
    for (size_t i = 0; i < WORKER_COUNT; i++) {
        background_stop(&kinesis->workers[i].background);
    }
    for (size_t i = 0; i < WORKER_COUNT; i++) {
        finish_worker(&kinesis->workers[i]);
    }
    aws_client_close(kinesis->client);
    pthread_mutex_destroy(&kinesis->lock);
    arena_finish(&kinesis->arena);
    mem_free(kinesis);
}

/* --- metrics --- */

static double oldest_seconds(const struct delivery *delivery)
{
    return delivery->failing_since_us == 0
               ? 0
               : (double)(clock_monotonic_us() - delivery->failing_since_us) / 1000000;
}

enum { METRIC_FAILING = 2, METRIC_COUNT = 7 };

static const struct metric {
    const char *name;
    const char *type;
    const char *help;
} metrics[METRIC_COUNT] = {
    {"gramme_kinesis_backlog_records", "gauge", "changes that wait for delivery"},
    {"gramme_kinesis_backlog_bytes", "gauge", "their bytes in the store"},
    {"gramme_kinesis_failing_seconds", "gauge",
     "for how long deliveries have failed; 0: they work"},
    {"gramme_kinesis_delivered_records_total", "counter", "changes that were delivered"},
    {"gramme_kinesis_failed_calls_total", "counter", "calls that failed"},
    {"gramme_kinesis_lost_records_total", "counter",
     "changes that were too old, or too many, to be kept"},
    {"gramme_kinesis_left_out_records_total", "counter", "changes of more than 1 MiB"},
};

static double metric_value(const struct delivery *delivery, size_t number)
{
    const double values[METRIC_COUNT] = {
        (double)delivery->backlog.count, (double)delivery->backlog.bytes, oldest_seconds(delivery),
        (double)delivery->delivered,     (double)delivery->failed_calls,  (double)delivery->lost,
        (double)delivery->left_out,
    };
    return values[number];
}

/* The figures of a table and a stream. A destination that was disabled and enabled again may have
 * two feeds, but a series of metrics must occur once. */
struct series {
    struct series *next;
    const struct delivery *delivery; /* the first one */
    double values[METRIC_COUNT];
};

static void add_to_series(struct series *series, const struct delivery *delivery)
{
    for (size_t i = 0; i < METRIC_COUNT; i++) {
        double value = metric_value(delivery, i);
        series->values[i] =
            i == METRIC_FAILING ? MAX(series->values[i], value) : series->values[i] + value;
    }
}

/* Makes a list of all series in `arena`. Under kinesis->lock. */
static struct series *collect_series(const struct kinesis *kinesis, struct arena *arena)
{
    struct map map;
    struct series *first = NULL;
    map_init(&map);
    for (size_t k = 0; k < WORKER_COUNT; k++) {
        for (const struct delivery *delivery = kinesis->workers[k].deliveries; delivery != NULL;
             delivery = delivery->next) {
            struct str name =
                arena_format(arena, "%.*s %.*s", STR_ARG(buf_str(&delivery->table_name)),
                             STR_ARG(buf_str(&delivery->stream_arn)));
            struct series *series = map_get(&map, name);
            if (series == NULL) {
                series = ARENA_NEW(arena, struct series);
                *series = (struct series){.next = first, .delivery = delivery};
                first = series;
                map_put(&map, name, series);
            }
            add_to_series(series, delivery);
        }
    }
    map_finish(&map);
    return first;
}

void kinesis_write_metrics(struct kinesis *kinesis, struct buf *out)
{
    if (kinesis == NULL) {
        return;
    }
    struct arena arena;
    arena_init(&arena);
    pthread_mutex_lock(&kinesis->lock);
    const struct series *first = collect_series(kinesis, &arena);
    for (size_t i = 0; i < COUNT_OF(metrics); i++) {
        buf_format(out, "# HELP %s %s\n# TYPE %s %s\n", metrics[i].name, metrics[i].help,
                   metrics[i].name, metrics[i].type);
        for (const struct series *series = first; series != NULL; series = series->next) {
            buf_format(out, "%s{table=\"%.*s\",stream=\"%.*s\"} %lld\n", metrics[i].name,
                       STR_ARG(buf_str(&series->delivery->table_name)),
                       STR_ARG(buf_str(&series->delivery->stream_arn)),
                       (long long)series->values[i]);
        }
    }
    pthread_mutex_unlock(&kinesis->lock);
    arena_finish(&arena);
}
