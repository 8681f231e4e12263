/* store/wal/wal_scan.h: reads and checks the write-ahead log of a store that is not in use, without
 * changing it. wal_recover() uses it when a store is opened, and store/image to check a closed
 * store. */
#ifndef GRAMME_STORE_WAL_WAL_SCAN_H
#define GRAMME_STORE_WAL_WAL_SCAN_H

#include "err/err.h"
#include "store/disk/files.h"
#include "store/wal/wal_format.h"
#include "store/wal/wal_state.h"

enum wal_severity {
    WAL_NOTE,      /* nothing is lost: a record that was never acknowledged is incomplete */
    WAL_CORRECTED, /* nothing is lost: a flipped bit was corrected in memory */
    WAL_DAMAGE     /* acknowledged records are missing or unreadable */
};

/* A finding. Pointers are valid until the callback returns. */
struct wal_finding {
    enum wal_severity severity;
    const char *path; /* of the file */
    uint64_t offset;  /* in the file */
    uint64_t record;  /* number of the first record that is affected; 0: none */
    const char *text; /* a sentence, without path and offset */
};
typedef void wal_report(void *context, const struct wal_finding *finding);

/* Gets a record, in order; returns false to end the scan. */
typedef bool wal_apply(void *context, uint64_t number, struct str payload, struct err *err);

struct wal_scan_input {
    const struct files *files;
    const char *directory;
    const uint8_t *store_id; /* STORE_ID_LEN bytes */
    uint64_t stored;         /* the SST files hold all records up to this number */
    wal_report *report;      /* NULL: findings are not reported */
    wal_apply *apply;        /* gets the records after `stored`; NULL: they are only checked */
    void *context;           /* of both */
};

/* A segment with records that no SST file holds. */
struct wal_segment {
    uint64_t number;
    uint64_t first; /* number of its first record */
    uint64_t size_bytes;
};

struct wal_scan {
    struct wal_state_found found;
    struct wal_segment *segments; /* oldest first */
    size_t segment_count;
    uint64_t *other_segments; /* numbers of segments that are not needed and may be deleted */
    size_t other_count;
    uint64_t next;     /* number of the next record */
    uint64_t previous; /* checksum of the one before it */
    size_t damage_count;
};

/* Reads and checks the WAL. True: no acknowledged record is lost, and `out` says where the WAL
 * ends. False: *err says what the operator can do, and `out` holds what was found. The caller calls
 * wal_scan_finish() in both cases. */
MUST_USE bool wal_scan(const struct wal_scan_input *input, struct wal_scan *out, struct err *err);
/* Frees the result of a scan. */
void wal_scan_finish(struct wal_scan *scan);

/* Returns the number of the first intact record in the bytes of segment `number` of the store; 0:
 * there is none, or they are no such segment. store_id NULL: of any store. */
MUST_USE uint64_t wal_first_record(struct str bytes, uint64_t number, const uint8_t *store_id);

/* Writes the path of a segment to `out`. */
void wal_segment_path(const char *directory, uint64_t number, struct buf *out);

#endif
