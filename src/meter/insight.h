/* meter/insight.h: the insight API and the metrics: the sums of the meter, as JSON and as
 * Prometheus text. docs/internals/insight-api.md describes every member. */
#ifndef GRAMME_METER_INSIGHT_H
#define GRAMME_METER_INSIGHT_H

#include "base/buf.h"
#include "meter/meter.h"

struct insight_request {
    struct str method; /* GET or POST */
    struct str path;   /* behind /_gramme/api/, without the query */
    struct str query;  /* behind the question mark; STR_NULL: none */
    struct str body;
    struct arena *arena;
};

/* Answers a request: writes JSON to `out` and returns the HTTP status. May wait for the store: to
 * be called on a slow thread. */
MUST_USE int insight_answer(struct meter *meter, const struct insight_request *request,
                            struct buf *out);
/* Writes all metrics in Prometheus' text format. */
void insight_write_metrics(struct meter *meter, struct buf *out);

#endif
