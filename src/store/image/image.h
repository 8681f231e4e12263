/* store/image/image.h: the rows of a store on disk that nobody has open, in order of their keys,
 * read from its files without RocksDB and without changing a byte. Each block, record and file is
 * checked on the way; what cannot be read is reported and passed over.
 *
 * If a newer version of a row may have been lost, the version that is left is marked as stale. */
#ifndef GRAMME_STORE_IMAGE_IMAGE_H
#define GRAMME_STORE_IMAGE_IMAGE_H

#include "err/err.h"
#include "store/image/finding.h"

struct image;

struct image_options {
    const char *directory;
    /* Single flipped bits in tables are corrected while reading. Only a repair keeps the
     * correction; for others it is damage, because servers cannot read such a block. */
    bool is_for_repair;
    finding_report *report;
    void *context;
};

struct image_row {
    struct str key;
    struct str value;
    bool is_stale;
};

/* What was found out while opening. */
struct image_summary {
    bool has_identity;
    uint64_t seed;
    uint32_t format;
    bool has_manifest;    /* else all tables in the directory are read */
    uint64_t table_count; /* files */
    uint64_t table_bytes;
    uint64_t stored;       /* the tables hold records of the log up to this */
    uint64_t record_count; /* of the log, behind that */
    uint64_t last_record;
};

/* Locks the directory against servers, and reads everything but the tables. False: there is no
 * store of this format, or it is in use; *err says so. Everything else that is wrong is reported.
 */
MUST_USE bool image_open(const struct image_options *options, struct image **out, struct err *err);
const struct image_summary *image_summary(const struct image *image);
/* The next row; deleted ones are left out. Borrowed until the next call. */
MUST_USE bool image_next(struct image *image, struct image_row *out);
/* Begins again at the first row. Nothing that was reported is reported again. */
void image_rewind(struct image *image);
/* Bytes of tables that have been read since the start or rewind. */
MUST_USE uint64_t image_bytes_read(const struct image *image);
/* Whether versions of the row with this key may be lost: asks the ranges that were reported. */
MUST_USE bool image_is_lost(const struct image *image, struct str key);
/* Accepts NULL. */
void image_close(struct image *image);

#endif
