/* archive/record.h: reads the records of a file or object one by one: DynamoDB's JSON, Ion text or
 * CSV. Memory is bounded by the longest record that is accepted. The input may be any bytes: a
 * record that cannot be read gives a result (RECORD_BAD, RECORD_BROKEN), never a crash.
 *
 * A reader is used by one thread. */
#ifndef GRAMME_ARCHIVE_RECORD_H
#define GRAMME_ARCHIVE_RECORD_H

#include "archive/source.h"
#include "model/table.h"

enum record_format { RECORD_DYNAMODB_JSON, RECORD_ION, RECORD_CSV };

/* An item of the largest size has fewer bytes in each format. */
enum { RECORD_BYTES_MAX = 16 * 1024 * 1024 };

struct record_options {
    enum record_format format;
    /* Of CSV only: */
    char delimiter;            /* 0: a comma */
    const struct str *headers; /* names of the columns; NULL: the first row has them */
    size_t header_count;
    const struct table *table; /* its attribute definitions are the types of columns; others are S.
                                  NULL: all are S */
};

/* One record. Everything is allocated from the arena of record_reader_next(). */
struct record {
    struct value item;       /* RECORD_ITEM */
    struct str error;        /* RECORD_BAD, RECORD_BROKEN: why */
    struct str condition;    /* ConditionExpression beside the item; STR_NULL: none */
    struct value names;      /* ExpressionAttributeNames, an M of S; VALUE_ABSENT: none */
    struct value attributes; /* ExpressionAttributeValues, an M; VALUE_ABSENT: none */
};

enum record_result {
    RECORD_ITEM,
    RECORD_BAD,    /* this record cannot be used; the next one can be read */
    RECORD_BROKEN, /* neither this record nor anything behind it can be read: the reader is over */
    RECORD_END,
    RECORD_FAILED, /* the source could not be read: *err; the reader is over */
};

struct record_reader;

/* Reads `source`, which must outlive the reader. `options` are borrowed likewise. */
struct record_reader *record_reader_create(const struct record_options *options,
                                           struct byte_source *source);
/* Frees it. Accepts NULL. */
void record_reader_destroy(struct record_reader *reader);

/* Reads the next record into *out. */
MUST_USE enum record_result record_reader_next(struct record_reader *reader, struct arena *arena,
                                               struct record *out, struct err *err);
/* Where the reader is, behind the last record: for record_reader_skip_to() only. */
int64_t record_reader_position(const struct record_reader *reader);
/* Goes on at a position that record_reader_position() of another reader of the same bytes has
 * returned. Before the first record_reader_next(). False: *err. */
MUST_USE bool record_reader_skip_to(struct record_reader *reader, int64_t position,
                                    struct err *err);

#endif
