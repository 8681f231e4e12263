/* tests/sim/scenario.h: a load whose every step follows from a seed, and a model of what a database
 * must hold after so many steps. So a process that knows the seed and how many steps were
 * acknowledged can check a store that another process has left.
 *
 * Two tables with streams, a global index each, a local one, expiry times and point-in-time
 * recovery. A step puts, updates or deletes an item, or several in a transaction, or is refused by
 * its condition, or creates or deletes an index of a table in use. */
#ifndef GRAMME_TESTS_SIM_SCENARIO_H
#define GRAMME_TESTS_SIM_SCENARIO_H

#include "database.h"

enum { SCENARIO_TABLES = 2, SCENARIO_KEYS = 16 };

/* A change of an item, as its stream must record it; version 0: there is no item. */
struct scenario_event {
    uint32_t key;
    uint32_t before;
    uint32_t after;
};

struct scenario {
    uint64_t seed;
    uint64_t step_count; /* that were done */
    /* Of each item: the number of the step that wrote it; everything in the item follows from it.
     * 0: there is none. */
    uint32_t versions[SCENARIO_TABLES][SCENARIO_KEYS];
    struct scenario_event *events[SCENARIO_TABLES];
    size_t event_counts[SCENARIO_TABLES];
};

enum scenario_answer {
    SCENARIO_DONE,     /* acknowledged, or refused as it must be */
    SCENARIO_IN_DOUBT, /* an internal error: it may have happened */
    SCENARIO_WRONG,    /* any other answer; printed */
};

/* Makes a scenario before its first step. */
void scenario_init(struct scenario *scenario, uint64_t seed);
/* Frees the memory of a scenario. */
void scenario_finish(struct scenario *scenario);
/* Creates the tables in an empty database. False: an operation failed; printed. */
MUST_USE bool scenario_create_tables(struct database *database);
/* Sends the next step, which does not count as done before scenario_advance(). */
MUST_USE enum scenario_answer scenario_send(const struct scenario *scenario,
                                            struct database *database);
/* Counts the next step as done, in the model only. */
void scenario_advance(struct scenario *scenario);
enum scenario_state {
    SCENARIO_SAME,
    SCENARIO_UNREADABLE, /* an internal error: something could not be read */
    SCENARIO_DIFFERENT,
};

/* Compares items and streams of the database with the model; `out_why` says what is not the same.
 */
MUST_USE enum scenario_state scenario_check(const struct scenario *scenario,
                                            struct database *database, char out_why[200]);
/* The same, for a database that may have done the next step as well, as a whole: advances if it
 * has. */
MUST_USE enum scenario_state scenario_settle(struct scenario *scenario, struct database *database,
                                             char out_why[200]);

#endif
