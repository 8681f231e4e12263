/* The background thread that deletes expired items.
 *
 * It reads the rows of a table's expiry space up to the current time, bucket by bucket, and deletes
 * their items by the same writes as calls do. A pass may take many rounds; each round works on
 * every table, so that a million items of one table do not delay another one. The next pass begins
 * where the last one ended: later rows never have an earlier time (see expiry.h), except for writes
 * that were under way. For these a pass begins a little earlier, and now and then at the oldest
 * row. */
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "engine/backfill_scan.h"
#include "engine/engine_internal.h"
#include "engine/expiry.h"
#include "err/messages.h"

enum { ROUND_MS = 250 };
/* Rounds without work use at most 1 / REST_FACTOR of the time. */
enum { REST_FACTOR = 4 };
/* Largest rate of deletions, so that calls are hardly delayed; a thread that was delayed may catch
 * up with BURST_US. */
enum { ITEMS_PER_SECOND = 25000, BURST_US = 100 * 1000 };
/* Items that one update deletes, and updates under way: several are needed only if each takes long.
 */
enum { BATCH_ITEMS = 64, BATCHES_MAX = 16 };
/* How many rows of a bucket are read in one share of a round. */
enum { SHARE_ROWS = 512 };
/* How far back a pass begins, and how often one begins with the oldest rows. */
enum { BACK_S = 2, FULL_PASS_US = 60 * 1000 * 1000 };
/* How long one space is filled before other tables are served. */
enum { FILL_SHARE_US = 100 * 1000 };

struct bucket_pass {
    struct str from; /* where to go on */
    bool is_over;
};

/* The sweep of one table. */
struct sweep {
    struct sweep *next;
    uint32_t space;
    bool is_wanted; /* the table still has this space */

    bool is_passing;
    bool has_failed; /* a part of this pass was not done */
    int64_t due_s;   /* of this pass, as all below */
    int64_t oldest_s;
    struct bucket_pass buckets[EXPIRY_BUCKETS];
    struct arena arena; /* for what buckets point to */

    int64_t swept_s;      /* rows up to this time are erased */
    int64_t full_pass_us; /* when the last full pass began; 0: never */

    struct backfill_scan scan; /* TTL_ENABLING: fills the space */
};

struct expiry_sweeps {
    struct sweep *first;
    atomic_bool clock_moved;
    int64_t next_batch_us; /* when the next one may start */
};

struct expiry_sweeps *expiry_sweeps_create(void)
{
    struct expiry_sweeps *sweeps = mem_zalloc(sizeof(*sweeps));
    atomic_init(&sweeps->clock_moved, false);
    return sweeps;
}

static void destroy_sweep(struct sweep *sweep)
{
    arena_finish(&sweep->arena);
    mem_free(sweep);
}

void expiry_sweeps_destroy(struct expiry_sweeps *sweeps)
{
    while (sweeps != NULL && sweeps->first != NULL) {
        struct sweep *first = sweeps->first;
        sweeps->first = first->next;
        destroy_sweep(first);
    }
    mem_free(sweeps);
}

void expiry_wake(struct engine *engine)
{
    background_wake(&engine->expiry);
}

void expiry_clock_moved(struct engine *engine)
{
    atomic_store(&engine->sweeps->clock_moved, true);
    background_wake(&engine->expiry);
}

static struct sweep *sweep_of(struct expiry_sweeps *sweeps, const struct table *table)
{
    struct sweep *sweep = sweeps->first;
    while (sweep != NULL && sweep->space != table->ttl_space) {
        sweep = sweep->next;
    }
    if (sweep == NULL) {
        sweep = mem_zalloc(sizeof(*sweep));
        sweep->space = table->ttl_space;
        sweep->next = sweeps->first;
        sweeps->first = sweep;
        arena_init(&sweep->arena);
    }
    sweep->is_wanted = true;
    return sweep;
}

static void forget_unwanted(struct expiry_sweeps *sweeps)
{
    struct sweep **at = &sweeps->first;
    while (*at != NULL) {
        struct sweep *sweep = *at;
        if (sweep->is_wanted) {
            sweep->is_wanted = false; /* until the next round */
            at = &sweep->next;
        } else {
            *at = sweep->next;
            destroy_sweep(sweep);
        }
    }
}

/* --- deleting --- */

/* Some deletes under way together. */
struct batch {
    struct share *share;
    struct arena arena;
    struct items_write call;
    struct item_write writes[BATCH_ITEMS];
    struct expiry_find finds[BATCH_ITEMS];
    size_t count;
    bool is_busy;
    bool has_failed;
};

