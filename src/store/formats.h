/* store/formats.h: the versions of what stores keep (docs/internals/formats.md). A store of another
 * version is refused, or upgraded when it is opened. */
#ifndef GRAMME_STORE_FORMATS_H
#define GRAMME_STORE_FORMATS_H

enum {
    STORE_FORMAT = 5,        /* of a store on disk */
    STORE_FORMAT_OLDEST = 3, /* the oldest that is upgraded */
    PG_FORMAT = 2,           /* of a store on PostgreSQL */
    /* The formats before tables could keep a history of their items. */
    STORE_FORMAT_WITHOUT_HISTORY = 4,
    PG_FORMAT_WITHOUT_HISTORY = 1,
};

#endif
