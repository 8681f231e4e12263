/* meter/simulation_internal.h: the settings of the simulation and its state. */
#ifndef GRAMME_METER_SIMULATION_INTERNAL_H
#define GRAMME_METER_SIMULATION_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/map.h"
#include "engine/past.h"
#include "meter/simulation.h"

enum throttle_mode { THROTTLE_OFF, THROTTLE_PROVISIONED, THROTTLE_ON_DEMAND };

/* The settings of a table. */
struct simulation_settings {
    enum throttle_mode throttle;
    double read_units; /* < 0: as the table has them */
    double write_units;
    double burst_seconds;
    bool partition_limits;
    double throttle_rate; /* parts of calls, like the next three */
    double error_rate;
    double conflict_rate;
    double stale_read_rate;
    double index_lag_ms; /* how long writes take to appear in global indexes */
    double latency_ms;
    double latency_jitter_ms;
    double latency_rate; /* part of the calls that are delayed */
    double
        step_ms; /* by which each access advances the clock of units; 0: units are by real time */
};

/* Units that are left; may be below zero, because they are charged when a call has ended. */
struct bucket {
    double tokens;
    int64_t at_us; /* 0: not used yet, and full */
};

enum {
    SIMULATED_KEYS = 1024,
    RECENT_WRITES_MAX = 4096, /* of all tables */
    RECENT_BYTES_MAX = 8 << 20,
};

struct key_buckets {
    uint64_t hash;
    struct bucket read;
    struct bucket write;
};

/* A write of the recent past. Its memory is one allocation, at row.data. */
struct recent_write {
    uint32_t space; /* of the table */
    int64_t at_us;
    size_t bytes;
    struct past_write write;
};

/* State of one table. */
struct simulated_table {
    struct simulation_settings settings;
    uint64_t random;    /* of its own sequence: calls on other tables do not change it */
    int64_t stepped_us; /* the clock of units if settings.step_ms > 0 */
    struct bucket reads[1 + CAPACITY_INDEX_MAX]; /* of the table, then of its indexes */
    struct bucket writes[1 + CAPACITY_INDEX_MAX];
    struct key_buckets
        *keys; /* SIMULATED_KEYS, by hash; a newer key replaces an older one; NULL: not used yet */
};

/* A task that is due later. */
struct delayed {
    struct delayed *next; /* in order of time */
    int64_t at_us;
    struct mailbox *home;
    struct task *task;
};

struct simulation {
    atomic_bool is_on;
    pthread_mutex_t mutex;       /* of everything below */
    struct map settings;         /* of struct simulation_settings, by table or "*" */
    struct map tables;           /* of struct simulated_table, made when a call comes */
    struct recent_write *recent; /* a ring of RECENT_WRITES_MAX, oldest first; NULL: not used yet */
    size_t recent_first;
    size_t recent_count;
    size_t recent_bytes;
    uint64_t seed;
    uint64_t throttled;
    uint64_t errors;
    uint64_t conflicts;
    uint64_t stale_reads;
    uint64_t delayed_count;

    pthread_mutex_t delay_mutex;
    pthread_cond_t delay_changed;
    struct delayed *delayed;
    pthread_t delay_thread;
    bool delay_started;
    bool delay_stopping;
};

/* Creates the simulation, switched off. */
struct simulation *simulation_create(void);
/* Ends its thread and frees it. Tasks that are still held back are not posted. Accepts NULL. */
void simulation_destroy(struct simulation *simulation);
/* Charges what a call consumed to the limits of its tables. Takes the mutex. */
void simulation_charge(struct simulation *simulation, const struct meter_access *accesses);
/* Forgets the state of all tables, whose sequences start again; the mutex is held. */
void simulation_restart(struct simulation *simulation);
/* Forgets recent writes; the mutex is held. */
void simulation_forget_writes(struct simulation *simulation);
/* The state of a table; NULL: nothing is simulated on it. The mutex is held. */
struct simulated_table *simulation_table(struct simulation *simulation, struct str name);
/* The next number of the table's sequence, at least 0 and less than 1; the mutex is held. */
double simulation_draw(struct simulated_table *table);
/* Decides with probability `rate`. Draws only if there is something to decide, so that a setting of
 * 0 does not change the sequence; the mutex is held. */
MUST_USE bool simulation_happens(struct simulated_table *table, double rate);

#endif
