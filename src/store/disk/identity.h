/* store/disk/identity.h: the files STORE and STORE.copy, which identify a directory as a store:
 * the format of its files, the random id of the store, and the seed of the hashes in keys. They are
 * written and synced before the first update, and change only in an upgrade. */
#ifndef GRAMME_STORE_DISK_IDENTITY_H
#define GRAMME_STORE_DISK_IDENTITY_H

#include "err/err.h"
#include "store/disk/checksum.h"
#include "store/disk/files.h"
#include "store/formats.h"

/* Formats: 3: identity in a row of RocksDB, older WAL (upgrade.c). 4: files STORE and STORE.copy,
 * and the WAL of store/wal. 5: tables may have histories of their items, which servers that know
 * only format 4 would not write. 6: there is a list of blocks in quarantine, whose rows servers
 * that know only format 5 would read as they were before; other stores stay at format 5. */

/* Returns whether a store of this format can be read without an upgrade. */
static inline bool identity_format_is_readable(uint32_t format)
{
    return format >= STORE_FORMAT_WITHOUT_HISTORY && format <= STORE_FORMAT_QUARANTINE;
}

struct identity {
    uint32_t format;
    uint8_t id[STORE_ID_LEN];
    uint64_t seed;
};

enum identity_result {
    IDENTITY_FOUND,
    IDENTITY_NONE, /* neither file exists */
    IDENTITY_BAD   /* *err says why */
};

/* Reads the identity of a directory. One intact file is enough; *out_incomplete is then true, and
 * the caller should call identity_write() to restore the other one. */
MUST_USE enum identity_result identity_read(const struct files *files, const char *directory,
                                            struct identity *out, bool *out_incomplete,
                                            struct err *err);
/* Makes a new identity with a random id and this seed; 0: a random seed. */
void identity_make(struct identity *out, uint64_t seed);
/* Writes and syncs both files, one after the other. */
MUST_USE bool identity_write(const struct files *files, const char *directory,
                             const struct identity *identity, struct err *err);

#endif
