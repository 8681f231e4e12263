/* store/image/db_manifest.h: reads RocksDB's manifest: the list of SST files with their levels,
 * sizes and ranges of keys. Reads the default column family only; stores have no other. */
#ifndef GRAMME_STORE_IMAGE_DB_MANIFEST_H
#define GRAMME_STORE_IMAGE_DB_MANIFEST_H

#include "base/arena.h"
#include "err/err.h"

enum { MANIFEST_LEVELS_MAX = 64 };

struct manifest_sst {
    uint64_t number; /* NUMBER.sst */
    uint64_t size_bytes;
    uint32_t level;
    struct str smallest; /* user keys, both inclusive */
    struct str largest;
    uint64_t largest_sequence;
};

struct manifest {
    struct manifest_sst *ssts; /* newest first: level 0 by sequence, then by level and key */
    size_t count;
    uint64_t last_sequence;
};

/* Reads a manifest; everything in *out lives in `arena`. False: a record is damaged or of an
 * unknown kind, and *err says where; *out holds the result of the records before it. */
MUST_USE bool manifest_read(struct arena *arena, struct str bytes, struct manifest *out,
                            struct err *err);

#endif
