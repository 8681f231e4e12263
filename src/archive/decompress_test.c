/* Unit tests of decompression: round trips, several members, damage. */
#include "archive/decompress.h"

#include <zlib.h>
#include <zstd.h>

#include "archive/record_testing.h"
#include "base/mem.h"
#include "base/testing.h"

static void add_gzip(struct buf *out, struct str text)
{
    z_stream gzip = {0};
    size_t room = compressBound(text.len) + 64;
    assert_int_equal(deflateInit2(&gzip, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
    gzip.next_in = (Bytef *)text.data;
    gzip.avail_in = (uInt)text.len;
    gzip.next_out = (Bytef *)buf_reserve(out, room);
    gzip.avail_out = (uInt)room;
    assert_int_equal(deflate(&gzip, Z_FINISH), Z_STREAM_END);
    buf_added(out, room - gzip.avail_out);
    deflateEnd(&gzip);
}

static void add_zstd(struct buf *out, struct str text)
{
    size_t room = ZSTD_compressBound(text.len);
    size_t len = ZSTD_compress(buf_reserve(out, room), room, text.data, text.len, 3);
    assert_false(ZSTD_isError(len));
    buf_added(out, len);
}

static void add_compressed(struct buf *out, enum compression compression, struct str text)
{
    switch (compression) {
    case COMPRESSION_NONE:
        buf_add(out, text);
        break;
    case COMPRESSION_GZIP:
        add_gzip(out, text);
        break;
    case COMPRESSION_ZSTD:
        add_zstd(out, text);
        break;
    }
}

/* Appends what can be read. Returns whether the end was reached. */
static bool read_all(enum compression compression, struct str bytes, size_t step, struct buf *out)
{
    struct memory_source source = memory_source(bytes, step);
    struct decompressor *decompressor = decompressor_create(compression, &source.source);
    struct arena arena;
    arena_init(&arena);
    struct err err = ERR_INIT(&arena);
    struct byte_source *from = decompressor_source(decompressor);
    bool ok = true;
    size_t len = 1;
    while (ok && len > 0) {
        ok = from->read(from, buf_reserve(out, 1000), 1000, &len, &err);
        buf_added(out, ok ? len : 0);
    }
    assert_true(ok || err.code == ERR_VALIDATION);
    assert_true(!ok || decompressor_consumed(decompressor) == bytes.len);
    decompressor_destroy(decompressor);
    arena_finish(&arena);
    return ok;
}

static struct buf make_text(size_t len)
{
    struct buf text = {0};
    for (size_t i = 0; text.len < len; i++) {
        buf_format(&text, "%zu;", i * 7919);
    }
    return text;
}

static void test_round_trips(void **state)
{
    (void)state;
    static const size_t lens[] = {0, 1, 1000, 300000};
    static const size_t steps[] = {1, 100, 1 << 20};
    for (enum compression kind = COMPRESSION_NONE; kind <= COMPRESSION_ZSTD; kind++) {
        for (size_t i = 0; i < COUNT_OF(lens); i++) {
            for (size_t k = 0; k < COUNT_OF(steps); k++) {
                struct buf text = make_text(lens[i]);
                struct buf packed = {0};
                struct buf out = {0};
                add_compressed(&packed, kind, buf_str(&text)); /* two members */
                add_compressed(&packed, kind, buf_str(&text));
                assert_true(read_all(kind, buf_str(&packed), steps[k], &out));
                assert_int_equal(out.len, 2 * text.len);
                assert_true(str_starts_with(buf_str(&out), buf_str(&text)));
                assert_true(str_eq(str_skip(buf_str(&out), text.len), buf_str(&text)));
                buf_finish(&out);
                buf_finish(&packed);
                buf_finish(&text);
            }
        }
    }
}

static void test_damage(void **state)
{
    (void)state;
    for (enum compression kind = COMPRESSION_GZIP; kind <= COMPRESSION_ZSTD; kind++) {
        struct buf text = make_text(5000);
        struct buf packed = {0};
        struct buf out = {0};
        assert_false(read_all(kind, STR("this is not compressed"), 7, &out));
        assert_true(read_all(kind, STR(""), 7, &out));
        add_compressed(&packed, kind, buf_str(&text));
        for (size_t len = 1; len < packed.len; len += 1 + packed.len / 97) {
            out.len = 0;
            assert_false(read_all(kind, str_make(packed.data, len), 13, &out));
            assert_true(str_starts_with(buf_str(&text), buf_str(&out)));
        }
        buf_add(&packed, STR("rubbish behind it"));
        assert_false(read_all(kind, buf_str(&packed), 13, &out));
        buf_finish(&out);
        buf_finish(&packed);
        buf_finish(&text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trips),
        cmocka_unit_test(test_damage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
