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
    OTHERS_MAX = 2500,       /* tables beyond share one "other" */
    METER_TABLES_MAX = 5000, /* tables with sums of their own; others share one */
    SECONDS_KEPT = 300,
    MINUTES_KEPT = 1440,
    TABLE_MINUTES_KEPT = 60,
    KNOWN_SLOTS = 1024,
    /* Limit of all memory. The limits of the parts add up to less: blocks, `meter->bytes`, heat
     * (18 MiB), samples (3 MiB), the rest (2 MiB). */
    METER_BYTES_MAX = 64 << 20,
    BLOCKS_BYTES_MAX = 12 << 20,
    /* Of patterns and tables, `meter->bytes`: beyond these no further pattern, table, "other", or
     * index gets sums of its own. */
    PATTERN_BYTES_MAX = 20 << 20,
    TABLE_BYTES_MAX = 21 << 20,
    OTHER_BYTES_MAX = 24 << 20,
    SUMS_BYTES_MAX = 25 << 20,
};

/* Units of a pattern or table on one index. */
struct arm {
    struct str name; /* of a pattern: that of its table's arm */
    double read_units;
    double write_units;
    double unsaved_read; /* of a pattern: the part that is not in the store yet */
    double unsaved_write;
    uint64_t reads; /* of a table: calls that read the index */
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
    struct str name; /* STR_NULL: calls on no table, and those that have no sums of their own */
    uint64_t calls;
    uint64_t errors;
    double read_units; /* indexes included */
    double write_units;
    double stream_reads; /* GetRecords requests */
    struct arm_list arms;
    size_t pattern_count;    /* patterns of the table */
    int64_t items;           /* that the table had at items_ms, at most a day ago */
    int64_t items_ms;        /* 0: not known */
    struct table_moment now; /* the current minute */
    struct table_moment minutes[TABLE_MINUTES_KEPT];
};

/* The calls of a pattern in one minute. */
struct pattern_minute {
    uint32_t calls;
    uint32_t errors;
    double units;
    uint16_t latencies[LATENCY_BUCKETS]; /* all are halved when one is full */
};

struct pattern {
    struct pattern_text text; /* the texts are its own; without index names */
    struct table_sums *table;
    struct pattern_sums sums;
    struct arm_list arms;
    struct pattern_sums *unsaved; /* the part of the sums that is not in the store; NULL: nothing */
    uint64_t stored; /* note_hash() of its note, as this server knows it; 0: it has none */
    struct pattern_minute now;
    struct pattern_minute last; /* the minute before */
    size_t bytes;               /* that it adds to `meter->bytes` */
    bool is_other;
    bool is_dirty; /* changed since it was stored */
    bool is_evicted;
};

/* A pattern as it is in the store. The texts point into the note. */
struct kept_pattern {
    struct pattern_text text;
    struct pattern_sums sums;
    struct arm arms[CAPACITY_INDEX_MAX];
    size_t arm_count;
    int64_t since_ms; /* when the counting began that it belongs to; 0: not recorded */
};

/* Aligned, so that threads do not share cache lines. */
struct meter_thread {
    _Alignas(64) _Atomic(struct block *) current; /* NULL while the thread records */
    struct meter *meter;
    _Atomic(uint64_t) console_calls; /* not recorded; written by the thread, cleared by a reset */
    uint64_t known[KNOWN_SLOTS];     /* fingerprints whose example is known; the thread's own */
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
    /* How long traffic was observed: `observed_ms` up to observed_at_ms (wall clock), by all
     * servers, as the store has it, and by this server since observing_ms (monotonic). */
    int64_t observed_ms;
    int64_t observed_at_ms;
    int64_t observing_ms;
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
    int64_t kept_ms;       /* when patterns were stored last; monotonic, as the next two */
    int64_t refreshed_ms;  /* when the patterns of other servers were read last */
    int64_t next_evict_ms; /* before it deleted tables are not looked for again */
    int64_t kept_since_ms; /* `since_ms` as it is in the store; 0: not there */
    uint64_t kept_since;   /* note_hash() of that note, and of the note "observed" */
    uint64_t kept_observed;
    bool is_reset;        /* here, and the store does not have the new `since_ms` yet */
    bool has_stale_notes; /* notes from before a reset are in the store */
    size_t unshown_count; /* patterns in the store that there is no room for */
};

