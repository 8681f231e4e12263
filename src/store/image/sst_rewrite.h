/* store/image/sst_rewrite.h: writes a copy of an SST file in which bad data blocks are corrected,
 * or replaced by blocks that RocksDB can read, and puts it in the place of the file. The length of
 * the file and its index stay as they are. Hard links to the old file, such as those of a
 * checkpoint, keep the old contents. */
#ifndef GRAMME_STORE_IMAGE_SST_REWRITE_H
#define GRAMME_STORE_IMAGE_SST_REWRITE_H

#include "err/err.h"
#include "store/disk/files.h"
#include "store/image/sst_file.h"

struct sst_rewrite {
    const struct files *files;
    const char *directory;
    uint64_t number;
    uint8_t checksum_type;
    const struct sst_bad_block *blocks; /* in the order of their offsets */
    size_t count;
};

/* Copies the bytes of each bad block, as far as they can be read, to a file
 * quarantine-NUMBER-OFFSET.block of its own, and syncs it. A block that the disk cannot read gets
 * none. False: a file could not be written, and *err says why. */
MUST_USE bool sst_save_blocks(const struct sst_rewrite *rewrite, struct err *err);
/* Replaces the file. It is complete and synced before it gets its name, so that a crash leaves
 * either the old file or the new one. False: *err says why, and the file is as it was. */
MUST_USE bool sst_replace_blocks(const struct sst_rewrite *rewrite, struct err *err);

#endif
