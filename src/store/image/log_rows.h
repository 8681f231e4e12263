/* store/image/log_rows.h: reads the rows of a closed store that are in its write-ahead log and in
 * no table, sorted by key. Of a damaged log it reads every intact record that is not void, also
 * after a damaged one: each record holds complete rows, so it does not depend on earlier ones. */
#ifndef GRAMME_STORE_IMAGE_LOG_ROWS_H
#define GRAMME_STORE_IMAGE_LOG_ROWS_H

#include "base/arena.h"
#include "store/image/finding.h"
#include "store/wal/files.h"

struct log_row {
    struct str key;
    struct str value;
    uint64_t order; /* larger is newer */
    bool is_deletion;
};

struct log_rows {
    struct arena arena;
    struct log_row *rows; /* sorted by key; only the newest row of each key */
    size_t count;
    size_t capacity;
    uint64_t record_count; /* records that were read and that no table holds */
    uint64_t last_record;  /* number of the newest record; 0: there is none */
};

struct log_rows_input {
    const struct files *files;
    const char *directory;
    const uint8_t *store_id; /* NULL: not known; segments of any store are accepted */
    uint64_t stored;         /* the tables hold all records up to this number */
    finding_report *report;
    void *context;
};

/* Reads the log and reports all damage. Free the rows with log_rows_finish(). */
void log_rows_read(struct log_rows *rows, const struct log_rows_input *input);
/* Frees the rows. */
void log_rows_finish(struct log_rows *rows);

#endif
