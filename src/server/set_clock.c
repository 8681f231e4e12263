/* SetClock: a client sets the clock of the server (--test-clock on). Called by route.c on the
 * thread of the exchange. */
#include "server/set_clock.h"

#include "base/clock.h"
#include "wire/shape.h"

#define YEAR_9999 253402300799 /* its last second */

struct set_clock_request {
    struct wire_int now;
    struct wire_int advance;
};

static const struct shape shape_now = {.kind = SHAPE_LONG, .max = YEAR_9999, .bounded_below = true};
static const struct shape shape_advance = {
    .kind = SHAPE_LONG,
    .min = -YEAR_9999,
    .max = YEAR_9999,
};
static const struct field set_clock_fields[] = {
    FIELD(struct set_clock_request, now, "Now", shape_now),
    FIELD(struct set_clock_request, advance, "AdvanceSeconds", shape_advance),
    FIELD_END,
};
static const struct shape shape_set_clock = {
    .kind = SHAPE_STRUCT,
    .fields = set_clock_fields,
    .size = sizeof(struct set_clock_request),
};

bool set_clock(struct engine *engine, struct http_exchange *exchange, struct err *err)
{
    struct set_clock_request request;
    if (!wire_decode(exchange->arena, &shape_set_clock, exchange->body, &request, err) ||
        !wire_validate(&shape_set_clock, &request, WORDING_CURRENT, err)) {
        return false;
    }
    if (request.now.given == request.advance.given) {
        return err_set(err, ERR_VALIDATION, "Either Now or AdvanceSeconds must be given");
    }
    int64_t before_ms = clock_wall_ms();
    int64_t after_ms =
        request.now.given ? request.now.value * 1000 : before_ms + request.advance.value * 1000;
    if (after_ms < 0 || after_ms > YEAR_9999 * 1000) {
        return err_set(err, ERR_VALIDATION, "Now must be a time between 1970 and 9999");
    }
    clock_move_wall(after_ms - before_ms);
    engine_clock_moved(engine);
    buf_format(exchange->out, "{\"Now\":%lld}", (long long)(after_ms / 1000));
    return true;
}
