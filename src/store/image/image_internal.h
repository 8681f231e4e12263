/* store/image/image_internal.h: the struct of an image, which image.c reads and image_open.c fills.
 */
#ifndef GRAMME_STORE_IMAGE_IMAGE_INTERNAL_H
#define GRAMME_STORE_IMAGE_IMAGE_INTERNAL_H

#include "base/buf.h"
#include "store/disk/identity.h"
#include "store/image/db_manifest.h"
#include "store/image/image.h"
#include "store/image/wal_rows.h"
#include "store/space_set.h"

struct source;

/* A range of keys whose versions of this rank or older may be lost. */
struct lost_range {
    struct str first;
    struct str last; /* STR_NULL: no upper bound */
    size_t rank;
    /* The block is in quarantine: compactions may have moved older versions to any SST file. */
    bool is_quarantined;
    bool is_corrected; /* and a flipped bit of the block was corrected, so nothing is lost */
    uint64_t sst;      /* the place of a block in quarantine */
    uint64_t offset;
};

struct image {
    struct image_options options;
    const struct files *files;
    int lock_fd;
    struct identity identity;
    struct manifest manifest;
    struct image_summary summary;
    struct wal_rows wal_rows;
    struct arena arena; /* of the manifest and of lost ranges */

    struct source *sources;
    size_t source_count;
    struct source **heap; /* sources with an entry; the one with the next entry is first */
    size_t heap_count;
    struct buf current; /* key of the row that was returned last */
    bool has_current;
    struct space_set dropped; /* spaces whose rows are skipped */
    struct lost_range *lost;
    size_t lost_count;
    size_t lost_capacity;
    bool is_silent; /* after a rewind: findings are not reported again */
    uint64_t bytes_of_closed_files;
};

/* Reports a finding about a whole file. */
void image_report(struct image *image, enum finding_severity severity, const char *file,
                  const char *text);
/* Adds a range of keys whose versions may be lost. Copies its keys. */
void image_add_lost(struct image *image, const struct lost_range *range);
/* Creates the sources, when image->manifest is set. */
void image_make_sources(struct image *image);
/* Frees the sources and closes their files. */
void image_free_sources(struct image *image);

#endif
