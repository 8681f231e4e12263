/* Probes whether the store accepts writes: writes one small row. Any thread. */
#include "engine/engine_internal.h"

static bool probe_eval(struct store_update *update, const struct str *rows,
                       struct store_batch *batch)
{
    (void)rows;
    struct engine_probe *probe = CONTAINER_OF(update, struct engine_probe, update);
    store_batch_put(batch, 0, engine_clock_row(probe->call.engine, update->arena));
    return true;
}

static void probe_done(struct store_update *update)
{
    struct engine_probe *probe = CONTAINER_OF(update, struct engine_probe, update);
    engine_set_store_error(&probe->call.err, update->status);
    probe->call.done(&probe->call);
}

void engine_probe(struct engine_probe *probe)
{
    struct arena *arena = probe->call.arena;
    probe->key = engine_clock_key(arena);
    probe->update = (struct store_update){
        .keys = &probe->key,
        .key_count = 1,
        .arena = arena,
        .home = probe->call.home,
        .eval = probe_eval,
        .done = probe_done,
    };
    store_update(probe->call.engine->store, &probe->update);
}
