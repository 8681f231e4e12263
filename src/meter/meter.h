/* meter/meter.h: records finished calls: access patterns, capacity units, latency, heat. The
 * operations describe each item operation in a struct meter_access; api/dispatch.c passes them to
 * meter_record() when the call ends. Everything else (insight API, metrics, findings, cost) reads
 * the sums of a collector thread.
 *
 * Each thread that runs calls records into a block of its own and takes no lock. About once a
 * second, and when the insight API is asked, the collector swaps the block for an empty one. */
#ifndef GRAMME_METER_METER_H
#define GRAMME_METER_METER_H

#include "engine/engine.h"
#include "partiql/partiql.h"

struct meter;
struct meter_thread;

struct meter_options {
    int thread_count;  /* that record */
    struct str prices; /* file with prices; STR_NULL: the built-in ones */
    struct str store;  /* its URL, for display; must outlive the meter */
    bool keep;         /* patterns are kept in the store across restarts */
    bool shared;       /* other servers may use the same store */
};

/* Starts the collector thread; loads the patterns that an earlier process has stored. Borrows the
 * engine, which must be closed after the meter. Fails with ERR_VALIDATION if the file of prices is
 * wrong. */
MUST_USE bool meter_create(struct engine *engine, const struct meter_options *options,
                           struct meter **out, struct err *err);
/* Stores the patterns (with `keep`) and ends the thread. No call may be under way. Accepts NULL. */
void meter_destroy(struct meter *meter);
/* The recorder of thread `number`, from 0 to thread_count - 1. */
struct meter_thread *meter_thread(struct meter *meter, int number);

enum meter_flag {
    METER_WRITE = 1, /* units are write units */
    METER_CONSISTENT = 2,
    METER_BACKWARD = 4,
    METER_COUNT = 8,   /* Select COUNT */
    METER_SCAN = 16,   /* reads without a partition key */
    METER_BY_KEY = 32, /* names one item by its whole primary key */
    METER_HAS_LIMIT = 64,
    METER_STREAM = 128, /* GetRecords */
};

/* A partition key that was read, and the units that it took. */
struct meter_key {
    struct value key;
    double units;
};

/* One operation on one item, or one page of a Query or Scan. Lives until the call has ended, like
 * everything that it points to. Members that do not apply are 0. */
struct meter_access {
    struct meter_access *next;
    const char *operation; /* a literal: "GetItem", "TransactWriteItems Put" */
    unsigned flags;        /* of enum meter_flag */
    enum err_code err;     /* of this item; the call's own is added to it */
    const struct table *table;
    const struct index *index; /* that is read; NULL: the table */
    const struct key_expression *key;
    const struct condition *filter;
    const struct condition *condition;
    const struct update *update;
    const struct projection *projection;
    const struct column *columns; /* of a PartiQL SELECT */
    size_t column_count;
    struct value partition;       /* the partition key that is read or written, of index or table */
    const struct meter_key *keys; /* several that are read, instead of `partition` */
    size_t key_count;
    /* the item that was written: its index keys count as accesses to the indexes */
    struct value item;
    double table_units;          /* consumed on the table */
    const struct capacity *arms; /* consumed on indexes; NULL: nothing */
    size_t items_read;
    size_t items_returned;
    size_t bytes_read;
    size_t bytes_written;
    size_t item_bytes; /* of the largest item that was seen */
    int64_t
        collection_bytes; /* of the item collection that was written; tables with local indexes */
};

/* The call as a whole. */
struct meter_call {
    struct str operation;
    struct str body; /* of the request, for the example */
    int64_t start_ns;
    size_t answer_bytes;
    enum err_code err;
};

/* Records a call that has ended, on its thread: no other thread uses `thread`. Never waits for a
 * lock, unless all blocks are full of patterns. */
void meter_record(struct meter_thread *thread, const struct meter_call *call,
                  const struct meter_access *accesses);
/* Counts a call of the console that is not recorded, on its thread. */
void meter_count_console(struct meter_thread *thread);

#endif
