/* The housekeeper: what nobody waits for and is not urgent. It is also the home of store requests
 * that belong to no call. */
#include "engine/engine_internal.h"
#include "engine/token.h"

enum { ROUND_MS = 30 * 1000 };

int64_t housekeeper_round(struct service *service)
{
    token_sweep(service, trusted_clock_ms(&service->engine->clock));
    stream_trim(service);
    return MIN((int64_t)ROUND_MS, stream_trim_interval_ms(service->engine));
}
