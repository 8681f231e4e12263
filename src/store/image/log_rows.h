/* store/image/log_rows.h: the rows that only the write-ahead log of a closed store holds, sorted.
 * A log that is damaged gives what can be read of it: every intact record that is not void, also
 * behind a damaged one. That is sound, because a record holds whole rows. */
#ifndef GRAMME_STORE_IMAGE_LOG_ROWS_H
#define GRAMME_STORE_IMAGE_LOG_ROWS_H

#include "base/arena.h"
#include "store/image/finding.h"
#include "store/wal/files.h"

struct log_row {
    struct str key;
    struct str value;
    uint64_t order; /* a larger one is newer */
    bool is_deletion;
};

struct log_rows {
    struct arena arena;
    struct log_row *rows; /* by key; of each key the newest only */
    size_t count;
    size_t capacity;
    uint64_t record_count; /* that were read and belong behind the tables */
    uint64_t last_record;  /* number of the newest; 0: there is none */
};

struct log_rows_input {
    const struct files *files;
    const char *directory;
    const uint8_t *store_id; /* NULL: not known; then segments of any store are taken */
    uint64_t stored;         /* the tables hold records up to this number */
    finding_report *report;
    void *context;
};

/* Reads the log. Everything that is wrong with it has been reported. log_rows_finish() frees. */
void log_rows_read(struct log_rows *rows, const struct log_rows_input *input);
void log_rows_finish(struct log_rows *rows);

#endif
