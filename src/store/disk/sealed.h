/* store/disk/sealed.h: the checksum at the end of small structures of fixed size on disk: the
 * identity of the store, the header of a segment, the state of the WAL. */
#ifndef GRAMME_STORE_DISK_SEALED_H
#define GRAMME_STORE_DISK_SEALED_H

#include "base/base.h"

enum { SEAL_LEN = 8, STORE_ID_LEN = 16 };

enum seal_check {
    SEAL_GOOD,
    SEAL_CORRECTED, /* one bit was wrong and has been corrected in place */
    SEAL_BAD
};

/* Writes the checksum of the other bytes to the last 8. */
void seal_write(uint8_t *bytes, size_t len);
/* Verifies the checksum. If it does not match, tries to correct a single bit. */
MUST_USE enum seal_check seal_check(uint8_t *bytes, size_t len);

#endif