/* One table's share of a round. */
struct share {
    struct background *background;
    const struct table *table;
    struct sweep *sweep;
    struct str keys[SHARE_ROWS]; /* of the expiry rows read */
    size_t key_count;
    struct arena arena;
    struct background_range range;
    struct batch *batches; /* BATCHES_MAX */
    bool has_ended;        /* a batch has ended */
    bool found_any;        /* in all shares of this round */
};

static void batch_done(struct engine_call *call)
{
    struct batch *batch = CONTAINER_OF(call, struct batch, call.call);
    batch->has_failed = call->err.code != ERR_NONE || batch->call.failed;
    batch->is_busy = false;
    batch->share->has_ended = true;
}

/* Waits until as many items may be deleted. */
static void wait_for_rate(struct share *share, size_t items)
{
    int64_t *next_us = &share->background->engine->sweeps->next_batch_us;
    *next_us = MAX(*next_us, clock_monotonic_us() - BURST_US);
    int64_t left_ms = (*next_us - clock_monotonic_us()) / 1000;
    while (left_ms > 0 && !background_is_stopping(share->background)) {
        waiting_mailbox_run_for(share->background->mailbox, left_ms);
        left_ms = (*next_us - clock_monotonic_us()) / 1000;
    }
    *next_us += (int64_t)items * 1000000 / ITEMS_PER_SECOND;
}

/* Starts the deletes of `count` writes of the batch, from number `first` on. */
static void start_writes(struct batch *batch, size_t first, size_t count)
{
    struct share *share = batch->share;
    wait_for_rate(share, count);
    batch->is_busy = true;
    batch->call = (struct items_write){
        .call =
            {
                .engine = share->background->engine,
                .arena = &batch->arena,
                .home = waiting_mailbox_box(share->background->mailbox),
                .err = ERR_INIT(&batch->arena),
                .done = batch_done,
            },
        .writes = &batch->writes[first],
        .write_count = count,
    };
    struct items_write *call = &batch->call;
    engine_write_items(&call, 1);
}

static void wait_for_batch(struct batch *batch)
{
    struct share *share = batch->share;
    while (batch->is_busy) {
        share->has_ended = false;
        waiting_mailbox_run(share->background->mailbox, &share->has_ended);
    }
}

/* A batch is one update, so an item that cannot be read (a bad block) fails all its deletes:
 * repeats them one by one. What fails alone is tried again by the next pass. */
static void repeat_failed(struct batch *batch)
{
    struct share *share = batch->share;
    bool has_failed = batch->has_failed;
    if (has_failed && batch->count > 1) {
        has_failed = false;
        for (size_t i = 0; i < batch->count && !background_is_stopping(share->background); i++) {
            start_writes(batch, i, 1);
            wait_for_batch(batch);
            has_failed = has_failed || batch->has_failed;
        }
    }
    batch->has_failed = false;
    share->sweep->has_failed = share->sweep->has_failed || has_failed;
}

/* Returns an empty batch that is not in use. */
static struct batch *free_batch(struct share *share)
{
    for (;;) {
        for (size_t i = 0; i < BATCHES_MAX; i++) {
            struct batch *batch = &share->batches[i];
            if (!batch->is_busy) {
                repeat_failed(batch);
                arena_reset(&batch->arena);
                batch->count = 0;
                return batch;
            }
        }
        share->has_ended = false;
        waiting_mailbox_run(share->background->mailbox, &share->has_ended);
    }
}

static bool holds(const struct batch *batch, struct str row_key)
{
    for (size_t i = 0; i < batch->count; i++) {
        if (str_eq(batch->writes[i].key.row, row_key)) {
            return true;
        }
    }
    return false;
}

static void add_delete(struct batch *batch, struct str key, struct str row_key)
{
    struct share *share = batch->share;
    struct expiry_find *find = &batch->finds[batch->count];
    *find = (struct expiry_find){
        .key = arena_copy(&batch->arena, key),
        .due_s = share->sweep->due_s,
        .oldest_s = share->sweep->oldest_s,
    };
    batch->writes[batch->count++] = (struct item_write){
        .kind = WRITE_DELETE,
        .table = share->table,
        .key.row = row_key,
        .is_internal = true,
        .expiry = find,
    };
}

/* Deletes the items of the rows that were read. Two rows may refer to one item, which may be only
 * once in an update. */
