/* Fuzzes the readers of RocksDB's files that `gramme check` uses. Input: a byte that chooses the
 * kind, and a manifest, the contents of a block (data, or an index with delta encoding), or a block
 * with its trailer. Properties: nothing outside of the input is read, and every returned key is
 * part of it. */
#include "store/image/db_manifest.h"
#include "store/image/sst_block.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_manifest(struct str bytes)
{
    struct arena arena;
    arena_init(&arena);
    struct err err = ERR_INIT(&arena);
    struct manifest manifest;
    if (manifest_read(&arena, bytes, &manifest, &err)) {
        for (size_t i = 0; i < manifest.count; i++) {
            assert(manifest.ssts[i].level < MANIFEST_LEVELS_MAX);
            assert(i == 0 || manifest.ssts[i - 1].level <= manifest.ssts[i].level);
        }
    }
    arena_finish(&arena);
}

static void read_entries(struct str contents, bool has_delta_values)
{
    struct block_iter iter;
    block_iter_init(&iter, contents, has_delta_values);
    size_t value_bytes = 0;
    while (block_iter_next(&iter)) {
        value_bytes += has_delta_values ? 0 : iter.value.len;
    }
    assert(str_is_null(contents) || value_bytes <= contents.len);
    block_iter_finish(&iter);
}

/* Opens a block. The checksum is not verified, because a fuzzer cannot guess it. */
static void open_block(struct str stored)
{
    if (stored.len < BLOCK_TRAILER_LEN) {
        return;
    }
    struct buf room = {0};
    struct str contents = block_contents(stored, &room);
    if (!str_is_null(contents)) {
        read_entries(contents, false);
    }
    buf_finish(&room);
    bool is_intact = block_is_intact(stored, 4);
    assert(!is_intact || stored.len >= BLOCK_TRAILER_LEN);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) {
        return 0;
    }
    struct str rest = str_make(data + 1, size - 1);
    switch (data[0] % 4) {
    case 0:
        read_manifest(rest);
        break;
    case 1:
        read_entries(rest, false);
        break;
    case 2:
        read_entries(rest, true);
        break;
    default:
        open_block(rest);
        break;
    }
    return 0;
}
