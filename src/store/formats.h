/* store/formats.h: the versions of what stores keep (docs/internals/formats.md). A store of another
 * version is refused, or upgraded when it is opened. */
#ifndef GRAMME_STORE_FORMATS_H
#define GRAMME_STORE_FORMATS_H

enum {
    STORE_FORMAT = 4,        /* of a store on disk */
    STORE_FORMAT_OLDEST = 3, /* the oldest that is upgraded */
    PG_FORMAT = 1,           /* of a store on PostgreSQL */
};

#endif
