/* bench/prepared_request_internal.h: a prepared request: all its bytes, and the positions of keys
 * and fields in them. Only these are overwritten to send the next request of the kind. */
#ifndef GRAMME_BENCH_PREPARED_REQUEST_INTERNAL_H
#define GRAMME_BENCH_PREPARED_REQUEST_INTERNAL_H

#include "base/random.h"
#include "bench/test_table_internal.h"

enum { REQUEST_ITEMS_MAX = 100, LIMIT_WIDTH = 3 };

enum slot_kind {
    SLOT_PARTITION, /* of an item: see test_table_internal.h */
    SLOT_SORT,
    SLOT_MADE,
    SLOT_OWNER,
    SLOT_FIELD,
    SLOT_LIMIT, /* how many items to read, blanks in front */
    SLOT_SEGMENT,
    SLOT_START_PARTITION, /* where a page of Scan starts */
    SLOT_START_SORT,
};

struct slot {
    enum slot_kind kind;
    int item;   /* which of the request's items */
    int detail; /* SLOT_OWNER: of which index */
    size_t offset;
    size_t width;
};

struct request {
    struct buf bytes; /* head and body */
    struct slot *slots;
    size_t slot_count;
    size_t slot_capacity;
    int item_count;
    /* The shortest and longest body of a valid response. */
    uint64_t answer_min;
    uint64_t answer_max;
};

/* The values for the slots of a request. */
struct request_values {
    uint64_t items[REQUEST_ITEMS_MAX]; /* numbers of its items */
    uint64_t limit;
    uint64_t segment;
    const char *start_partition; /* KEY_WIDTH characters each */
    const char *start_sort;
};

/* Starts a request. Then add texts and slots of the body in order, and call request_finish(), which
 * puts the head in front. */
void request_init(struct request *request);
/* Frees the bytes and slots. */
void request_destroy(struct request *request);
/* Appends text to the body. */
void request_add(struct request *request, const char *format, ...) PRINTF_LIKE(2, 3);
/* Appends a slot of `width` bytes to the body. */
void request_add_slot(struct request *request, enum slot_kind kind, int item, int detail,
                      size_t width);
/* Puts the HTTP head in front of the body. */
void request_finish(struct request *request, const struct target *target, struct str operation);

/* Adds the key of item number `item`. */
void request_add_key(struct request *request, int item);
/* Adds all attributes of item number `item`. */
void request_add_item(struct request *request, const struct test_table *table, int item);

/* Random text for fields, which needs no JSON escapes and does not compress. */
struct field_text;
/* Creates a text; all threads may share it. */
MUST_USE struct field_text *field_text_create(void);
/* Frees it. Accepts NULL. */
void field_text_destroy(struct field_text *text);

/* Overwrites the slots with the values; fields get random pieces of `text`. */
void request_fill(struct request *request, const struct test_table *table,
                  const struct request_values *values, const struct field_text *text,
                  struct random *random);

#endif
