/* Fuzzes the parser of a backup's manifest. Input: a file BACKUP. Property: a manifest that can be
 * parsed is written as the same bytes. */
#include "store/backup/backup_manifest.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena;
    arena_init(&arena);
    struct err err = ERR_INIT(&arena);
    struct backup_manifest manifest;
    if (backup_manifest_read(&arena, str_make(data, size), &manifest, &err)) {
        struct buf again = {0};
        backup_manifest_write(&manifest, &again);
        struct backup_manifest reread;
        bool good = backup_manifest_read(&arena, buf_str(&again), &reread, &err);
        assert(good);
        assert(reread.file_count == manifest.file_count && reread.seed == manifest.seed);
        buf_finish(&again);
    }
    arena_finish(&arena);
    return 0;
}
