/* bench/request_internal.h: a prepared request: all its bytes, and where in them keys and fields
 * stand. To send another one of its kind only these are written over. */
#ifndef GRAMME_BENCH_REQUEST_INTERNAL_H
#define GRAMME_BENCH_REQUEST_INTERNAL_H

#include "base/random.h"
#include "bench/shape_internal.h"

enum { REQUEST_ITEMS_MAX = 100, LIMIT_WIDTH = 3 };

enum slot_kind {
    SLOT_PARTITION, /* of an item: see shape_internal.h */
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
    /* A shorter or longer body is no answer to it. */
    uint64_t answer_min;
    uint64_t answer_max;
};

/* What to write over a request. */
struct request_values {
    uint64_t items[REQUEST_ITEMS_MAX]; /* numbers of its items */
    uint64_t limit;
    uint64_t segment;
    const char *start_partition; /* KEY_WIDTH characters each */
    const char *start_sort;
};

/* Building: init, then texts and slots of the body in order, then finish, which puts the head in
 * front. */
void request_init(struct request *request);
void request_destroy(struct request *request);
void request_add(struct request *request, const char *format, ...) PRINTF_LIKE(2, 3);
void request_add_slot(struct request *request, enum slot_kind kind, int item, int detail,
                      size_t width);
void request_finish(struct request *request, const struct target *target, struct str operation);

/* Parts that many requests have: the key, or all attributes, of item number `item`. */
void request_add_key(struct request *request, int item);
void request_add_item(struct request *request, const struct shape *shape, int item);

/* Text for fields, without anything that JSON escapes; does not compress. */
struct field_text;
MUST_USE struct field_text *field_text_create(void);
void field_text_destroy(struct field_text *text);

/* Writes the values over the slots; fields get random pieces of `text`. */
void request_fill(struct request *request, const struct shape *shape,
                  const struct request_values *values, const struct field_text *text,
                  struct random *random);

#endif
