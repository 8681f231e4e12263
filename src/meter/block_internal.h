/* meter/block_internal.h: a block: the records of one thread since the collector last took its
 * block. A block belongs to its thread while the thread records, then to the thread that swapped it
 * for another block. */
#ifndef GRAMME_METER_BLOCK_INTERNAL_H
#define GRAMME_METER_BLOCK_INTERNAL_H

#include "base/arena.h"
#include "meter/meter.h"

/* Latencies by size: two buckets for each power of two, from 8 microseconds on. */
enum { LATENCY_BUCKETS = 44, ERROR_KINDS = 6, HEAT_KEY_MAX = 70, WORST_ITEMS_MIN = 20 };

/* Returns the bucket of a latency. Bucket b holds latencies from latency_bucket_end(b - 1),
 * inclusive, to latency_bucket_end(b), exclusive. */
static inline unsigned latency_bucket(uint64_t us)
{
    if (us < 8) {
        return 0;
    }
    unsigned power = 63 - (unsigned)__builtin_clzll(us);
    unsigned bucket = (power - 3) * 2 + (unsigned)(us >> (power - 1) & 1) + 1;
    return bucket < LATENCY_BUCKETS ? bucket : LATENCY_BUCKETS - 1;
}

/* Returns the smallest latency that is above the bucket. */
static inline uint64_t latency_bucket_end(unsigned bucket)
{
    unsigned power = 3 + bucket / 2;
    return (uint64_t)1 << power | (bucket % 2 == 1 ? (uint64_t)1 << (power - 1) : 0);
}

/* A pattern as text. Made when it is recorded in a block for the first time. */
struct pattern_text {
    uint64_t id; /* hash of `text` */
    struct str text;
    struct str operation;
    struct str table; /* STR_NULL: none */
    struct str index;
    struct str key; /* STR_NULL: has no such part, like those below */
    struct str filter;
    struct str condition;
    struct str update;
    struct str projection;
    struct str example; /* JSON; STR_NULL: none */
    unsigned flags;
    size_t index_count; /* of the table: names and spaces by their place in it */
    const struct str *index_names;
    const uint32_t *index_spaces;
    uint32_t table_space;
};

struct error_count {
    uint32_t code; /* enum err_code */
    uint64_t count;
};

/* Sums of one pattern. */
struct pattern_sums {
    uint64_t calls;
    uint64_t errors;
    uint64_t items_read;
    uint64_t items_returned;
    uint64_t bytes_read;
    uint64_t bytes_written;
    uint64_t request_bytes;
    uint64_t answer_bytes;
    double table_units;
    double units_max; /* of one call, like the next two; indexes included */
    uint64_t items_read_max;
    /* of the call that read most items for each that it returned, among those that read at least
     * WORST_ITEMS_MIN; 0: there was none */
    uint64_t worst_read;
    uint64_t worst_returned;
    uint64_t item_bytes_max;
    uint64_t collection_bytes_max;
    uint64_t latency_us;
    uint64_t latency_max_us;
    int64_t first_ms; /* in a block: monotonic clock; elsewhere: wall clock */
    int64_t last_ms;
    /* The last one, ERR_NONE, counts all further kinds. */
    struct error_count error_kinds[ERROR_KINDS];
    uint64_t latencies[LATENCY_BUCKETS];
};

struct block_entry {
    uint64_t fingerprint;      /* 0: free */
    struct block_entry *older; /* used before this one; NULL: none */
    const struct pattern_text *text;
    double *index_units; /* by the place of the index; NULL: the table has none */
    bool had_example;    /* one was made, or could not be */
    struct pattern_sums sums;
};

/* One access to a partition key; the key's bytes follow. */
struct heat_event {
    uint64_t hash;
    uint32_t space; /* of the table or index */
    uint32_t second;
    float units;
    uint8_t is_write;
    uint8_t key_len;
    uint16_t is_cut;
};

struct block {
    struct block *next; /* in lists of the collector */
    struct block_entry *entries;
    struct block_entry *newest; /* of the used entries, linked by `older` */
    size_t entry_count;
    size_t slot_count;  /* a power of two */
    struct arena arena; /* texts and index_units */
    size_t arena_bytes; /* about */
    size_t arena_max;   /* with more it is full */
    char *events;       /* struct heat_event and key, 8-byte aligned */
    size_t events_len;
    size_t events_max;
    uint64_t events_lost;
};

/* Creates an empty block of about so many bytes, at least 64 KiB. */
struct block *block_create(size_t bytes);
/* Frees a block. Accepts NULL. */
void block_destroy(struct block *block);
/* Empties a block; pointers to its texts become invalid. */
void block_reset(struct block *block);
/* The memory of the texts of a pattern, in bytes; about. */
size_t pattern_text_bytes(const struct pattern_text *text);
/* Takes over the items of a call, or of the worst one of other sums, if they are worse than
 * `worst_read` and `worst_returned`. */
void pattern_note_worst(struct pattern_sums *sums, uint64_t read, uint64_t returned);
/* Adds errors of one kind to the sums of a pattern; ERR_NONE: of other kinds than those listed. */
void pattern_count_errors(struct pattern_sums *sums, enum err_code code, uint64_t count);
/* The memory of a block, in bytes; about. */
size_t block_bytes(const struct block *block);
/* Whether the thread must swap the block for an empty one before it records more. */
bool block_is_full(const struct block *block);
/* Whether the block is full because of its patterns: patterns must not be lost, so if there is no
 * empty block the thread adds them to the sums itself. */
bool block_is_full_of_patterns(const struct block *block);

/* One access that is to be recorded. */
struct recording {
    const struct meter_call *call;
    const struct meter_access *access;
    uint64_t fingerprint;
    int64_t now_ns; /* the end of the call; monotonic */
    bool with_example;
};
/* Adds an access to the block. */
void block_record(struct block *block, const struct recording *recording);

/* The fingerprint by which a block finds a pattern: of the same table in the same version. */
uint64_t pattern_fingerprint(const struct meter_call *call, const struct meter_access *access);
/* Describes the pattern of an access as text, in `arena`. */
const struct pattern_text *pattern_describe(struct arena *arena, const struct meter_call *call,
                                            const struct meter_access *access);
/* Returns the request with its values masked; STR_NULL if it is too long or not JSON. */
struct str pattern_example(struct arena *arena, struct str body);

#endif
