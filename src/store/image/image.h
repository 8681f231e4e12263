/* store/image/image.h: reads the rows of a store on disk that is not in use, in the order of keys,
 * from its files, without RocksDB and without changing them. Checks each block, record and file;
 * what cannot be read is reported and skipped.
 *
 * If a newer version of a row may have been lost, the version that is left is marked as stale. */
#ifndef GRAMME_STORE_IMAGE_IMAGE_H
#define GRAMME_STORE_IMAGE_IMAGE_H

#include "err/err.h"
#include "store/image/finding.h"

struct image;

struct image_options {
    const char *directory;
    /* A single flipped bit in an SST file is corrected while reading. For a repair that is not
     * damage; for a check it is, because servers cannot read such a block. */
    bool is_for_repair;
    finding_report *report;
    void *context;
};

struct image_row {
    struct str key;
    struct str value;
    bool is_stale;
};

/* What image_open() has found. */
struct image_summary {
    bool has_identity;
    uint64_t seed;
    uint32_t format;
    bool has_manifest;  /* else all SST files in the directory are read */
    uint64_t sst_count; /* number of SST files */
    uint64_t sst_bytes;
    uint64_t stored;       /* the SST files hold all records of the WAL up to this number */
    uint64_t record_count; /* records of the WAL after that number */
    uint64_t last_record;
};

/* Locks the directory, so that no server can open it, and reads everything but the SST files.
 * False: there is no store of this format, or it is in use; *err says which. All other errors are
 * reported. Close the image with image_close(). */
MUST_USE bool image_open(const struct image_options *options, struct image **out, struct err *err);
/* Returns what image_open() has found. */
const struct image_summary *image_summary(const struct image *image);
/* Reads the next row that is not deleted; borrowed until the next call. False: there are no more.
 */
MUST_USE bool image_next(struct image *image, struct image_row *out);
/* Starts again before the first row. Findings are not reported a second time. */
void image_rewind(struct image *image);
/* Returns how many bytes of SST files were read since image_open() or image_rewind(). */
MUST_USE uint64_t image_bytes_read(const struct image *image);
/* Returns whether a version of the row with this key may be lost: it lies in a reported range. */
MUST_USE bool image_is_lost(const struct image *image, struct str key);
/* Releases the lock and frees the image. Accepts NULL. */
void image_close(struct image *image);

#endif
