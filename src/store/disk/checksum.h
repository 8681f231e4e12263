/* store/disk/checksum.h: the checksum at the end of small structures of fixed size on disk: the
 * identity of the store, the header of a segment, the state of the WAL. */
#ifndef GRAMME_STORE_DISK_CHECKSUM_H
#define GRAMME_STORE_DISK_CHECKSUM_H

#include "base/base.h"

enum { CHECKSUM_LEN = 8, STORE_ID_LEN = 16 };

enum checksum_result {
    CHECKSUM_GOOD,
    CHECKSUM_CORRECTED, /* one bit was wrong and has been corrected in place */
    CHECKSUM_BAD
};

/* Writes the checksum of the other bytes to the last 8. */
void checksum_write(uint8_t *bytes, size_t len);
/* Verifies the checksum. If it does not match, tries to correct a single bit. */
MUST_USE enum checksum_result checksum_check(uint8_t *bytes, size_t len);

#endif