static void delete_found(struct share *share)
{
    struct batch *batch = free_batch(share);
    for (size_t i = 0; i < share->key_count; i++) {
        struct str row_key = expiry_item_row(&batch->arena, share->table->space, share->keys[i]);
        if (batch->count == BATCH_ITEMS || holds(batch, row_key)) {
            start_writes(batch, 0, batch->count);
            batch = free_batch(share);
            row_key = expiry_item_row(&batch->arena, share->table->space, share->keys[i]);
        }
        add_delete(batch, share->keys[i], row_key);
    }
    if (batch->count > 0) {
        start_writes(batch, 0, batch->count);
    }
}

static void wait_for_batches(struct share *share)
{
    for (size_t i = 0; i < BATCHES_MAX; i++) {
        wait_for_batch(&share->batches[i]);
        repeat_failed(&share->batches[i]);
    }
}

/* --- a pass --- */

static bool read_row(struct store_range *range, struct str key, struct str value)
{
    (void)value;
    struct share *share = CONTAINER_OF(range, struct share, range.range);
    share->keys[share->key_count++] = arena_copy(&share->arena, key);
    return share->key_count < SHARE_ROWS;
}

/* The smallest key behind `key`. */
static struct str key_behind(struct arena *arena, struct str key)
{
    char *bytes = arena_bytes(arena, key.len + 1);
    memcpy(bytes, key.data, key.len);
    bytes[key.len] = 0;
    return str_make(bytes, key.len + 1);
}

static void sweep_bucket(struct share *share, size_t number)
{
    struct sweep *sweep = share->sweep;
    struct bucket_pass *bucket = &sweep->buckets[number];
    arena_reset(&share->arena);
    share->key_count = 0;
    share->range.range = (struct store_range){
        .lo = bucket->from,
        .hi = expiry_bucket_key(&share->arena, sweep->space, number, sweep->due_s + 1),
        .arena = &share->arena,
        .row = read_row,
    };
    if (background_range(share->background, &share->range) != STORE_OK) {
        sweep->has_failed = true;
        bucket->is_over = true;
        return;
    }
    bucket->is_over = share->key_count < SHARE_ROWS;
    if (!bucket->is_over) {
        bucket->from = key_behind(&sweep->arena, share->keys[share->key_count - 1]);
    }
    share->found_any = share->found_any || share->key_count > 0;
    delete_found(share);
}

static void begin_pass(const struct engine *engine, struct sweep *sweep)
{
    int64_t now_ms = trusted_clock_ms(&engine->clock);
    int64_t now_us = clock_monotonic_us();
    sweep->is_passing = true;
    sweep->has_failed = false;
    sweep->due_s = (now_ms - engine->ttl_delay_ms - 1) / 1000;
    sweep->oldest_s = now_ms / 1000 - EXPIRY_PAST_MAX_S;
    if (sweep->full_pass_us == 0 || now_us - sweep->full_pass_us > FULL_PASS_US) {
        sweep->full_pass_us = now_us;
        sweep->swept_s = 0;
    }
    arena_reset(&sweep->arena);
    for (size_t i = 0; i < EXPIRY_BUCKETS; i++) {
        sweep->buckets[i] = (struct bucket_pass){
            .from = expiry_bucket_key(&sweep->arena, sweep->space, i, sweep->swept_s + 1),
        };
    }
}

/* Sweeps a table for one share of a round. Returns whether its pass is not complete. */
static bool sweep_table(struct share *share)
{
    struct sweep *sweep = share->sweep;
    if (!sweep->is_passing) {
        begin_pass(share->background->engine, sweep);
    }
    bool more = false;
    for (size_t i = 0; i < EXPIRY_BUCKETS; i++) {
        if (!sweep->buckets[i].is_over && !background_is_stopping(share->background)) {
            sweep_bucket(share, i);
            more = more || !sweep->buckets[i].is_over;
        }
    }
    wait_for_batches(share);
    if (!more) {
        sweep->is_passing = false;
        sweep->swept_s = sweep->has_failed ? sweep->swept_s : sweep->due_s - BACK_S;
    }
    return more;
}

/* --- filling a new space --- */

struct enabling {
    struct table_change change;
    uint32_t space;
    bool is_done;
};

static const struct table *enable(struct table_change *change, const struct table *table)
{
    struct enabling *enabling = CONTAINER_OF(change, struct enabling, change);
    if (table->ttl != TTL_ENABLING || table->ttl_space != enabling->space) {
        err_set(&change->call.err, ERR_TABLE_CHANGED, MESSAGE_TABLE_CHANGED);
        return NULL;
    }
    struct table *made = ARENA_NEW(change->call.arena, struct table);
    *made = *table;
    made->ttl = TTL_ENABLED;
    backfill_scan_finish(change->batch, made->ttl_space, change->call.arena);
    return made;
}

