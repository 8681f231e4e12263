/* archive/source.h: where the bytes of a file or object come from. A source may be a wrapper around
 * another one: archive/decompress.h. */
#ifndef GRAMME_ARCHIVE_SOURCE_H
#define GRAMME_ARCHIVE_SOURCE_H

#include "err/err.h"

struct byte_source {
    /* Reads up to `room_len` bytes into `room` and sets *out_len; 0 at the end. May block. False:
     * *err is ERR_VALIDATION if the bytes are not what they should be, another code if they could
     * not be read. */
    bool (*read)(struct byte_source *source, char *room, size_t room_len, size_t *out_len,
                 struct err *err);
};

#endif