/* Takes the blocks of all threads and adds them to the sums. The mutex is held. */
void meter_collect(struct meter *meter);
/* Ends seconds and minutes that are over. The mutex is held. */
void meter_tick(struct meter *meter);
/* Adds a block to the sums and empties it. The mutex is held. */
void meter_drain(struct meter *meter, struct block *block);
/* Forgets everything that was counted. The mutex is held. */
void meter_forget(struct meter *meter);
/* The same, and the series; counting begins at `since_ms`. The mutex is held. */
void meter_restart(struct meter *meter, int64_t since_ms);
/* Memory of all insight, in bytes. The mutex is held. */
size_t meter_bytes(const struct meter *meter);

/* The pattern of that id, or NULL. */
struct pattern *meter_pattern(const struct meter *meter, uint64_t id);
/* Finds or makes it; if there is no room for it, the pattern "other" of the table. */
struct pattern *meter_pattern_for(struct meter *meter, const struct pattern_text *text);
/* Finds or makes the pattern "other" of a table, or of those that have none of their own
 * (STR_NULL). */
struct pattern *meter_other_for(struct meter *meter, struct str table, bool is_write);
/* Removes the patterns that are `is_evicted`. Their sums must have been taken from those of their
 * tables. */
void meter_remove_evicted(struct meter *meter);
/* Finds or makes the sums of a table; STR_NULL: of calls on no table. */
struct table_sums *meter_table_for(struct meter *meter, struct str name);
/* Removes a table without patterns. */
void meter_remove_table(struct meter *meter, struct table_sums *table);
/* Finds or makes the units of an index of a table. NULL: there is no room. */
struct arm *meter_table_arm(struct meter *meter, struct table_sums *table, struct str index);
/* The same of a pattern; NULL also if there is no room for those of its table. */
struct arm *meter_pattern_arm(struct meter *meter, struct pattern *pattern, struct str index);
/* Adds the sums of a pattern to those of its table and of the server, or takes them away. */
void meter_account(struct meter *meter, struct pattern *pattern, bool add);
/* Adds to the part of a pattern that is not in the store yet. */
void pattern_add_unsaved(struct pattern *pattern, const struct pattern_sums *sums);
/* The calls of a pattern in the last 60 seconds, about. */
struct pattern_minute pattern_recent(const struct meter *meter, const struct pattern *pattern);
/* Returns a quantile of its latency, as latency_quantile() does. */
uint64_t pattern_minute_quantile(const struct pattern_minute *minute, double part, uint64_t max_us);
/* How long traffic was observed, by this server or another one on the same store. */
int64_t meter_observed_ms(const struct meter *meter);

/* Adds up two sums of one pattern. */
void pattern_sums_add(struct pattern_sums *to, const struct pattern_sums *from);
/* Returns a quantile of the latency, in microseconds: this part of the calls took less time. */
uint64_t latency_quantile(const uint64_t latencies[LATENCY_BUCKETS], double part, uint64_t max_us);

/* --- kept across restarts (keep.c); on the collector's thread, without the mutex --- */

/* Reads the patterns that were stored, by this server or others, and adds them to those recorded
 * since the start. Later: reads what other servers have stored meanwhile. */
void meter_load(struct meter *meter);
/* Stores what has changed. Waits for the store. `is_last`: the server ends. */
void meter_save(struct meter *meter, bool is_last);
/* Erases the notes of these patterns, so that their sums can be added to another pattern. False:
 * the store accepts no writes now. */
MUST_USE bool meter_unkeep(struct meter *meter, const uint64_t *ids, size_t count);

/* --- room for new patterns and tables (evict.c); on the collector's thread, without the mutex ---
 */

/* If there is little room left for patterns, tables or places of heat, removes those of deleted
 * tables, the longest unused ones first. Their sums go to "other". Waits for the store. */
void meter_evict(struct meter *meter);

/* --- a pattern as JSON, in the API and in the store (pattern_json.c, pattern_read.c) --- */

enum pattern_form {
    PATTERN_LISTED, /* in a list of the API */
    PATTERN_WHOLE,  /* alone */
    PATTERN_KEPT,   /* in the store */
};
/* Writes a pattern. */
void pattern_write(struct buf *out, const struct meter *meter, const struct pattern *pattern,
                   enum pattern_form form);
/* Reads a stored one back, in `arena`; false if it is not well-formed. */
MUST_USE bool pattern_parse(struct arena *arena, struct str json, struct kept_pattern *out);

#endif
