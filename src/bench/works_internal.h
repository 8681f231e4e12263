/* bench/works_internal.h: the kinds of work, as streams of prepared requests.
 *
 * A draw decides what is sent next; filling it makes the bytes. The same draw gives the same
 * request again, except for the text of fields, so an answer that says "later" can be obeyed. */
#ifndef GRAMME_BENCH_WORKS_INTERNAL_H
#define GRAMME_BENCH_WORKS_INTERNAL_H

#include <stdatomic.h>

#include "bench/request_internal.h"
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

struct work {
    const char *name;
    const char *summary;
    enum pick pick;
    int mix[2 * MIX_MAX]; /* percent, enum op, percent, ... */
};

/* NULL if there is none. */
MUST_USE const struct work *work_find(struct str name);
void works_print_help(void);

/* What all threads of a run share. */
struct source {
    const struct work *work;
    const struct shape *shape;
    const struct target *target;
    struct str raw; /* OP_RAW: the request */
    int segment_count;
    uint64_t in_flight_max; /* connections */
    struct field_text *text;
    struct zipf zipf;
    atomic_uint_fast64_t loaded;   /* load: items handed out; item 0 comes last, apart */
    atomic_uint_fast64_t inserted; /* new items of YCSB */
};

/* `shape` and `target` are borrowed. */
MUST_USE bool source_init(struct source *source, const struct work *work, const struct shape *shape,
                          const struct target *target, struct err *err);
void source_finish(struct source *source);
/* How many requests load the table; 0 for other work. */
MUST_USE uint64_t source_request_count(const struct source *source);
/* How many items one request reads or writes, about. */
MUST_USE double source_items_per_request(const struct source *source);

/* Where a connection is in its Scan. */
struct scan_place {
    uint64_t segment;
    bool started; /* the keys are set */
    char partition[KEY_WIDTH];
    char sort[KEY_WIDTH];
};
/* Finds where to go on in the first and last bytes of an answer; at the end of the table the next
 * page is the first one again. False: there is a key, but not one of ours. */
MUST_USE bool scan_place_move(struct scan_place *place, struct str front, struct str back);

struct draw {
    enum op op;
    uint64_t item;
    uint64_t seed;
    uint64_t limit;
};

/* One thread's requests. */
struct generator {
    struct source *source;
    struct random random;
    struct request requests[OP_COUNT];
};

void generator_init(struct generator *generator, struct source *source);
void generator_finish(struct generator *generator);
/* The next one behind `*draw`, if it has one that follows it (`first`: it has not). */
void generator_draw(struct generator *generator, const struct scan_place *place, bool first,
                    struct draw *draw);
/* Valid until the next one is filled. */
MUST_USE const struct request *generator_fill(struct generator *generator, const struct draw *draw,
                                              const struct scan_place *place);

#endif
