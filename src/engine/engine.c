/* Opens and closes an engine: reads the catalog and starts the background threads. On the caller's
 * thread. */
#include "engine/engine.h"

#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "engine/backup_internal.h"
#include "engine/copy.h"
#include "engine/engine_internal.h"
#include "engine/expiry.h"
#include "err/messages.h"

enum { CLOCK_CONFIRM_MS = 60 * 60 * 1000 };

/* Waits until the store may serve. If that takes longer than WAIT_MS_MAX, calls fail until then. */
static void wait_to_serve(const struct store *store)
{
    enum { WAIT_MS_MAX = 10 * 1000 };
    for (int i = 0; i < WAIT_MS_MAX && !store_may_serve(store); i++) {
        usleep(1000);
    }
}

/* Waits until all servers have settled the catalog that was read, so that streams and indexes are
 * not shown as changing only because this server has just started. A server that is slow, or dead
 * and not excluded yet, delays the start by at most WAIT_MS_MAX. */
static void wait_to_settle(const struct engine *engine)
{
    enum { WAIT_MS_MAX = 1000 };
    uint64_t version = atomic_load(&engine->follow.seen);
    for (int i = 0; i < WAIT_MS_MAX && !follow_is_settled(engine, version); i++) {
        usleep(1000);
    }
}

/* Reads the catalog, the streams and the clock, and starts the background threads. */
static bool load(struct engine *engine, struct err *err)
{
    return background_start(&engine->housekeeper, engine, "housekeeper", housekeeper_round, err) &&
           copy_check_finished(engine->store, err) && follow_open(engine, err) &&
           streams_load(engine, err) && engine_clock_load(engine, err) &&
           background_start(&engine->backfill, engine, "backfill", backfill_round, err) &&
           background_start(&engine->expiry, engine, "expiry", expiry_round, err) &&
           background_start(&engine->recovery, engine, "recovery", recovery_round, err);
}

bool engine_open(struct store *store, const struct engine_options *options, struct engine **out,
                 struct err *err)
{
    struct engine *engine = mem_zalloc(sizeof(*engine));
    engine->store = store;
    engine->seed = store_seed(store);
    engine->table_delay_ms = options->table_delay_ms;
    engine->ttl_delay_ms = options->ttl_delay_ms;
    engine->recovery_lag_ms = options->recovery_lag_ms;
    engine->sweeps = expiry_sweeps_create();
    trusted_clock_init(&engine->clock, options->clock_confirm_ms > 0 ? options->clock_confirm_ms
                                                                     : CLOCK_CONFIRM_MS);
    store_set_clock(store, (struct store_clock){trusted_clock_us, &engine->clock});
    arena_init(&engine->arena);
    engine->region = arena_copy(&engine->arena, options->region);
    engine->account = arena_copy(&engine->arena, options->account);
    pthread_rwlock_init(&engine->tables_lock, NULL);
    pthread_mutex_init(&engine->watch_lock, NULL);
    map_init(&engine->tables);
    streams_init(&engine->streams, options);
    background_prepare(&engine->backfill, engine);
    background_prepare(&engine->expiry, engine);
    background_prepare(&engine->recovery, engine);
    if (!load(engine, err)) {
        engine_close(engine);
        return false;
    }
    background_wake(&engine->housekeeper); /* which waits for the clock to be loaded */
    wait_to_serve(store);
    wait_to_settle(engine);
    *out = engine;
    return true;
}

void engine_close(struct engine *engine)
{
    if (engine == NULL) {
        return;
    }
    background_stop(&engine->backfill);
    background_stop(&engine->expiry);
    background_stop(&engine->recovery);
    background_stop(&engine->housekeeper);
    follow_close(engine); /* last: it publishes the changes of the other threads */
    engine_clock_close(engine);
    store_set_clock(engine->store, (struct store_clock){0});
    background_finish(&engine->backfill);
    background_finish(&engine->expiry);
    background_finish(&engine->recovery);
    background_finish(&engine->housekeeper);
    background_finish(&engine->follow.background);
    expiry_sweeps_destroy(engine->sweeps);
    history_forget_trims(engine);
    catalog_unload(engine);
    streams_finish(&engine->streams);
    pthread_rwlock_destroy(&engine->tables_lock);
    pthread_mutex_destroy(&engine->watch_lock);
    arena_finish(&engine->arena);
    mem_free(engine);
}

void engine_clock_moved(struct engine *engine)
{
    trusted_clock_confirm(&engine->clock, clock_wall_ms(), clock_boot_ms());
    background_wake(&engine->housekeeper);
    expiry_clock_moved(engine);
    background_wake(&engine->recovery);
}

bool engine_clock_is_doubted(const struct engine *engine)
{
    return atomic_load(&engine->clock.is_doubted);
}

bool engine_may_serve(const struct engine *engine)
{
    return store_may_serve(engine->store);
}

struct str engine_region(const struct engine *engine)
{
    return engine->region;
}

struct str engine_account(const struct engine *engine)
{
    return engine->account;
}

void engine_watch_catalog(struct engine *engine, void (*changed)(void *context), void *context)
{
    pthread_mutex_lock(&engine->watch_lock);
    engine->catalog_changed = changed;
    engine->watch_context = context;
    pthread_mutex_unlock(&engine->watch_lock);
}

void engine_note_catalog_change(struct engine *engine)
{
    pthread_mutex_lock(&engine->watch_lock);
    if (engine->catalog_changed != NULL) {
        engine->catalog_changed(engine->watch_context);
    }
    pthread_mutex_unlock(&engine->watch_lock);
}

bool engine_leads_transfers(const struct engine *engine)
{
    return store_leads_transfers(engine->store);
}

int64_t engine_trusted_ms(const struct engine *engine)
{
    return trusted_clock_ms(&engine->clock);
}

uint64_t engine_seed(const struct engine *engine)
{
    return engine->seed;
}

void engine_set_store_error(struct err *err, enum store_status status)
{
    switch (status) {
    case STORE_GONE:
        err_set(err, ERR_RESOURCE_NOT_FOUND, MESSAGE_RESOURCE_NOT_FOUND);
        break;
    case STORE_FAILED:
    case STORE_UNKNOWN:
        err_set(err, ERR_INTERNAL, MESSAGE_INTERNAL);
        break;
    case STORE_BUSY:
        err_set(err, ERR_TRANSACTION_CONFLICT, MESSAGE_TRANSACTION_CONFLICT);
        break;
    case STORE_TOO_MUCH:
        err_set(err, ERR_TOO_MUCH_HERE, MESSAGE_ITEMS_TOO_LARGE_HERE);
        break;
    case STORE_OK:
    case STORE_NO_WRITE:
        break;
    }
}

void engine_set_get_error(struct err *err, const struct store_get *get)
{
    if (get->status == STORE_FAILED && arena_is_over_budget(get->arena)) {
        err_set_over_budget(err, get->arena->budget);
    } else {
        engine_set_store_error(err, get->status);
    }
}
