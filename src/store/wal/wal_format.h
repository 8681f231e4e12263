/* store/wal/wal_format.h: the bytes of a segment: its header and its records. The layout is drawn
 * in docs/internals/formats.md; docs/internals/recovery.md says what each field proves. */
#ifndef GRAMME_STORE_WAL_WAL_FORMAT_H
#define GRAMME_STORE_WAL_WAL_FORMAT_H

#include "base/str.h"
#include "store/disk/checksum.h"

/* Every record starts at a multiple of this, so that a block which holds an acknowledged record is
 * never written again. No disk in use has larger physical sectors. */
enum { WAL_BLOCK_BYTES = 4096 };
enum { WAL_HEADER_LEN = 128, WAL_RECORD_HEADER_LEN = 48 };

/* The first block of a segment. */
struct wal_header {
    uint8_t store_id[STORE_ID_LEN];
    uint64_t number;     /* of the segment: 1, 2, 3, ... without gaps */
    uint64_t size_bytes; /* of the file, from the start: a shorter file was truncated */
    uint64_t first;      /* number of its first record; earlier ones are in older segments */
    uint64_t previous;   /* checksum of record `first` - 1 */
    uint64_t salt;       /* random: records with another salt are left from an earlier use */
};

/* Encodes the header of a segment. */
void wal_header_encode(const struct wal_header *header, uint8_t out[WAL_HEADER_LEN]);
/* Decodes the header of a segment. May correct one bit of `bytes`, and sets *out_corrected then.
 * False: it is not a header of this version. */
MUST_USE bool wal_header_decode(uint8_t bytes[WAL_HEADER_LEN], struct wal_header *out,
                                bool *out_corrected);

/* What identifies a record. */
struct wal_record {
    uint64_t number;
    uint64_t salt;     /* of its segment */
    uint64_t previous; /* checksum of the record before it, also if that is in another segment */
};

/* Writes the header of a record and returns the record's checksum, which the next one repeats. */
uint64_t wal_record_encode(struct wal_record record, struct str payload,
                           uint8_t out[WAL_RECORD_HEADER_LEN]);

/* A decoded record. */
struct wal_found {
    struct wal_record record;
    struct str payload; /* borrows the decoded bytes */
    uint64_t checksum;
};

/* Decodes the record at the start of `bytes`. False: there is no intact record of the segment with
 * this salt. Does not check number and previous: that is up to the caller. */
MUST_USE bool wal_record_decode(struct str bytes, uint64_t salt, struct wal_found *out);
/* Decodes the expected record at `bytes` if it has a single flipped bit, and corrects the bit in
 * place. False: there are more differences. */
MUST_USE bool wal_record_correct(uint8_t *bytes, size_t len, struct wal_record expected,
                                 struct wal_found *out);

/* Returns the space that a record with a payload of this length takes in a segment. */
static inline uint64_t wal_record_blocks_bytes(uint64_t payload_len)
{
    uint64_t len = WAL_RECORD_HEADER_LEN + payload_len;
    return (len + WAL_BLOCK_BYTES - 1) / WAL_BLOCK_BYTES * WAL_BLOCK_BYTES;
}

#endif
