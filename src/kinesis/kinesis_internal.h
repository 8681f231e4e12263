/* kinesis/kinesis_internal.h: the delivery threads, for kinesis.c, deliver.c and enable.c. */
#ifndef GRAMME_KINESIS_KINESIS_INTERNAL_H
#define GRAMME_KINESIS_KINESIS_INTERNAL_H

#include <pthread.h>

#include "kinesis/change_record.h"
#include "kinesis/kinesis.h"
#include "kinesis/stream_calls.h"

enum {
    WORKER_COUNT = 4,
    WINDOW_RECORDS = 2000,  /* that are read at a time */
    WINDOW_BYTES = 4 << 20, /* about */
    POLL_MS = 100,          /* how often a feed without records is read */
    RETRY_MS = 200,         /* after a failure of the store */
};

/* The state of a feed that is being delivered. One worker works on it; the figures, which metrics
 * show, are under kinesis->lock. */
struct delivery {
    struct delivery *next;
    uint32_t space;
    bool is_listed;           /* the feed is in the worker's list */
    uint64_t *cursors;        /* by slot; NULL: to be read */
    uint32_t next_slot;       /* where the next window begins */
    int failures;             /* in a row */
    int64_t retry_us;         /* time of the next attempt; monotonic, like all times here */
    int64_t failing_since_us; /* 0: the last call succeeded */
    int64_t warned_us;        /* when the log last had a line about it */
    int64_t measured_us;      /* when the backlog was measured */
    int64_t looked_us;        /* when the feed was last read, whatever the backlog */
    bool has_left_out;        /* the log has a line about records that are too large */
    uint64_t *left_out_to;    /* by slot: stamp of the last record that was counted; NULL: none */

    struct buf table_name;
    struct buf stream_arn;
    uint64_t delivered;
    uint64_t failed_calls;
    uint64_t lost;     /* too old, or the backlog was too large */
    uint64_t left_out; /* over 1 MiB */
    struct store_count backlog;
};

/* A delivery thread. It works on the feeds whose space, modulo WORKER_COUNT, is its number. */
struct worker {
    struct background background;
    struct kinesis *kinesis;
    uint32_t number;
    atomic_bool must_read; /* the list of feeds may have changed */
    struct arena arena;    /* of `feeds` */
    struct feed *feeds;    /* all, in the order in which they began */
    size_t feed_count;
    struct delivery *deliveries;

    /* One window of records. */
    struct arena window_arena;
    struct feed_record records[WINDOW_RECORDS];
    char keys[WINDOW_RECORDS][PARTITION_KEY_LEN];
    /* When each record was made, or a later one of its slot if that has an earlier time: so these
     * grow within a slot also if clocks differ, or were set back. */
    int64_t times[WINDOW_RECORDS];
    bool done[WINDOW_RECORDS];
    size_t record_count;
    struct stream_put put;
    struct buf data; /* one record */
};

struct kinesis {
    struct engine *engine;
    struct kinesis_options options; /* endpoint and region end with NUL, in `arena` */
    struct arena arena;
    struct aws_client *client;
    pthread_mutex_t lock; /* of the figures and lists of deliveries */
    struct worker workers[WORKER_COUNT];
};

/* deliver.c: delivers records of the feed, for a limited time. Returns the time until the next call
 * in ms; sets *out_is_empty if no record is left. */
int64_t deliver_feed(struct worker *worker, const struct feed *feed, struct delivery *delivery,
                     bool *out_is_empty);
/* deliver.c: for a feed that must wait for an earlier one: drops records beyond the limit of the
 * backlog. Returns the time until the next call in ms. */
int64_t limit_backlog(struct worker *worker, const struct feed *feed, struct delivery *delivery);

/* enable.c: checks the stream of a destination that is ENABLING and changes its state. Returns in
 * how many ms to look again. */
int64_t enable_feed(struct worker *worker, const struct feed *feed, struct delivery *delivery);
/* enable.c: makes destinations that are DISABLING DISABLED once their changes are delivered, or
 * after a while. Returns in how many ms to look again. */
int64_t finish_disabling(struct worker *worker);

/* deliver.c: a call has succeeded: forgets the failures before it. */
void delivery_succeeded(struct worker *worker, struct delivery *delivery);
/* deliver.c: notes a failure; returns how long to wait, in ms. */
int64_t delivery_failed(struct worker *worker, const struct feed *feed, struct delivery *delivery,
                        const char *problem);

#endif
