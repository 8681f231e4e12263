/* store/wal/wal_internal.h: the struct of the write-ahead log, and what the files that write it
 * share: wal.c (records), wal_segments.c, wal_recover.c. Committing thread only. */
#ifndef GRAMME_STORE_WAL_WAL_INTERNAL_H
#define GRAMME_STORE_WAL_WAL_INTERNAL_H

#include "store/wal/wal.h"

/* Size of the buffer for direct writes. */
enum { WAL_BUFFER_BYTES = 64 * WAL_BLOCK_BYTES };

/* The segment that is written to. */
struct current {
    int fd; /* -1: there is none */
    struct wal_segment segment;
    uint64_t salt;
    uint64_t end;      /* of its last committed record */
    bool is_named;     /* wal.state names it: it may hold records */
    bool is_direct;    /* written with O_DIRECT */
    bool is_requested; /* a spare file for the next segment was requested */
};

struct wal {
    struct wal_options options;
    char *directory;
    struct wal_state_file *state; /* NULL before wal_recover() */
    struct spares *spares;
    uint64_t next;
    uint64_t previous;     /* checksum of the last committed record */
    uint64_t newest;       /* number of the newest segment */
    uint64_t named;        /* number of the newest segment that wal.state names */
    uint64_t void_segment; /* segment of a record that could not be made void; 0: none */
    uint64_t void_from;    /* number of that record */
    struct current current;
    uint64_t pending_bytes; /* 0: no record is pending */
    uint64_t pending_checksum;
    char *buffer; /* WAL_BUFFER_BYTES, aligned */
    bool has_grown;
    /* The segments before the current one, oldest first. */
    struct wal_segment *old;
    size_t old_count;
    size_t old_capacity;
};

/* Closes the segment that is written to; a pending record is forgotten. */
void wal_close_current(struct wal *wal);
/* Adds a segment to the old ones; it is newer than all of them. */
void wal_add_old(struct wal *wal, struct wal_segment segment);
/* Ends the segment that is written to: it becomes an old one. */
void wal_retire_current(struct wal *wal);
/* Begins a segment if the current one has no space for the record. False: errno says why. */
MUST_USE bool wal_prepare_segment(struct wal *wal, uint64_t record_bytes);

#endif
