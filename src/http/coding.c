/* Compression with zlib, whose window bits select "gzip" (RFC 1952) or "deflate" (RFC 1950). On
 * loops and slow threads; each has its own struct coder. */
#include "http/coding_internal.h"

#include "http/text_internal.h"

enum {
    WINDOW_ZLIB = 15,
    WINDOW_GZIP = 15 + 16,
    WINDOW_RAW = -15,
    /* The fastest level: the loop handles no other connection meanwhile. */
    LEVEL = 1,
    MEMORY_LEVEL = 8,
    WEIGHT_MAX = 1000,
};

enum coding coding_from_name(struct str name)
{
    if (str_eq_nocase(name, STR("gzip"))) { /* "x-gzip" is unknown to the service */
        return CODING_GZIP;
    }
    if (str_eq_nocase(name, STR("deflate"))) {
        return CODING_DEFLATE;
    }
    return name.len == 0 || str_eq_nocase(name, STR("identity")) ? CODING_IDENTITY : CODING_UNKNOWN;
}

void coding_wishes_init(struct coding_wishes *wishes)
{
    *wishes = (struct coding_wishes){.gzip.weight = -1, .deflate.weight = -1, .others.weight = -1};
}

/* weight = OWS ";" OWS "q=" number; more than 1 counts as 1. Anything else counts as 0: the answer
 * is not compressed. */
static int parse_weight(struct str text)
{
    if (text.len < 3 || (text.data[0] | 0x20) != 'q' || text.data[1] != '=') {
        return 0;
    }
    int weight = 0;
    size_t i = 2;
    while (i < text.len && text.data[i] >= '0' && text.data[i] <= '9') {
        weight = text.data[i++] == '0' && weight == 0 ? 0 : WEIGHT_MAX;
    }
    if (i == 2 || i == text.len || text.data[i] != '.') {
        return weight;
    }
    int unit = WEIGHT_MAX / 10;
    for (i++; i < text.len && text.data[i] >= '0' && text.data[i] <= '9'; i++) {
        weight += (text.data[i] - '0') * unit;
        unit /= 10;
    }
    return MIN(weight, (int)WEIGHT_MAX);
}

void coding_wishes_add(struct coding_wishes *wishes, struct str value)
{
    while (value.len > 0) {
        struct str rest = text_cut(&value, ',');
        if (rest.len == 0) {
            continue;
        }
        struct str name = text_cut(&rest, ';');
        struct coding_wish wish = {
            .weight = rest.len == 0 ? WEIGHT_MAX : parse_weight(text_trim(rest)),
            .place = ++wishes->count,
        };
        enum coding coding = coding_from_name(name);
        if (str_eq(name, STR("*"))) {
            wishes->others = wish;
        } else if (coding == CODING_GZIP) {
            wishes->gzip = wish;
        } else if (coding == CODING_DEFLATE) {
            wishes->deflate = wish;
        }
    }
}

enum coding coding_choose(const struct coding_wishes *wishes)
{
    struct coding_wish gzip = wishes->gzip.weight >= 0 ? wishes->gzip : wishes->others;
    struct coding_wish deflate = wishes->deflate.weight >= 0 ? wishes->deflate : wishes->others;
    if (MAX(gzip.weight, deflate.weight) <= 0) {
        return CODING_IDENTITY;
    }
    bool deflate_is_better = deflate.weight > gzip.weight ||
                             (deflate.weight == gzip.weight && deflate.place < gzip.place);
    return deflate_is_better ? CODING_DEFLATE : CODING_GZIP;
}

void coder_finish(struct coder *coder)
{
    if (coder->has_inflater) {
        inflateEnd(&coder->inflater);
    }
    for (int i = 0; i < CODING_UNKNOWN; i++) {
        if (coder->has_deflater[i]) {
            deflateEnd(&coder->deflaters[i]);
        }
    }
    *coder = (struct coder){0};
}

/* Some clients send raw RFC 1951 as "deflate"; RFC 1950 is recognized by its first two bytes. */
static int window_bits(enum coding coding, struct str input)
{
    if (coding == CODING_GZIP) {
        return WINDOW_GZIP;
    }
    if (input.len < 2) {
        return WINDOW_ZLIB;
    }
    unsigned first = (unsigned char)input.data[0];
    unsigned second = (unsigned char)input.data[1];
    return (first & 0x0f) == Z_DEFLATED && (first << 8 | second) % 31 == 0 ? WINDOW_ZLIB
                                                                           : WINDOW_RAW;
}

static z_stream *start_inflater(struct coder *coder, int bits, struct str input)
{
    z_stream *stream = &coder->inflater;
    int result = coder->has_inflater ? inflateReset2(stream, bits) : inflateInit2(stream, bits);
    assert(result == Z_OK); /* it fails only without memory */
    coder->has_inflater = true;
    stream->next_in = (Bytef *)input.data; /* zlib only reads it */
    stream->avail_in = (uInt)input.len;
    return stream;
}

/* Calls inflate() once, and appends to `out`. */
static int inflate_some(z_stream *stream, size_t bytes_max, struct buf *out)
{
    size_t room = MIN(MAX((size_t)stream->avail_in * 4, (size_t)4096), bytes_max);
    stream->next_out = (Bytef *)buf_reserve(out, room);
    stream->avail_out = (uInt)room;
    int result = inflate(stream, Z_NO_FLUSH);
    buf_added(out, room - stream->avail_out);
    return result;
}

enum coder_status coder_decode(struct coder *coder, enum coding coding, struct str input,
                               size_t bytes_max, struct buf *out)
{
    assert(input.len <= UINT32_MAX);
    z_stream *stream = start_inflater(coder, window_bits(coding, input), input);
    size_t end_max = out->len + bytes_max;
    for (;;) {
        /* One byte above the limit, to detect a result that is too large. */
        int result = inflate_some(stream, end_max - out->len + 1, out);
        if (out->len > end_max) {
            return CODER_TOO_LARGE;
        }
        if (result == Z_STREAM_END && stream->avail_in == 0) {
            return CODER_OK;
        }
        if (result == Z_STREAM_END && coding == CODING_GZIP) {
            inflateReset(stream); /* a gzip file may have several members */
            continue;
        }
        if (result != Z_OK || (stream->avail_in == 0 && stream->avail_out > 0)) {
            return CODER_BAD;
        }
    }
}

static z_stream *deflater_of(struct coder *coder, enum coding coding)
{
    z_stream *stream = &coder->deflaters[coding];
    if (!coder->has_deflater[coding]) {
        int bits = coding == CODING_GZIP ? WINDOW_GZIP : WINDOW_ZLIB;
        int result =
            deflateInit2(stream, LEVEL, Z_DEFLATED, bits, MEMORY_LEVEL, Z_DEFAULT_STRATEGY);
        assert(result == Z_OK);
        coder->has_deflater[coding] = true;
    }
    return stream;
}

size_t coder_encode_bound(struct coder *coder, enum coding coding, size_t input_len)
{
    return deflateBound(deflater_of(coder, coding), input_len);
}

void coder_encode(struct coder *coder, enum coding coding, struct str input, struct buf *out)
{
    z_stream *stream = deflater_of(coder, coding);
    size_t room = deflateBound(stream, input.len);
    stream->next_out = (Bytef *)buf_reserve(out, room);
    stream->avail_out = (uInt)room;
    stream->next_in = (Bytef *)input.data;
    stream->avail_in = (uInt)input.len;
    int result = deflate(stream, Z_FINISH);
    assert(result == Z_STREAM_END);
    buf_added(out, room - stream->avail_out);
    deflateReset(stream);
}
