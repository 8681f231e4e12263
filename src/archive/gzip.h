/* archive/gzip.h: compresses a stream of bytes with gzip, with bounded memory. Used by one thread
 * at a time. */
#ifndef GRAMME_ARCHIVE_GZIP_H
#define GRAMME_ARCHIVE_GZIP_H

#include "base/buf.h"

struct gzip_writer;

/* Starts a stream. The same bytes give the same stream: it has no time and no name. */
MUST_USE struct gzip_writer *gzip_writer_create(void);
/* Compresses bytes and appends what is ready to `out`. */
void gzip_writer_add(struct gzip_writer *writer, struct str bytes, struct buf *out);
/* Appends the end of the stream to `out`. */
void gzip_writer_end(struct gzip_writer *writer, struct buf *out);
/* Frees it. Accepts NULL. */
void gzip_writer_destroy(struct gzip_writer *writer);

#endif
