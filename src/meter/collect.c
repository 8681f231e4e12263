/* The meter: each thread records into its own block; the collector thread swaps the blocks for
 * empty ones and adds them up. meter_record() runs on the threads of calls. */
#include "meter/survey_internal.h"

#include <sched.h>
#include <time.h>

#include "base/clock.h"
#include "base/mem.h"
#include "err/messages.h"
#include "meter/simulation_internal.h"

enum { COLLECT_MS = 1000, KEEP_MS = 10 * 1000, REFRESH_MS = 60 * 1000, SPARE_BLOCKS = 8 };

struct meter_thread *meter_thread(struct meter *meter, int number)
{
    return &meter->threads[number];
}

/* --- the threads of calls --- */

/* Passes a full block to the collector; returns an empty one, or the same block if there is
 * none. */
static struct block *swap_full(struct meter *meter, struct block *block)
{
    struct block *empty = NULL;
    pthread_mutex_lock(&meter->queue_mutex);
    if (meter->spare != NULL) {
        empty = meter->spare;
        meter->spare = empty->next;
        block->next = meter->full;
        meter->full = block;
        meter->wake = true;
        pthread_cond_signal(&meter->queue_filled);
    }
    pthread_mutex_unlock(&meter->queue_mutex);
    return empty != NULL ? empty : block;
}

static struct block *make_room(struct meter *meter, struct block *block)
{
    struct block *next = swap_full(meter, block);
    if (next == block && block_is_full_of_patterns(block)) {
        pthread_mutex_lock(&meter->mutex); /* patterns are never lost: add them here */
        meter_drain(meter, block);
        pthread_mutex_unlock(&meter->mutex);
    }
    return next;
}

/* Whether the example of a pattern is not known yet, as far as this thread remembers. */
static bool wants_example(struct meter_thread *thread, uint64_t fingerprint)
{
    uint64_t *known = &thread->known[fingerprint % KNOWN_SLOTS];
    bool wanted = *known != fingerprint;
    *known = fingerprint;
    return wanted;
}

/* A request that is malformed may have values where none are expected, which are not masked. */
static bool may_be_example(const struct meter_call *call)
{
    return call->err != ERR_SERIALIZATION && call->err != ERR_VALIDATION;
}

void meter_record(struct meter_thread *thread, const struct meter_call *call,
                  const struct meter_access *accesses)
{
    static const struct meter_access none = {0};
    int64_t now_ns = clock_monotonic_ns();
    struct block *block = atomic_exchange_explicit(&thread->current, NULL, memory_order_acquire);
    assert(block != NULL); /* the collector always puts another one there */
    const struct meter_access *access = accesses == NULL ? &none : accesses;
    for (; access != NULL; access = access->next) {
        struct recording recording = {
            .call = call,
            .access = access,
            .fingerprint = pattern_fingerprint(call, access),
            .now_ns = now_ns,
        };
        recording.with_example =
            may_be_example(call) && wants_example(thread, recording.fingerprint);
        block_record(block, &recording);
        if (UNLIKELY(block_is_full(block))) {
            block = make_room(thread->meter, block);
        }
    }
    atomic_store_explicit(&thread->current, block, memory_order_release);
    if (UNLIKELY(simulation_is_on(thread))) {
        simulation_charge(thread->meter->simulation, accesses);
    }
}

void meter_count_console(struct meter_thread *thread)
{
    atomic_fetch_add_explicit(&thread->console_calls, 1, memory_order_relaxed);
}

/* --- the collector --- */

static struct block *take_spare(struct meter *meter)
{
    pthread_mutex_lock(&meter->queue_mutex);
    struct block *block = meter->spare;
    if (block != NULL) {
        meter->spare = block->next;
    }
    pthread_mutex_unlock(&meter->queue_mutex);
    return block;
}

static void put_spare(struct meter *meter, struct block *block)
{
    pthread_mutex_lock(&meter->queue_mutex);
    block->next = meter->spare;
    meter->spare = block;
    pthread_mutex_unlock(&meter->queue_mutex);
}

static struct block *take_full(struct meter *meter)
{
    pthread_mutex_lock(&meter->queue_mutex);
    struct block *block = meter->full;
    if (block != NULL) {
        meter->full = block->next;
    }
    pthread_mutex_unlock(&meter->queue_mutex);
    return block;
}

static void drain_queue(struct meter *meter)
{
    for (struct block *block = take_full(meter); block != NULL; block = take_full(meter)) {
        meter_drain(meter, block);
        put_spare(meter, block);
    }
}

