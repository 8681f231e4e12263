/* store/image/block.h: blocks of RocksDB's tables (block-based format, versions 2 to 5): checking,
 * decompressing, and walking their entries. Every length is checked: the bytes may be damaged.
 *
 *   contents | compression (1) | checksum of both (u32)
 *
 * Contents, after decompression:
 *
 *   entries | restart offsets (u32 each) | [hash buckets (1 each) | their number (u16)] | footer
 * (u32)
 *
 * The footer is the number of restarts; bit 31 says that there are hash buckets. */
#ifndef GRAMME_STORE_IMAGE_BLOCK_H
#define GRAMME_STORE_IMAGE_BLOCK_H

#include "base/buf.h"
#include "store/image/varint.h"

enum { BLOCK_TRAILER_LEN = 5 };

/* Where a block is; `size` is that of its contents as stored. */
struct block_handle {
    uint64_t offset;
    uint64_t size;
};

/* Reads a handle; the caller looks at cursor->is_bad. */
struct block_handle block_handle_read(struct cursor *cursor);

enum block_result { BLOCK_GOOD, BLOCK_CORRECTED, BLOCK_BAD };

/* Checks the checksum of a block with its trailer. */
MUST_USE bool block_is_intact(struct str stored, uint8_t checksum_type);

/* Up to this size blocks are corrected. The time grows with the square: for 32 KiB it is about a
 * second, for an index of 256 KiB a minute. */
enum { BLOCK_CORRECTED_MAX = 32 << 10, BLOCK_CORRECTED_INDEX_MAX = 256 << 10 };

/* Checks a block with its trailer. If it is bad and has at most `corrected_max` bytes, tries every
 * single bit; a correction is made in place. */
MUST_USE enum block_result block_check(struct buf *stored, uint8_t checksum_type,
                                       size_t corrected_max);
/* The contents of a checked block: in `stored`, or decompressed in `room`. STR_NULL: they cannot be
 * decompressed. */
struct str block_contents(struct str stored, struct buf *room);

/* Walks the entries of a block. */
struct block_iter {
    struct cursor cursor; /* its entries only */
    bool has_delta_values;
    struct block_handle handle; /* has_delta_values: of the entry before */
    struct buf key;
    struct str value;
    bool is_bad; /* the contents are malformed; the walk has ended */
};

/* `has_delta_values`: of an index whose handles are stored as differences; then use handle, not
 * value. The contents must outlive the iterator. block_iter_finish() frees the key. */
void block_iter_init(struct block_iter *iter, struct str contents, bool has_delta_values);
MUST_USE bool block_iter_next(struct block_iter *iter);
void block_iter_finish(struct block_iter *iter);

/* CRC-32C (Castagnoli) in the form in which RocksDB stores it. */
MUST_USE uint32_t crc32c_masked(struct str bytes);

#endif
