/* meter/insight_internal.h: what the pages of the insight API share. */
#ifndef GRAMME_METER_INSIGHT_INTERNAL_H
#define GRAMME_METER_INSIGHT_INTERNAL_H

#include "json/writer.h"
#include "meter/insight.h"
#include "meter/meter_internal.h"

enum { LIMIT_DEFAULT = 100, LIMIT_MAX = 1000 };

/* One request under way. */
struct insight {
    struct meter *meter;
    const struct insight_request *request;
    struct arena *arena;
    struct buf *out;
    struct str rest;    /* of the path, behind the page's name and a slash; STR_NULL: none */
    struct str mistake; /* what is wrong with the request; STR_NULL: nothing */
    bool is_missing;    /* the requested object does not exist */
    struct waiting_mailbox *mailbox;
};

/* The value of the nth parameter of that name, decoded; STR_NULL: there is none. */
struct str insight_parameter(struct insight *insight, const char *name, size_t nth);
/* A number within bounds, or `otherwise` if it is not given. Other values are recorded as a
 * mistake. */
double insight_number(struct insight *insight, const char *name, double otherwise, double min,
                      double max);
/* The parameter `limit`: 1 to LIMIT_MAX. */
size_t insight_limit(struct insight *insight, size_t otherwise);
/* Records a mistake, unless there is one already. */
void insight_refuse(struct insight *insight, const char *format, ...) PRINTF_LIKE(2, 3);

/* A table and its sizes, now. Waits for the store; not while the mutex is held. The table is
 * acquired: table_release(). False: there is no such table. */
MUST_USE bool insight_table(struct insight *insight, struct str name, const struct table **out,
                            struct table_sizes *sizes);
/* Tables with their sizes, in order of names. */
struct insight_tables {
    const struct table **tables;
    struct table_sizes *sizes;
    size_t count;
};
/* All tables, acquired, in the arena of the request. Waits for the store; not while the mutex is
 * held. */
void insight_all_tables(struct insight *insight, struct insight_tables *out);
/* Releases the tables. */
void insight_release_tables(struct insight_tables *tables);

/* Writes a JSON string, or null if it is STR_NULL. */
void insight_write_text(struct buf *out, struct str text);

/* The pages. Each writes its answer to insight->out, or records a mistake; those that read sums of
 * the meter take its mutex themselves. */

/* GET patterns and GET patterns/ID. */
void insight_patterns(struct insight *insight);
/* GET heat. */
void insight_heat(struct insight *insight);
/* GET cost. */
void insight_cost(struct insight *insight);
/* GET prices. */
void insight_prices(struct insight *insight);
/* GET findings. */
void insight_findings(struct insight *insight);
/* The number of findings of the last search; searches if that is old. */
size_t insight_finding_count(struct insight *insight);
/* GET and POST simulation. */
void insight_simulation(struct insight *insight);

#endif
