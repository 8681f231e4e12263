/* Compresses with zlib. Called by src/transfer, on its thread. */
#include "archive/gzip.h"

#include <zlib.h>

#include "base/mem.h"

enum { WINDOW_BITS = 15 + 16 /* gzip's header */, MEMORY_LEVEL = 8, LEVEL = 5, PIECE = 64 << 10 };

struct gzip_writer {
    z_stream stream;
};

struct gzip_writer *gzip_writer_create(void)
{
    struct gzip_writer *writer = mem_zalloc(sizeof(*writer));
    int result = deflateInit2(&writer->stream, LEVEL, Z_DEFLATED, WINDOW_BITS, MEMORY_LEVEL,
                              Z_DEFAULT_STRATEGY);
    assert(result == Z_OK); /* fails only without memory */
    return writer;
}

/* Compresses what is in stream.next_in. */
static void run(struct gzip_writer *writer, int flush, struct buf *out)
{
    z_stream *stream = &writer->stream;
    do {
        stream->next_out = (Bytef *)buf_reserve(out, PIECE);
        stream->avail_out = PIECE;
        int result = deflate(stream, flush);
        assert(result != Z_STREAM_ERROR);
        buf_added(out, PIECE - stream->avail_out);
    } while (stream->avail_out == 0);
}

void gzip_writer_add(struct gzip_writer *writer, struct str bytes, struct buf *out)
{
    enum { BYTES_MAX = 1 << 30 };
    while (bytes.len > 0) {
        size_t len = MIN(bytes.len, (size_t)BYTES_MAX);
        writer->stream.next_in = (Bytef *)bytes.data;
        writer->stream.avail_in = (uInt)len;
        run(writer, Z_NO_FLUSH, out);
        bytes = str_skip(bytes, len);
    }
}

void gzip_writer_end(struct gzip_writer *writer, struct buf *out)
{
    writer->stream.avail_in = 0;
    run(writer, Z_FINISH, out);
}

void gzip_writer_destroy(struct gzip_writer *writer)
{
    if (writer != NULL) {
        deflateEnd(&writer->stream);
        mem_free(writer);
    }
}
