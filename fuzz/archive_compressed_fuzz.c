/* Fuzzes decompression. Input: a byte that chooses gzip or zstd, and compressed bytes. Properties:
 * the same comes out whether the bytes come at once or a few at a time. At most 1 MiB is read. */
#include "archive/decompress.h"
#include "archive/record_testing.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

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
    while (ok && len > 0 && out->len < 1 << 20) {
        ok = from->read(from, buf_reserve(out, 4096), 4096, &len, &err);
        assert(ok ? len <= 4096 : err.code == ERR_VALIDATION);
        buf_added(out, ok ? len : 0);
    }
    decompressor_destroy(decompressor);
    arena_finish(&arena);
    return ok;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) {
        return 0;
    }
    enum compression compression = data[0] % 2 == 0 ? COMPRESSION_GZIP : COMPRESSION_ZSTD;
    struct str bytes = str_make(data + 1, size - 1);
    struct buf whole = {0};
    struct buf steps = {0};
    bool is_whole = read_all(compression, bytes, 1 << 20, &whole);
    bool is_stepped = read_all(compression, bytes, 5, &steps);
    assert(is_whole == is_stepped);
    if (is_whole && whole.len < 1 << 20) {
        assert(str_eq(buf_str(&whole), buf_str(&steps)));
    }
    buf_finish(&whole);
    buf_finish(&steps);
    return 0;
}
