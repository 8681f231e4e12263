/* The clock by which the engine deletes data: see trusted_clock.h. The expiry thread compares the
 * clocks every round; any thread may read the time. */
#include "engine/trusted_clock.h"

#include "base/bytes.h"
#include "base/clock.h"
#include "base/log.h"
#include "engine/engine_internal.h"
#include "engine/expiry.h"

enum {
    EVEN_MS = 60 * 1000,        /* largest adjustment of a doubted clock that runs evenly */
    FIRST_STORE_MS = 60 * 1000, /* after the start, so that a short run writes nothing */
    STORE_MS = 10 * 60 * 1000,  /* how often trusted time is stored */
    STORED_VERSION = 1,
    STORED_LEN = 9,
};

void trusted_clock_init(struct trusted_clock *clock, int64_t confirm_ms)
{
    int64_t boot_ms = clock_boot_ms();
    *clock = (struct trusted_clock){
        .confirm_ms = confirm_ms,
        .next_store_ms = boot_ms + FIRST_STORE_MS,
    };
    atomic_init(&clock->offset_ms, clock_wall_ms() - boot_ms);
    atomic_init(&clock->is_doubted, false);
    atomic_init(&clock->is_confirmed, false);
}

static int64_t offset_of(const struct trusted_clock *clock)
{
    return atomic_load_explicit(&clock->offset_ms, memory_order_relaxed);
}

int64_t trusted_clock_at(const struct trusted_clock *clock, int64_t wall_ms, int64_t boot_ms)
{
    int64_t expected_ms = boot_ms + offset_of(clock);
    return wall_ms > expected_ms + TRUSTED_JUMP_MS ? expected_ms : wall_ms;
}

int64_t trusted_clock_ms(const struct trusted_clock *clock)
{
    return trusted_clock_at(clock, clock_wall_ms(), clock_boot_ms());
}

static enum trusted_look believe(struct trusted_clock *clock, int64_t offset_ms,
                                 enum trusted_look look)
{
    atomic_store_explicit(&clock->offset_ms, offset_ms, memory_order_relaxed);
    atomic_store(&clock->is_doubted, false);
    return look;
}

static enum trusted_look doubt(struct trusted_clock *clock, int64_t offset_ms, int64_t boot_ms)
{
    clock->doubted_offset_ms = offset_ms;
    clock->doubted_since_ms = boot_ms;
    bool before = atomic_exchange(&clock->is_doubted, true);
    return before ? TRUSTED_DOUBTED : TRUSTED_JUMPED;
}

enum trusted_look trusted_clock_look(struct trusted_clock *clock, int64_t wall_ms, int64_t boot_ms)
{
    int64_t offset_ms = wall_ms - boot_ms;
    bool is_doubted = atomic_load(&clock->is_doubted);
    if (atomic_exchange(&clock->is_confirmed, false)) {
        /* The clock may have been set after `wall_ms` was read: trusted_clock_confirm() knows. */
        return believe(clock, MAX(offset_ms, offset_of(clock)),
                       is_doubted ? TRUSTED_CONFIRMED : TRUSTED_FINE);
    }
    if (offset_ms <= offset_of(clock) + TRUSTED_JUMP_MS) {
        return believe(clock, offset_ms, is_doubted ? TRUSTED_CAME_BACK : TRUSTED_FINE);
    }
    int64_t adjusted_ms = offset_ms - clock->doubted_offset_ms;
    if (!is_doubted || adjusted_ms > EVEN_MS || adjusted_ms < -EVEN_MS) {
        return doubt(clock, offset_ms, boot_ms);
    }
    return boot_ms - clock->doubted_since_ms >= clock->confirm_ms
               ? believe(clock, offset_ms, TRUSTED_CONFIRMED)
               : TRUSTED_DOUBTED;
}

void trusted_clock_confirm(struct trusted_clock *clock, int64_t wall_ms, int64_t boot_ms)
{
    atomic_store_explicit(&clock->offset_ms, wall_ms - boot_ms, memory_order_relaxed);
    atomic_store(&clock->is_confirmed, true);
}

enum trusted_look trusted_clock_resume(struct trusted_clock *clock, int64_t stored_ms,
                                       int64_t wall_ms, int64_t boot_ms)
{
    if (wall_ms <= stored_ms + TRUSTED_JUMP_MS) {
        return TRUSTED_FINE;
    }
    atomic_store_explicit(&clock->offset_ms, stored_ms - boot_ms, memory_order_relaxed);
    return trusted_clock_look(clock, wall_ms, boot_ms);
}

/* --- of an engine --- */

