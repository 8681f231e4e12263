/* The housekeeper: the background thread for work that is not urgent: trims streams and histories,
 * erases tokens. It is also the home of store requests that belong to no call. */
#include "engine/backup_internal.h"
#include "engine/engine_internal.h"
#include "engine/token.h"

/* Intervals of rounds, and of a server that is not the leader. */
enum { ROUND_MS = 30 * 1000, FOLLOWER_MS = 500 };

int64_t housekeeper_round(struct background *background)
{
    struct engine *engine = background->engine;
    if (!store_is_leader(engine->store) || !atomic_load(&engine->clock.is_loaded)) {
        return FOLLOWER_MS;
    }
    token_sweep(background, trusted_clock_ms(&engine->clock));
    stream_trim(background);
    history_trim(background);
    return MIN((int64_t)ROUND_MS, stream_trim_interval_ms(engine));
}
