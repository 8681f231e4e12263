/* meter/meter_internal.h: the sums of the collector thread. All of it is guarded by meter->mutex,
 * except the threads' current blocks (swapped atomically) and the queue of full blocks
 * (queue_mutex, which is taken inside mutex, never the other way round). */
#ifndef GRAMME_METER_METER_INTERNAL_H
#define GRAMME_METER_METER_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/buf.h"
#include "base/map.h"
#include "meter/block_internal.h"
#include "meter/heat_internal.h"
#include "meter/prices_internal.h"

enum {
    PATTERNS_MAX = 10000,
    OTHERS_MAX = 4000,       /* tables beyond share one "other" */
    METER_TABLES_MAX = 5000, /* tables with sums of their own; others share one */
    SECONDS_KEPT = 300,
    MINUTES_KEPT = 1440,
    TABLE_MINUTES_KEPT = 60,
    KNOWN_SLOTS = 1024,
    /* limit of all memory; the limits of the parts below add up to less */
    METER_BYTES_MAX = 64 << 20,
    BLOCKS_BYTES_MAX = 16 << 20,
};

/* Units of a pattern or table on one index. */
struct arm {
    struct str name;
    double read_units;
    double write_units;
    uint64_t reads; /* calls that read the index */
};

struct arm_list {
    struct arm *arms;
    size_t count;
};

/* The sums of one second or minute. */
struct moment {
    uint64_t calls;
    uint64_t errors;
    double read_units;
    double write_units;
    uint64_t latencies[LATENCY_BUCKETS];
};

/* The same without latencies, of one table. */
struct table_moment {
    float calls;
    float errors;
    float read_units;
    float write_units;
};

struct table_sums {
    struct str name; /* STR_NULL: calls on no table */
    uint64_t calls;
    uint64_t errors;
    double read_units; /* indexes included */
    double write_units;
    double stream_reads; /* GetRecords requests */
    struct arm_list arms;
    struct table_moment now; /* the current minute */
    struct table_moment minutes[TABLE_MINUTES_KEPT];
};

struct pattern {
    struct pattern_text text; /* the texts are its own; without index names */
    struct table_sums *table;
    struct pattern_sums sums;
    struct arm_list arms;
    bool is_other;
    bool is_dirty; /* changed since it was stored */
};

/* Aligned, so that threads do not share cache lines. */
struct meter_thread {
    _Alignas(64) _Atomic(struct block *) current; /* NULL while the thread records */
    struct meter *meter;
    uint64_t known[KNOWN_SLOTS]; /* fingerprints whose example is known; the thread's own */
};

struct meter {
    struct engine *engine;
    struct meter_options options;
    struct meter_thread *threads;
    struct prices_list prices;
    struct simulation *simulation;

    pthread_mutex_t queue_mutex;
    pthread_cond_t queue_filled;
    struct block *full;
    struct block *spare;
    bool stopping;
    bool wake;

    pthread_mutex_t mutex;
    struct pattern **patterns; /* in order of discovery */
    size_t pattern_count;
    size_t other_count;     /* those that are "other" */
    struct pattern **slots; /* by id; a power of two */
    size_t slot_count;
    struct map tables; /* of struct table_sums, by name; STR("") for none */
    struct heat heat;
    struct map surveys; /* of struct survey (survey_internal.h), by table */
    size_t survey_bytes;
    size_t finding_count; /* of the last search */
    int64_t findings_ms;  /* monotonic; 0: never */
    uint64_t folded_calls;
    int64_t since_ms;
    int64_t started_ms;
    size_t bytes; /* of patterns, tables */
    struct moment totals;
    uint64_t total_request_bytes;
    uint64_t total_answer_bytes;
    struct moment second;
    struct moment minute;
    struct moment *seconds; /* rings; the newest is at (count - 1) % KEPT */
    struct moment *minutes;
    int64_t second_count;
    int64_t minute_count;
    int64_t second_ms; /* when the current second and minute began, wall clock */
    int64_t minute_ms;
    int64_t last_tick_ms; /* monotonic */

    pthread_t collector;
    bool collector_started;
    struct waiting_mailbox *mailbox; /* the collector's own, for the store */
    uint64_t *erased; /* ids of patterns that were forgotten but are still in the store */
    size_t erased_count;
    int64_t kept_ms;       /* when patterns were stored last; monotonic */
    int64_t kept_since_ms; /* `since_ms` as it is in the store; the collector's own */
};

/* Takes the blocks of all threads and adds them to the sums. The mutex is held. */
void meter_collect(struct meter *meter);
/* Ends seconds and minutes that are over. The mutex is held. */
void meter_tick(struct meter *meter);
/* Adds a block to the sums and empties it. The mutex is held. */
void meter_drain(struct meter *meter, struct block *block);
/* Forgets everything that was counted. The mutex is held. */
void meter_forget(struct meter *meter);
/* Memory of all insight, in bytes. The mutex is held. */
size_t meter_bytes(const struct meter *meter);

/* The pattern of that id, or NULL. */
struct pattern *meter_pattern(const struct meter *meter, uint64_t id);
/* Finds or makes it; if there are too many, the pattern "other" of the table. */
struct pattern *meter_pattern_for(struct meter *meter, const struct pattern_text *text);
/* Finds or makes the sums of a table; STR_NULL: of calls on no table. */
struct table_sums *meter_table_for(struct meter *meter, struct str name);
/* Finds or makes the units of an index in a list. */
struct arm *arm_for(struct meter *meter, struct arm_list *list, struct str name);

/* Adds up two sums of one pattern. */
void pattern_sums_add(struct pattern_sums *to, const struct pattern_sums *from);
/* Returns a quantile of the latency, in microseconds: this part of the calls took less time. */
uint64_t latency_quantile(const uint64_t latencies[LATENCY_BUCKETS], double part, uint64_t max_us);

/* --- kept across restarts (keep.c); on the collector's thread, without the mutex --- */

/* Makes the next meter_save() erase a stored pattern. The mutex is held. */
void meter_erase(struct meter *meter, uint64_t id);
/* Reads the patterns that were stored, and adds them to those recorded since the start. */
void meter_load(struct meter *meter);
/* Stores the patterns that have changed, and erases forgotten ones. Waits for the store. */
void meter_save(struct meter *meter);

/* --- a pattern as JSON, in the API and in the store (pattern_json.c) --- */

/* Writes a pattern; with `whole`, also the members that only the store and patterns/ID use. */
void pattern_write(struct buf *out, const struct pattern *pattern, bool whole);
/* Reads a stored one back; false if it is not well-formed. */
MUST_USE bool pattern_read(struct meter *meter, struct str json);

#endif
