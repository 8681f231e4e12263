/* Decompresses gzip and zstd as a byte source. Called by the readers of archives, on their thread.
 */
#include "archive/decompress.h"

#include <zlib.h>
#include <zstd.h>

#include "base/mem.h"

enum {
    INPUT_BYTES = 128 * 1024,
    GZIP_WINDOW = 15 + 16,   /* the largest window; 16: with the header and checksum of gzip */
    ZSTD_WINDOW_LOG_MAX = 27 /* 128 MiB, what the zstd program accepts by default */
};

struct decompressor {
    struct byte_source source;
    struct byte_source *inner;
    enum compression compression;
    uint64_t consumed;
    bool is_inner_end;
    bool is_inside; /* a member or frame has begun and not ended */
    z_stream gzip;
    ZSTD_DStream *zstd;
    size_t at; /* in `input` */
    size_t len;
    char input[INPUT_BYTES];
};

static bool refuse(const struct decompressor *decompressor, struct err *err)
{
    return err_set(err, ERR_VALIDATION, "The object is not valid %s data",
                   decompressor->compression == COMPRESSION_GZIP ? "GZIP" : "ZSTD");
}

/* Makes sure that there is input, unless the inner source has ended. */
static bool refill(struct decompressor *decompressor, struct err *err)
{
    if (decompressor->at < decompressor->len || decompressor->is_inner_end) {
        return true;
    }
    decompressor->at = 0;
    decompressor->len = 0;
    if (!decompressor->inner->read(decompressor->inner, decompressor->input, INPUT_BYTES,
                                   &decompressor->len, err)) {
        return false;
    }
    decompressor->is_inner_end = decompressor->len == 0;
    return true;
}

static void consume(struct decompressor *decompressor, size_t count)
{
    decompressor->at += count;
    decompressor->consumed += count;
}

/* Decompresses what is in `input`, as far as it fits. */
static bool inflate_some(struct decompressor *decompressor, char *room, size_t room_len,
                         size_t *out_len, struct err *err)
{
    z_stream *gzip = &decompressor->gzip;
    size_t given = decompressor->len - decompressor->at;
    gzip->next_in = (Bytef *)decompressor->input + decompressor->at;
    gzip->avail_in = (uInt)given;
    gzip->next_out = (Bytef *)room;
    gzip->avail_out = (uInt)MIN(room_len, (size_t)INPUT_BYTES);
    uInt room_before = gzip->avail_out;
    decompressor->is_inside = true;
    int status = inflate(gzip, Z_NO_FLUSH);
    consume(decompressor, given - gzip->avail_in);
    *out_len = room_before - gzip->avail_out;
    if (status == Z_STREAM_END) { /* another member may follow */
        decompressor->is_inside = false;
        return inflateReset(gzip) == Z_OK || refuse(decompressor, err);
    }
    return status == Z_OK || status == Z_BUF_ERROR || refuse(decompressor, err);
}

static bool unzstd_some(struct decompressor *decompressor, char *room, size_t room_len,
                        size_t *out_len, struct err *err)
{
    ZSTD_inBuffer in = {decompressor->input, decompressor->len, decompressor->at};
    ZSTD_outBuffer out = {room, room_len, 0};
    size_t status = ZSTD_decompressStream(decompressor->zstd, &out, &in);
    consume(decompressor, in.pos - decompressor->at);
    *out_len = out.pos;
    if (ZSTD_isError(status)) {
        return refuse(decompressor, err);
    }
    decompressor->is_inside = status != 0;
    return true;
}

/* Whether the input has ended and all of it has been decompressed. */
static bool is_over(const struct decompressor *decompressor)
{
    return decompressor->is_inner_end && decompressor->at == decompressor->len;
}

static bool decompress(struct byte_source *source, char *room, size_t room_len, size_t *out_len,
                       struct err *err)
{
    struct decompressor *decompressor = CONTAINER_OF(source, struct decompressor, source);
    bool is_gzip = decompressor->compression == COMPRESSION_GZIP;
    *out_len = 0;
    while (*out_len == 0) {
        if (!refill(decompressor, err)) {
            return false;
        }
        bool is_end = is_over(decompressor);
        if (is_end && !decompressor->is_inside) {
            return true;
        }
        if (!(is_gzip ? inflate_some(decompressor, room, room_len, out_len, err)
                      : unzstd_some(decompressor, room, room_len, out_len, err))) {
            return false;
        }
        if (is_end && *out_len == 0) { /* cut off */
            return !decompressor->is_inside || refuse(decompressor, err);
        }
    }
    return true;
}

static bool pass_on(struct byte_source *source, char *room, size_t room_len, size_t *out_len,
                    struct err *err)
{
    struct decompressor *decompressor = CONTAINER_OF(source, struct decompressor, source);
    if (!decompressor->inner->read(decompressor->inner, room, room_len, out_len, err)) {
        return false;
    }
    decompressor->consumed += *out_len;
    return true;
}

struct decompressor *decompressor_create(enum compression compression, struct byte_source *inner)
{
    struct decompressor *decompressor = mem_zalloc(sizeof(*decompressor));
    decompressor->compression = compression;
    decompressor->inner = inner;
    decompressor->source.read = compression == COMPRESSION_NONE ? pass_on : decompress;
    if (compression == COMPRESSION_GZIP) {
        int status = inflateInit2(&decompressor->gzip, GZIP_WINDOW);
        assert(status == Z_OK); /* else memory has run out */
    } else if (compression == COMPRESSION_ZSTD) {
        decompressor->zstd = ZSTD_createDStream();
        assert(decompressor->zstd != NULL);
        ZSTD_DCtx_setParameter(decompressor->zstd, ZSTD_d_windowLogMax, ZSTD_WINDOW_LOG_MAX);
    }
    return decompressor;
}

void decompressor_destroy(struct decompressor *decompressor)
{
    if (decompressor == NULL) {
        return;
    }
    if (decompressor->compression == COMPRESSION_GZIP) {
        inflateEnd(&decompressor->gzip);
    }
    ZSTD_freeDStream(decompressor->zstd);
    mem_free(decompressor);
}

struct byte_source *decompressor_source(struct decompressor *decompressor)
{
    return &decompressor->source;
}

uint64_t decompressor_consumed(const struct decompressor *decompressor)
{
    return decompressor->consumed;
}
