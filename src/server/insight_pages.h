/* server/insight_pages.h: /_gramme/api/... and /metrics as HTTP: finds them among requests and
 * answers them on slow threads (meter/insight.h has the content). */
#ifndef GRAMME_SERVER_INSIGHT_PAGES_H
#define GRAMME_SERVER_INSIGHT_PAGES_H

#include "http/http.h"
#include "meter/meter.h"
#include "server/guard.h"

#define INSIGHT_PREFIX "/_gramme/api/"
#define METRICS_TARGET "/metrics"

struct insight_pages {
    struct meter *meter;       /* NULL: insight is off, and there are no such pages */
    struct kinesis *kinesis;   /* source of metrics; may be NULL */
    struct engine *engine;     /* source of metrics: sizes of histories */
    const struct guard *guard; /* source of metrics */
    struct str headers;        /* more header lines of answers, each with its end of line */
    /* Called before an answer is sent, for the audit log; may be NULL. */
    void (*answered)(struct insight_pages *pages, struct http_exchange *exchange, int status);
};

/* Whether the target of a request is one of these pages. */
MUST_USE bool insight_pages_has(const struct insight_pages *pages, struct str target);
/* Answers a request whose target is one. The caller has checked origin and credentials. `pages`
 * must live until the answer is sent. */
void insight_pages_handle(struct insight_pages *pages, struct http_exchange *exchange);

#endif
