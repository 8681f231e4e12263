/* bench/workloads_internal.h: the workloads, as streams of prepared requests.
 *
 * A draw decides what is sent next; filling it makes the bytes. The same draw gives the same
 * request again, except for the text of fields, so that a request can be retried. */
#ifndef GRAMME_BENCH_WORKLOADS_INTERNAL_H
#define GRAMME_BENCH_WORKLOADS_INTERNAL_H

#include <stdatomic.h>

#include "bench/prepared_request_internal.h"
#include "bench/zipf_internal.h"

enum op {
    OP_GET,
    OP_PUT,
    OP_PUT_CONDITIONAL,
    OP_UPDATE,
    OP_QUERY_10,
    OP_QUERY_1MB,
    OP_QUERY_SOME,
    OP_GSI_10,
    OP_BATCH_GET,
    OP_BATCH_WRITE,
    OP_TRANSACT_4,
    OP_TRANSACT_100,
    OP_SCAN, /* the first page */
    OP_SCAN_ON,
    OP_LOAD,
    OP_SET_FIELD,
    OP_INSERT,
    OP_READ_MODIFY, /* a GetItem that an OP_SET_FIELD of the same item follows */
    OP_RAW,
    OP_COUNT
};

enum pick { PICK_UNIFORM, PICK_ZIPFIAN, PICK_LATEST };

enum { MIX_MAX = 2 };

struct workload {
    const char *name;
    const char *summary;
    enum pick pick;
    int mix[2 * MIX_MAX]; /* percent, enum op, percent, ... */
};

/* Returns the workload of that name, or NULL. */
MUST_USE const struct workload *workload_find(struct str name);
/* Prints the list of workloads to standard output. */
void workloads_print_help(void);

/* What all threads of a run share. */
struct source {
    const struct workload *workload;
    const struct test_table *table;
    const struct target *target;
    struct str raw; /* OP_RAW: the request */
    int segment_count;
    uint64_t in_flight_max; /* connections */
    struct field_text *text;
    struct zipf zipf;
    atomic_uint_fast64_t loaded;   /* load: items assigned so far; item 0 is written last */
    atomic_uint_fast64_t inserted; /* new items of YCSB */
};

/* Prepares what the threads of a run share. `table` and `target` are borrowed. */
MUST_USE bool source_init(struct source *source, const struct workload *workload,
                          const struct test_table *table, const struct target *target,
                          struct err *err);
/* Frees it. */
void source_finish(struct source *source);
/* Returns how many requests load the table; 0 for other workloads. */
MUST_USE uint64_t source_request_count(const struct source *source);
/* Returns about how many items one request reads or writes. */
MUST_USE double source_items_per_request(const struct source *source);

/* The position of a connection in its Scan. */
struct scan_place {
    uint64_t segment;
    bool started; /* the keys are set */
    char partition[KEY_WIDTH];
    char sort[KEY_WIDTH];
};
/* Finds the next position in the first and last bytes of a response; after the end of the table it
 * is the start again. False: the key is not one of ours. */
MUST_USE bool scan_place_move(struct scan_place *place, struct str front, struct str back);

struct draw {
    enum op op;
    uint64_t item;
    uint64_t seed;
    uint64_t limit;
};

/* The requests of one thread. */
struct generator {
    struct source *source;
    struct random random;
    struct request requests[OP_COUNT];
};

/* Builds the requests of a thread. */
void generator_init(struct generator *generator, struct source *source);
/* Frees them. */
void generator_finish(struct generator *generator);
/* Draws the next request: the one that follows `*draw`, if it has a follower (`first`: it has
 * none), or a new one. */
void generator_draw(struct generator *generator, const struct scan_place *place, bool first,
                    struct draw *draw);
/* Fills the request of a draw. It is valid until the next call. */
MUST_USE const struct request *generator_fill(struct generator *generator, const struct draw *draw,
                                              const struct scan_place *place);

#endif
