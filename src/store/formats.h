/* store/formats.h: versions of the stored formats (docs/internals/formats.md). Opening a store
 * upgrades the versions listed here, and refuses all others. */
#ifndef GRAMME_STORE_FORMATS_H
#define GRAMME_STORE_FORMATS_H

enum {
    STORE_FORMAT = 5, /* rocksdb: */
    /* A store of STORE_FORMAT gets this one when the first block is put into quarantine. */
    STORE_FORMAT_QUARANTINE = 6,
    STORE_FORMAT_OLDEST = 3, /* the oldest version that is upgraded */
    PG_FORMAT = 2,           /* postgresql: */
    /* The last versions without histories of items. */
    STORE_FORMAT_WITHOUT_HISTORY = 4,
    PG_FORMAT_WITHOUT_HISTORY = 1,
};

#endif
