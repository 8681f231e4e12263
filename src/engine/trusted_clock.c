/* The clock by which the engine deletes data: see trusted_clock.h. The expiry thread compares the
 * clocks every round; any thread may read the time. */
#include "engine/trusted_clock.h"

#include <string.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/log.h"
#include "engine/engine_internal.h"
#include "engine/expiry.h"

enum {
    EVEN_MS = 60 * 1000, /* largest adjustment of a doubted clock that runs evenly */
    /* After the start, so that a short run writes nothing; at once if no time is stored. */
    FIRST_STORE_MS = 60 * 1000,
    STORE_MS = 10 * 60 * 1000, /* how often trusted time is stored */
    /* Rows. Without the name of the machine's start if that is not known. */
    SHORT_VERSION = 1,
    SHORT_LEN = 9,
    LONG_VERSION = 2,
    LONG_LEN = SHORT_LEN + 8 + CLOCK_BOOT_ID_LEN,
};

void trusted_clock_init(struct trusted_clock *clock, int64_t confirm_ms)
{
    int64_t boot_ms = clock_boot_ms();
    *clock = (struct trusted_clock){
        .confirm_ms = confirm_ms,
        .next_store_ms = boot_ms + FIRST_STORE_MS,
        .stored_ms = boot_ms,
    };
    clock->has_boot_id = clock_boot_id(clock->boot_id);
    atomic_init(&clock->offset_ms, clock_wall_ms() - boot_ms);
    atomic_init(&clock->is_doubted, false);
    atomic_init(&clock->is_confirmed, false);
    atomic_init(&clock->is_loaded, false);
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

int64_t trusted_clock_us(const void *context)
{
    const struct trusted_clock *clock = context;
    int64_t wall_us = clock_wall_us();
    int64_t trusted_ms = trusted_clock_at(clock, wall_us / 1000, clock_boot_ms());
    return trusted_ms == wall_us / 1000 ? wall_us : trusted_ms * 1000;
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

static bool is_same_boot(const struct trusted_clock *clock, const struct trusted_time *stored,
                         int64_t boot_ms)
{
    return clock->has_boot_id && stored->has_boot_id && boot_ms >= stored->boot_ms &&
           memcmp(clock->boot_id, stored->boot_id, CLOCK_BOOT_ID_LEN) == 0;
}

enum trusted_look trusted_clock_resume(struct trusted_clock *clock,
                                       const struct trusted_time *stored, int64_t wall_ms,
                                       int64_t boot_ms, bool is_synchronized)
{
    bool is_same = is_same_boot(clock, stored, boot_ms);
    int64_t expected_ms = stored->trusted_ms + (is_same ? boot_ms - stored->boot_ms : 0);
    if (wall_ms <= expected_ms + TRUSTED_JUMP_MS || (is_synchronized && !is_same)) {
        return TRUSTED_FINE;
    }
    atomic_store_explicit(&clock->offset_ms, expected_ms - boot_ms, memory_order_relaxed);
    return trusted_clock_look(clock, wall_ms, boot_ms);
}

bool trusted_time_decode(struct str row, struct trusted_time *out)
{
    *out = (struct trusted_time){0};
    if (row.len == LONG_LEN && row.data[0] == LONG_VERSION) {
        out->has_boot_id = true;
        out->boot_ms = (int64_t)get_u64_be(row.data + SHORT_LEN);
        memcpy(out->boot_id, row.data + SHORT_LEN + 8, CLOCK_BOOT_ID_LEN);
    } else if (row.len != SHORT_LEN || row.data[0] != SHORT_VERSION) {
        return false;
    }
    out->trusted_ms = (int64_t)get_u64_be(row.data + 1);
    return true;
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
        log_write(LOG_WARN, "engine",
                  "the clock was set back and is trusted again: items expire by it");
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
    bool is_found;
    struct trusted_time stored;
};

static bool load_row(struct store_range *range, struct str key, struct str value)
{
    (void)key;
    struct clock_load *load = CONTAINER_OF(range, struct clock_load, read.range);
    if (!trusted_time_decode(value, &load->stored)) {
        return err_set(load->read.err, ERR_INTERNAL, "the time in the store cannot be read");
    }
    load->is_found = true;
    return true;
}

bool engine_clock_load(struct engine *engine, struct err *err)
{
    struct arena arena;
    arena_init(&arena);
    struct clock_load load = {.read = {.engine = engine, .err = err, .arena = &arena}};
    catalog_read_part(&load.read, TRUSTED_TIME_PART, load_row);
    arena_finish(&arena);
    if (!load.is_found) {
        engine->clock.next_store_ms = clock_boot_ms();
    }
    if (err->code == ERR_NONE && load.is_found) {
        int64_t wall_ms = clock_wall_ms();
        int64_t boot_ms = clock_boot_ms();
        enum trusted_look look = trusted_clock_resume(&engine->clock, &load.stored, wall_ms,
                                                      boot_ms, clock_is_synchronized());
        log_look(&engine->clock, look, wall_ms, boot_ms);
    }
    atomic_store(&engine->clock.is_loaded, err->code == ERR_NONE);
    return err->code == ERR_NONE;
}

struct str engine_clock_key(struct arena *arena)
{
    return catalog_key(arena, TRUSTED_TIME_PART, STR(""));
}

/* docs/internals/formats.md */
struct str engine_clock_row(const struct engine *engine, struct arena *arena)
{
    const struct trusted_clock *clock = &engine->clock;
    int64_t boot_ms = clock_boot_ms();
    int64_t trusted_ms = trusted_clock_at(clock, clock_wall_ms(), boot_ms);
    char *row = arena_bytes(arena, LONG_LEN);
    row[0] = clock->has_boot_id ? LONG_VERSION : SHORT_VERSION;
    put_u64_be(row + 1, (uint64_t)trusted_ms);
    if (!clock->has_boot_id) {
        return str_make(row, SHORT_LEN);
    }
    put_u64_be(row + SHORT_LEN, (uint64_t)boot_ms);
    memcpy(row + SHORT_LEN + 8, clock->boot_id, CLOCK_BOOT_ID_LEN);
    return str_make(row, LONG_LEN);
}

struct clock_store {
    struct store_update update;
    struct arena arena;
    struct str key;
    const struct engine *engine;
    bool done;
};

static bool store_eval(struct store_update *update, const struct str *rows,
                       struct store_batch *batch)
{
    (void)rows;
    struct clock_store *store = CONTAINER_OF(update, struct clock_store, update);
    store_batch_put(batch, 0, engine_clock_row(store->engine, update->arena));
    return true;
}

static void store_done(struct store_update *update)
{
    CONTAINER_OF(update, struct clock_store, update)->done = true;
}

/* Stores trusted time. A failure is ignored: it is stored again later. */
static void store_time(struct engine *engine, struct waiting_mailbox *mailbox)
{
    struct clock_store store = {.engine = engine};
    arena_init(&store.arena);
    store.key = engine_clock_key(&store.arena);
    store.update = (struct store_update){
        .keys = &store.key,
        .key_count = 1,
        .arena = &store.arena,
        .home = waiting_mailbox_box(mailbox),
        .eval = store_eval,
        .done = store_done,
    };
    engine->clock.stored_ms = clock_boot_ms();
    engine->clock.next_store_ms = engine->clock.stored_ms + STORE_MS;
    store_update(engine->store, &store.update);
    waiting_mailbox_run(mailbox, &store.done);
    arena_finish(&store.arena);
}

/* Of a store on this machine only: other servers of a shared one go on storing it. */
void engine_clock_close(struct engine *engine)
{
    if (!atomic_load(&engine->clock.is_loaded) || store_directory(engine->store) == NULL ||
        clock_boot_ms() < engine->clock.stored_ms + FIRST_STORE_MS) {
        return;
    }
    struct waiting_mailbox *mailbox = waiting_mailbox_create();
    store_time(engine, mailbox);
    waiting_mailbox_destroy(mailbox);
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
        store_time(background->engine, background->mailbox);
    }
}
