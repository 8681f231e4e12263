/* archive/record_internal.h: what the readers of the formats share. Each has one function that
 * reads the next record from the window. */
#ifndef GRAMME_ARCHIVE_RECORD_INTERNAL_H
#define GRAMME_ARCHIVE_RECORD_INTERNAL_H

#include "archive/record.h"
#include "archive/window.h"

struct record_reader {
    const struct record_options *options;
    struct window window;
    struct arena arena;        /* the names of columns */
    bool is_over;              /* RECORD_BROKEN, RECORD_FAILED or RECORD_END was returned */
    bool has_begun;            /* a byte order mark and the first row of CSV have been read */
    const struct str *headers; /* CSV */
    size_t header_count;
    bool is_in_list;   /* Ion: the records are elements of a list */
    uint64_t line_end; /* JSON: position behind the line that is being read */
    bool is_line_cut;  /* the line is longer than the window: line_end is not its end */
};

/* Reads a record of DynamoDB JSON, as record_reader_next(). */
enum record_result read_json_record(struct record_reader *reader, struct arena *arena,
                                    struct record *out, struct err *err);
/* Reads a record of Ion text, as record_reader_next(). */
enum record_result read_ion_record(struct record_reader *reader, struct arena *arena,
                                   struct record *out, struct err *err);
/* Reads a row of CSV, as record_reader_next(). */
enum record_result read_csv_record(struct record_reader *reader, struct arena *arena,
                                   struct record *out, struct err *err);
/* CSV: reads the names of columns, if the first row has them. As record_reader_next();
 * RECORD_ITEM: it went well. */
enum record_result read_csv_header(struct record_reader *reader, struct arena *arena,
                                   struct record *out, struct err *err);

/* Ends a reader for a failure of window_fill(): of the source, or of what the source holds. */
enum record_result record_end_failed(struct record *out, const struct err *err);

/* Such a record is refused: without its condition the item would always be written. */
#define CONDITION_IS_NO_STRING "The ConditionExpression is not a string"

/* Returns RECORD_BAD with a message, formatted in `arena`. */
enum record_result record_bad(struct arena *arena, struct record *out, const char *format, ...)
    PRINTF_LIKE(3, 4);

#endif
