/* store/image/sst_block.h: blocks of RocksDB's SST files (block-based format, versions 2 to 5):
 * checks and decompresses them, and iterates over their entries. Every length is checked: the bytes
 * may be damaged.
 *
 *   contents | compression (1) | checksum of both (u32)
 *
 * Contents, after decompression:
 *
 *   entries | restart offsets (u32 each) | [hash buckets (1 each) | their number (u16)]
 *   | footer (u32)
 *
 * The footer is the number of restarts; bit 31 says that there are hash buckets. */
#ifndef GRAMME_STORE_IMAGE_SST_BLOCK_H
#define GRAMME_STORE_IMAGE_SST_BLOCK_H

#include "base/buf.h"
#include "store/image/varint.h"

enum { BLOCK_TRAILER_LEN = 5 };

/* Location of a block; `size` is that of its stored contents, without the trailer. */
struct block_handle {
    uint64_t offset;
    uint64_t size;
};

/* Reads a handle; the caller checks cursor->is_bad. */
struct block_handle block_handle_read(struct cursor *cursor);

enum block_result { BLOCK_GOOD, BLOCK_CORRECTED, BLOCK_BAD };

/* Returns whether the checksum of a block with its trailer is right. */
MUST_USE bool block_is_intact(struct str stored, uint8_t checksum_type);

/* Largest size of a block that is corrected. The time grows with the square of the size: about a
 * second for 32 KiB, a minute for an index of 256 KiB. */
enum { BLOCK_CORRECTED_MAX = 32 << 10, BLOCK_CORRECTED_INDEX_MAX = 256 << 10 };

/* Checks a block with its trailer. If it is bad and has at most `corrected_max` bytes, tries to
 * flip every single bit; corrects the block in place if one matches the checksum. */
MUST_USE enum block_result block_check(struct buf *stored, uint8_t checksum_type,
                                       size_t corrected_max);
/* Returns the contents of a checked block: in `stored`, or decompressed to `room`. STR_NULL: they
 * cannot be decompressed. */
struct str block_contents(struct str stored, struct buf *room);

/* Makes a data block, with its trailer, whose stored contents have `size` bytes: it holds nothing
 * but a deletion of `key` with the sequence number 0, and padding as the value of the deletion,
 * which no other deletion has. It takes the place of a bad block. False: it does not fit into so
 * few bytes, or the kind of checksum is not known. */
MUST_USE bool block_make_filler(struct buf *out, uint64_t size, uint8_t checksum_type,
                                struct str key);

/* Iterates over the entries of a block. */
struct block_iter {
    struct cursor cursor; /* over the entries that are left */
    bool has_delta_values;
    struct block_handle handle; /* of the current entry, if has_delta_values */
    struct buf key;
    struct str value;
    bool is_bad; /* the contents are malformed, and the iteration has ended */
};

/* Starts before the first entry. `has_delta_values`: the block is an index whose handles are stored
 * as differences; use iter->handle instead of iter->value. `contents` must outlive the iterator. */
void block_iter_init(struct block_iter *iter, struct str contents, bool has_delta_values);
/* Moves to the next entry. False: there is none, or the contents are malformed. */
MUST_USE bool block_iter_next(struct block_iter *iter);
/* Frees the key. */
void block_iter_finish(struct block_iter *iter);

/* Returns the CRC-32C (Castagnoli) in the masked form that RocksDB stores. */
MUST_USE uint32_t crc32c_masked(struct str bytes);

#endif
