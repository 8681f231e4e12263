/* store/rocks/identity.h: the files STORE and STORE.copy, which say what a directory is: the format
 * of everything in it, the store's random id, and the seed of stored hashes. They are synced
 * before the store takes its first write, and never change but for an upgrade. */
#ifndef GRAMME_STORE_ROCKS_IDENTITY_H
#define GRAMME_STORE_ROCKS_IDENTITY_H

#include "err/err.h"
#include "store/formats.h"
#include "store/wal/files.h"
#include "store/wal/sealed.h"

/* Formats: 3: identity in RocksDB, older log (upgrade.c). 4: this file, and the log of store/wal.
 * 5: tables may keep a history of their items, which servers that know format 4 only would not
 * write. */

/* Whether a store of this format can be read as it is. */
static inline bool identity_format_is_readable(uint32_t format)
{
    return format == STORE_FORMAT || format == STORE_FORMAT_WITHOUT_HISTORY;
}

struct identity {
    uint32_t format;
    uint8_t id[STORE_ID_LEN];
    uint64_t seed;
};

enum identity_result {
    IDENTITY_FOUND,
    IDENTITY_NONE, /* neither file is there */
    IDENTITY_BAD   /* *err says why */
};

/* Reads the identity of a directory. One good copy is enough; *out_incomplete then says that the
 * other one should be written again. */
MUST_USE enum identity_result identity_read(const struct files *files, const char *directory,
                                            struct identity *out, bool *out_incomplete,
                                            struct err *err);
/* A new one, random. */
void identity_make(struct identity *out);
/* Writes both copies, durably, one after the other. */
MUST_USE bool identity_write(const struct files *files, const char *directory,
                             const struct identity *identity, struct err *err);

#endif
