/* archive/decompress.h: the bytes of a compressed source. Memory is bounded, whatever the input:
 * by the window of gzip, and by ZSTD_WINDOW_LOG_MAX for zstd. */
#ifndef GRAMME_ARCHIVE_DECOMPRESS_H
#define GRAMME_ARCHIVE_DECOMPRESS_H

#include "archive/source.h"

enum compression { COMPRESSION_NONE, COMPRESSION_GZIP, COMPRESSION_ZSTD };

struct decompressor;

/* Wraps `inner`, which must outlive it. Several compressed members or frames may follow each other.
 * Bytes that are not of that compression, and an input that is cut off, are ERR_VALIDATION. */
struct decompressor *decompressor_create(enum compression compression, struct byte_source *inner);
/* Frees it. Accepts NULL. */
void decompressor_destroy(struct decompressor *decompressor);
/* The decompressed bytes; lives as long as the decompressor. */
struct byte_source *decompressor_source(struct decompressor *decompressor);
/* How many bytes of `inner` have been consumed. */
uint64_t decompressor_consumed(const struct decompressor *decompressor);

#endif
