/* store/image/wal_rows.h: reads the rows of a closed store that are in its write-ahead log and in
 * no SST file, sorted by key. Of a damaged WAL it reads every intact record that is not void, also
 * after a damaged one: each record holds complete rows, so it does not depend on earlier ones. */
#ifndef GRAMME_STORE_IMAGE_WAL_ROWS_H
#define GRAMME_STORE_IMAGE_WAL_ROWS_H

#include "base/arena.h"
#include "store/disk/files.h"
#include "store/image/finding.h"

struct wal_row {
    struct str key;
    struct str value;
    uint64_t order; /* larger is newer */
    bool is_deletion;
};

struct wal_rows {
    struct arena arena;
    struct wal_row *rows; /* sorted by key; only the newest row of each key */
    size_t count;
    size_t capacity;
    uint64_t record_count; /* records that were read and that no SST file holds */
    uint64_t last_record;  /* number of the newest record; 0: there is none */
};

struct wal_rows_input {
    const struct files *files;
    const char *directory;
    const uint8_t *store_id; /* NULL: not known; segments of any store are accepted */
    uint64_t stored;         /* the SST files hold all records up to this number */
    finding_report *report;
    void *context;
};

/* Reads the WAL and reports all damage. Free the rows with wal_rows_finish(). */
void wal_rows_read(struct wal_rows *rows, const struct wal_rows_input *input);
/* Frees the rows. */
void wal_rows_finish(struct wal_rows *rows);

#endif