static void log_look(const struct trusted_clock *clock, enum trusted_look look, int64_t wall_ms,
                     int64_t boot_ms)
{
    long long ahead_s = (long long)(wall_ms - boot_ms - offset_of(clock)) / 1000;
    switch (look) {
    case TRUSTED_JUMPED:
        log_write(LOG_WARN, "engine",
                  "the clock is %lld s ahead of the time that has passed; until it has run evenly "
                  "for %lld s, items, stream records and tokens expire by the time that has passed "
                  "(SIGUSR1 confirms the clock)",
                  ahead_s, (long long)clock->confirm_ms / 1000);
        break;
    case TRUSTED_CONFIRMED:
        log_write(LOG_WARN, "engine", "the clock is confirmed: items expire by it again");
        break;
    case TRUSTED_CAME_BACK:
        log_write(LOG_WARN, "engine", "the clock has come back: items expire by it again");
        break;
    case TRUSTED_FINE:
    case TRUSTED_DOUBTED:
        break;
    }
}

/* Of the catalog. */
#define TRUSTED_TIME_PART "trusted-time"

struct clock_load {
    struct catalog_read read;
    int64_t stored_ms; /* 0: none */
};

static bool load_row(struct store_range *range, struct str key, struct str value)
{
    (void)key;
    struct clock_load *load = CONTAINER_OF(range, struct clock_load, read.range);
    if (value.len != STORED_LEN || value.data[0] != STORED_VERSION) {
        err_set(load->read.err, ERR_INTERNAL, "the time in the store cannot be read");
        return false;
    }
    load->stored_ms = (int64_t)get_u64_be(value.data + 1);
    return true;
}

bool engine_clock_load(struct engine *engine, struct err *err)
{
    struct arena arena;
    arena_init(&arena);
    struct clock_load load = {.read = {.engine = engine, .err = err, .arena = &arena}};
    catalog_read_part(&load.read, TRUSTED_TIME_PART, load_row);
    arena_finish(&arena);
    if (err->code == ERR_NONE && load.stored_ms > 0) {
        int64_t wall_ms = clock_wall_ms();
        int64_t boot_ms = clock_boot_ms();
        log_look(&engine->clock,
                 trusted_clock_resume(&engine->clock, load.stored_ms, wall_ms, boot_ms), wall_ms,
                 boot_ms);
    }
    return err->code == ERR_NONE;
}

struct str engine_clock_key(struct arena *arena)
{
    return catalog_key(arena, TRUSTED_TIME_PART, STR(""));
}

/* version (1), milliseconds since 1970 (8, big-endian) */
struct str engine_clock_row(const struct engine *engine, struct arena *arena)
{
    int64_t trusted_ms = trusted_clock_ms(&engine->clock);
    char *row = arena_bytes(arena, STORED_LEN);
    row[0] = STORED_VERSION;
    put_u64_be(row + 1, (uint64_t)trusted_ms);
    return str_make(row, STORED_LEN);
}

struct clock_store {
    struct background_update update;
    const struct engine *engine;
};

static bool store_eval(struct store_update *update, const struct str *rows,
                       struct store_batch *batch)
{
    (void)rows;
    struct clock_store *store = CONTAINER_OF(update, struct clock_store, update.update);
    store_batch_put(batch, 0, engine_clock_row(store->engine, update->arena));
    return true;
}

/* Stores trusted time. A failure is ignored: it is stored again later. */
static void store_time(struct background *background)
{
    struct arena arena;
    arena_init(&arena);
    struct str key = engine_clock_key(&arena);
    struct clock_store store = {.engine = background->engine};
    store.update.update = (struct store_update){
        .keys = &key,
        .key_count = 1,
        .arena = &arena,
        .eval = store_eval,
    };
    (void)background_update(background, &store.update);
    arena_finish(&arena);
}

void engine_clock_look(struct background *background)
{
    struct trusted_clock *clock = &background->engine->clock;
    int64_t wall_ms = clock_wall_ms();
    int64_t boot_ms = clock_boot_ms();
    bool was_doubted = atomic_load(&clock->is_doubted);
    int64_t before_ms = offset_of(clock);
    enum trusted_look look = trusted_clock_look(clock, wall_ms, boot_ms);
    log_look(clock, look, wall_ms, boot_ms);
    if (offset_of(clock) > before_ms + TRUSTED_JUMP_MS) { /* something may be over at once */
        background_wake(&background->engine->recovery);
        background_wake(&background->engine->housekeeper);
    }
    if (was_doubted && look != TRUSTED_DOUBTED && offset_of(clock) != before_ms) {
        expiry_clock_moved(background->engine); /* the state of sweeps is not valid any more */
    }
    if (boot_ms >= clock->next_store_ms) {
        clock->next_store_ms = boot_ms + STORE_MS;
        store_time(background);
    }
}