/* Swaps the block of one thread. If the thread is recording, waits briefly. */
static void collect_thread(struct meter *meter, struct meter_thread *thread)
{
    enum { ATTEMPTS = 1000 };
    struct block *empty = take_spare(meter);
    if (empty == NULL) {
        return; /* all are full: tries again next time */
    }
    for (int i = 0; i < ATTEMPTS; i++) {
        struct block *block = atomic_load(&thread->current);
        if (block != NULL && atomic_compare_exchange_strong(&thread->current, &block, empty)) {
            meter_drain(meter, block);
            put_spare(meter, block);
            return;
        }
        sched_yield();
    }
    put_spare(meter, empty);
}

void meter_collect(struct meter *meter)
{
    drain_queue(meter);
    for (int i = 0; i < meter->options.thread_count; i++) {
        collect_thread(meter, &meter->threads[i]);
    }
}

static void tick_tables(struct meter *meter)
{
    size_t at = 0;
    struct str name;
    void *value;
    while (map_next(&meter->tables, &at, &name, &value)) {
        struct table_sums *table = value;
        table->minutes[meter->minute_count % TABLE_MINUTES_KEPT] = table->now;
        table->now = (struct table_moment){0};
    }
}

static void tick_patterns(struct meter *meter)
{
    for (size_t i = 0; i < meter->pattern_count; i++) {
        struct pattern *pattern = meter->patterns[i];
        if (pattern->now.calls > 0 || pattern->last.calls > 0) {
            pattern->last = pattern->now;
            pattern->now = (struct pattern_minute){0};
        }
    }
}

void meter_tick(struct meter *meter)
{
    int64_t now_ms = clock_monotonic_us() / 1000;
    while (now_ms - meter->last_tick_ms >= 1000) {
        meter->last_tick_ms += 1000;
        meter->seconds[meter->second_count++ % SECONDS_KEPT] = meter->second;
        meter->second = (struct moment){0};
        if (meter->second_count % 60 == 0) {
            tick_tables(meter);
            tick_patterns(meter);
            meter->minutes[meter->minute_count++ % MINUTES_KEPT] = meter->minute;
            meter->minute = (struct moment){0};
        }
    }
    meter->second_ms = clock_wall_ms() - (now_ms - meter->last_tick_ms);
    meter->minute_ms = meter->second_ms - meter->second_count % 60 * 1000;
}

static bool wait_for_work(struct meter *meter)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += (long)COLLECT_MS * 1000000;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_mutex_lock(&meter->queue_mutex);
    while (!meter->stopping && !meter->wake &&
           pthread_cond_timedwait(&meter->queue_filled, &meter->queue_mutex, &until) == 0) {
    }
    meter->wake = false;
    bool stopping = meter->stopping;
    pthread_mutex_unlock(&meter->queue_mutex);
    return !stopping;
}

/* What waits for the store. */
static void keep_up(struct meter *meter, int64_t now_ms)
{
    meter_evict(meter);
    if (now_ms - meter->kept_ms >= KEEP_MS) {
        meter_save(meter, false);
        meter->kept_ms = now_ms;
    }
    if (meter->options.shared && now_ms - meter->refreshed_ms >= REFRESH_MS) {
        meter_load(meter);
    }
}

static void *collector_main(void *context)
{
    struct meter *meter = context;
    meter_load(meter);
    meter->kept_ms = clock_monotonic_us() / 1000;
    while (wait_for_work(meter)) {
        int64_t now_ms = clock_monotonic_us() / 1000;
        pthread_mutex_lock(&meter->mutex);
        drain_queue(meter);
        if (now_ms - meter->last_tick_ms >= 1000) {
            meter_collect(meter);
            meter_tick(meter);
        }
        pthread_mutex_unlock(&meter->mutex);
        keep_up(meter, now_ms);
    }
    pthread_mutex_lock(&meter->mutex);
    meter_collect(meter);
    pthread_mutex_unlock(&meter->mutex);
    meter_save(meter, true);
    return NULL;
}

/* --- beginning and end --- */

