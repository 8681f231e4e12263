/* codec/stored_load.h: a load of items from objects into a table, as the value of its catalog row:
 * an import makes the table, a bulk put writes to one that exists. The row is a version byte (1)
 * and a map of named fields, as of table descriptions; absent fields are 0 or no text.
 *
 * Rows are named by the id that ends the ARN, so that they stand in the order of their starts, and
 * by the table: ID/TABLE. */
#ifndef GRAMME_CODEC_STORED_LOAD_H
#define GRAMME_CODEC_STORED_LOAD_H

#include "err/err.h"
#include "model/table.h"

enum load_kind { LOAD_IMPORT, LOAD_BULK_PUT, LOAD_KINDS };
enum load_format { LOAD_DYNAMODB_JSON, LOAD_ION, LOAD_CSV };
enum load_compression { LOAD_NONE, LOAD_GZIP, LOAD_ZSTD };

enum load_state {
    LOAD_IN_PROGRESS,
    LOAD_COMPLETED,
    LOAD_COMPLETED_WITH_ERRORS, /* bulk puts only, like the next two */
    LOAD_CANCELLING,
    LOAD_CANCELLED,
    LOAD_FAILED,
};

/* The length of an id: 14 digits, a hyphen, 8 hex digits. */
enum { LOAD_ID_LEN = 23 };

/* The position of a load: every record before it has been written, or reported as an error. */
struct load_cursor {
    struct str key;  /* the object that is being read; STR_NULL: none yet */
    struct str etag; /* of that object */
    int64_t offset;  /* in its decompressed bytes; 0 and `is_done`: the object is over */
    int64_t index;   /* records of the object so far */
    bool is_done;    /* nothing is left of the object */
    int64_t bytes;   /* of the object as it is stored that have been read */
    int64_t part;    /* number of the next object with reports */
};

struct load {
    enum load_kind kind;
    enum load_state state;
    int64_t start_ms;
    int64_t end_ms; /* 0: it is running */
    struct str token;
    struct str digest; /* of the request, 16 bytes; kept with the token, not in this row */

    /* What is read. */
    struct str bucket;
    struct str prefix;
    enum load_format format;
    enum load_compression compression;
    int64_t delimiter; /* CSV: a character; 0: a comma */
    const struct str *headers;
    size_t header_count; /* 0: the first row has the names of columns */

    /* The table. */
    struct str table_name;
    struct str table_id;
    const struct table *table; /* import: what is to be made; NULL: a bulk put */

    /* Parts of the request as JSON, for descriptions: S3BucketSource or InputS3Configuration;
     * InputFormatOptions; TableCreationParameters or OutputS3Configuration. */
    struct str input_json;
    struct str options_json;
    struct str parameters_json;

    /* Of a bulk put. */
    struct str output_bucket;
    struct str output_prefix;
    struct str output_sse; /* in the form of src/objects: "AES256", "aws:kms" */
    struct str output_sse_key;
    bool reports_errors;
    bool reports_conditions;
    int64_t units_max; /* per second; 0: any number */
    bool is_accelerated;

    /* Progress. */
    int64_t total_bytes; /* of all objects; -1: not known yet */
    int64_t bytes;       /* of objects that have been read */
    int64_t items;       /* records */
    int64_t written;     /* of these */
    int64_t errors;
    int64_t conditions_failed;
    int64_t table_bytes;
    const struct str *index_names; /* bulk put: bytes written to each index */
    const int64_t *index_bytes;
    size_t index_count;
    struct load_cursor cursor;

    /* Why it failed. If it is set while the load is running, the load fails after the incomplete
     * table has been deleted. */
    struct str failure_code;
    struct str failure_message;
};

/* Whether it has ended. */
static inline bool load_is_over(const struct load *load)
{
    return load->state != LOAD_IN_PROGRESS && load->state != LOAD_CANCELLING;
}

/* Encodes a load in `arena`. */
struct str load_encode(struct arena *arena, const struct load *load);
/* Decodes a load; *out is allocated from `arena` and borrows nothing. ERR_INTERNAL if the bytes
 * cannot be read. */
MUST_USE bool load_decode(struct arena *arena, struct str bytes, struct load *out, struct err *err);

#endif
