/* store/wal/sealed.h: small fixed-size structures on disk that end in a checksum: the identity of
 * the store, the header of a segment, the state of the log. */
#ifndef GRAMME_STORE_WAL_SEALED_H
#define GRAMME_STORE_WAL_SEALED_H

#include "base/base.h"

enum { SEAL_LEN = 8, STORE_ID_LEN = 16 };

enum seal_check {
    SEAL_GOOD,
    SEAL_CORRECTED, /* exactly one bit was wrong; `bytes` has it right now */
    SEAL_BAD
};

/* Writes the checksum of all other bytes into the last 8. */
void seal_write(uint8_t *bytes, size_t len);
/* Compares the checksum. If it does not match, looks for a single bit that explains it. */
MUST_USE enum seal_check seal_check(uint8_t *bytes, size_t len);

#endif