size_t meter_bytes(const struct meter *meter)
{
    size_t blocks = (size_t)meter->options.thread_count + SPARE_BLOCKS;
    size_t block = meter->threads[0].meter == NULL ? 0 : BLOCKS_BYTES_MAX / (blocks + 1);
    return sizeof(*meter) + meter->bytes + meter->heat.bytes + meter->survey_bytes +
           blocks * block + meter->slot_count * sizeof(*meter->slots) +
           (SECONDS_KEPT + MINUTES_KEPT) * sizeof(struct moment) +
           (size_t)meter->options.thread_count * sizeof(*meter->threads);
}

static void make_blocks(struct meter *meter)
{
    int thread_count = meter->options.thread_count;
    size_t bytes = BLOCKS_BYTES_MAX / (size_t)(thread_count + SPARE_BLOCKS + 1);
    size_t size = (size_t)thread_count * sizeof(*meter->threads);
    meter->threads = mem_alloc_aligned(64, size);
    memset(meter->threads, 0, size);
    for (int i = 0; i < thread_count; i++) {
        meter->threads[i].meter = meter;
        atomic_init(&meter->threads[i].current, block_create(bytes));
    }
    for (int i = 0; i < SPARE_BLOCKS; i++) {
        put_spare(meter, block_create(bytes));
    }
}

static void init_locks(struct meter *meter)
{
    pthread_condattr_t monotonic;
    pthread_mutex_init(&meter->mutex, NULL);
    pthread_mutex_init(&meter->queue_mutex, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&meter->queue_filled, &monotonic);
    pthread_condattr_destroy(&monotonic);
}

static bool start_collector(struct meter *meter, struct err *err)
{
    meter->collector_started = pthread_create(&meter->collector, NULL, collector_main, meter) == 0;
    if (meter->collector_started) {
        pthread_setname_np(meter->collector, "meter");
    }
    return meter->collector_started || err_set(err, ERR_INTERNAL, MESSAGE_NO_THREAD);
}

bool meter_create(struct engine *engine, const struct meter_options *options, struct meter **out,
                  struct err *err)
{
    struct meter *meter = mem_zalloc(sizeof(*meter));
    meter->engine = engine;
    meter->options = *options;
    init_locks(meter);
    make_blocks(meter);
    meter->slot_count = 32768; /* twice as many as there can be patterns */
    meter->slots = mem_zalloc(meter->slot_count * sizeof(*meter->slots));
    meter->patterns = mem_zalloc(meter->slot_count / 2 * sizeof(*meter->patterns));
    meter->seconds = mem_zalloc(SECONDS_KEPT * sizeof(*meter->seconds));
    meter->minutes = mem_zalloc(MINUTES_KEPT * sizeof(*meter->minutes));
    meter->simulation = simulation_create();
    map_init(&meter->tables);
    map_init(&meter->surveys);
    meter->mailbox = waiting_mailbox_create();
    meter->started_ms = meter->since_ms = clock_wall_ms();
    meter->last_tick_ms = meter->observing_ms = clock_monotonic_us() / 1000;
    meter_tick(meter);
    *out = meter;
    return prices_load(&meter->prices, options->prices, err) && start_collector(meter, err);
}

static void destroy_blocks(struct meter *meter)
{
    for (int i = 0; i < meter->options.thread_count; i++) {
        block_destroy(atomic_load(&meter->threads[i].current));
    }
    for (struct block *block = take_spare(meter); block != NULL; block = take_spare(meter)) {
        block_destroy(block);
    }
    mem_free(meter->threads);
}

static void stop_collector(struct meter *meter)
{
    if (meter->collector_started) {
        pthread_mutex_lock(&meter->queue_mutex);
        meter->stopping = true;
        pthread_cond_signal(&meter->queue_filled);
        pthread_mutex_unlock(&meter->queue_mutex);
        pthread_join(meter->collector, NULL);
    }
}

void meter_destroy(struct meter *meter)
{
    if (meter == NULL) {
        return;
    }
    stop_collector(meter);
    drain_queue(meter);
    meter_forget(meter);
    heat_finish(&meter->heat);
    destroy_blocks(meter);
    map_finish(&meter->tables);
    survey_forget(meter);
    map_finish(&meter->surveys);
    prices_finish(&meter->prices);
    simulation_destroy(meter->simulation);
    waiting_mailbox_destroy(meter->mailbox);
    mem_free(meter->slots);
    mem_free(meter->patterns);
    mem_free(meter->seconds);
    mem_free(meter->minutes);
    pthread_cond_destroy(&meter->queue_filled);
    pthread_mutex_destroy(&meter->queue_mutex);
    pthread_mutex_destroy(&meter->mutex);
    mem_free(meter);
}