static void enable_done(struct engine_call *call)
{
    struct enabling *enabling = CONTAINER_OF(call, struct enabling, change.call);
    table_release(enabling->change.table);
    enabling->is_done = true;
}

/* All items are in the space: TTL becomes enabled. If this fails, the next round repeats it. */
static void end_filling(struct share *share)
{
    struct enabling enabling = {.space = share->sweep->space};
    enabling.change = (struct table_change){
        .call =
            {
                .engine = share->background->engine,
                .arena = &share->arena,
                .home = waiting_mailbox_box(share->background->mailbox),
                .err = ERR_INIT(&share->arena),
                .done = enable_done,
            },
        .name = share->table->name,
        .change = enable,
    };
    arena_reset(&share->arena);
    engine_change_table(&enabling.change);
    waiting_mailbox_run(share->background->mailbox, &enabling.is_done);
    if (enabling.change.call.err.code == ERR_NONE) {
        log_write(LOG_INFO, "engine", "table %.*s: time to live is enabled, after %zu items",
                  STR_ARG(share->table->name), share->sweep->scan.visited_count);
    }
}

/* True if there is more to do at once. */
static bool fill_space(struct share *share)
{
    struct engine *engine = share->background->engine;
    struct sweep *sweep = share->sweep;
    sweep->scan.background = share->background;
    sweep->scan.table = share->table;
    sweep->scan.space = sweep->space;
    sweep->scan.since_version = share->table->ttl_since_version;
    sweep->scan.visit = expiry_visit;
    if (sweep->scan.visited_count == 0 && !catalog_is_settled(engine, share->table)) {
        return false;
    }
    int64_t end_us = clock_monotonic_us() + FILL_SHARE_US;
    enum backfill_scan_result result = BACKFILL_SCAN_MORE;
    while (result == BACKFILL_SCAN_MORE && clock_monotonic_us() < end_us &&
           !background_is_stopping(share->background)) {
        result = backfill_scan_chunk(&sweep->scan);
    }
    if (result == BACKFILL_SCAN_END) {
        end_filling(share);
    }
    return result == BACKFILL_SCAN_MORE;
}

/* --- the round --- */

static bool expires(const struct table *table)
{
    return table->ttl_space != 0;
}

static void forget_passes(struct expiry_sweeps *sweeps)
{
    for (struct sweep *sweep = sweeps->first; sweep != NULL; sweep = sweep->next) {
        sweep->is_passing = false;
        sweep->full_pass_us = 0;
    }
}

static struct share *create_share(struct background *background)
{
    struct share *share = mem_zalloc(sizeof(*share));
    share->background = background;
    arena_init(&share->arena);
    share->batches = mem_zalloc(BATCHES_MAX * sizeof(*share->batches));
    for (size_t i = 0; i < BATCHES_MAX; i++) {
        share->batches[i].share = share;
        arena_init(&share->batches[i].arena);
    }
    return share;
}

static void destroy_share(struct share *share)
{
    for (size_t i = 0; i < BATCHES_MAX; i++) {
        arena_finish(&share->batches[i].arena);
    }
    mem_free(share->batches);
    arena_finish(&share->arena);
    mem_free(share);
}

int64_t expiry_round(struct background *background)
{
    struct engine *engine = background->engine;
    int64_t start_us = clock_monotonic_us();
    engine_clock_look(background);
    if (!store_is_leader(engine->store)) {
        forget_passes(engine->sweeps); /* the previous leader may not have swept everything */
        return ROUND_MS;
    }
    if (atomic_exchange(&engine->sweeps->clock_moved, false)) {
        forget_passes(engine->sweeps);
    }
    struct arena arena;
    arena_init(&arena);
    const struct table **tables;
    size_t count = catalog_collect(engine, expires, &arena, &tables);
    struct share *share = create_share(background);
    bool more = false;
    for (size_t i = 0; i < count; i++) {
        share->table = tables[i];
        share->sweep = sweep_of(engine->sweeps, tables[i]);
        bool fills_on = tables[i]->ttl == TTL_ENABLING && fill_space(share);
        bool sweeps_on = sweep_table(share);
        more = more || fills_on || sweeps_on;
        table_release(tables[i]);
    }
    bool found = share->found_any;
    destroy_share(share);
    arena_finish(&arena);
    forget_unwanted(engine->sweeps);
    int64_t took_ms = (clock_monotonic_us() - start_us) / 1000;
    return more ? 0 : found ? ROUND_MS : MAX((int64_t)ROUND_MS, took_ms * REST_FACTOR);
}
