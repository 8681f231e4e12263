/* store/image/manifest.h: RocksDB's manifest: which tables there are, at which level, how long they
 * are and which keys they hold. Reads the default column family, the only one that is used. */
#ifndef GRAMME_STORE_IMAGE_MANIFEST_H
#define GRAMME_STORE_IMAGE_MANIFEST_H

#include "base/arena.h"
#include "err/err.h"

enum { MANIFEST_LEVELS_MAX = 64 };

struct manifest_table {
    uint64_t number; /* NUMBER.sst */
    uint64_t size_bytes;
    uint32_t level;
    struct str smallest; /* user keys, both inclusive */
    struct str largest;
    uint64_t largest_sequence;
};

struct manifest {
    struct manifest_table *tables; /* newest first: level 0 by sequence, then by level and key */
    size_t count;
    uint64_t last_sequence;
};

/* Reads the bytes of a manifest; everything in *out lives in `arena`. False: a record is damaged or
 * not understood, *err says where; *out holds what the records before it say. */
MUST_USE bool manifest_read(struct arena *arena, struct str bytes, struct manifest *out,
                            struct err *err);

#endif
