/* Upgrades a store of format 3 when it is opened. Such a store has its format and seed in a row of
 * RocksDB (space 0, part "format"), and another WAL: files NUMBER.journal, NUMBER being that of the
 * first record. A record is
 *
 *     crc32 of what follows (u32) | length of the batch (u32) | number ^ seed (u64) | batch
 *
 * The records are applied and flushed to SST files, then the new WAL and the identity are written,
 * then the old files are deleted. After an interruption the next start finds format 3 again, or the
 * new format and old files, which rocks_delete_old_wal() deletes. */
#include <errno.h>
#include <libdeflate.h>
#include <stdlib.h>

#include "base/bytes.h"
#include "base/log.h"
#include "base/mem.h"
#include "store/rocks/database/database.h"
#include "store/rocks/open/open.h"
#include "store/rocks/reads/reads.h"

enum { OLD_FORMAT = STORE_FORMAT_OLDEST, OLD_HEADER_LEN = 16 };

struct old_wal {
    struct rocks *rocks;
    uint64_t *firsts;
    size_t count;
    size_t capacity;
    uint64_t next;
    uint64_t stored;
    struct buf path;
    struct buf bytes;
};

static void set_path(struct old_wal *wal, uint64_t first)
{
    wal->path.len = 0;
    buf_format(&wal->path, "%s/%020llu.journal", wal->rocks->path, (unsigned long long)first);
}

static void note_segment(void *context, const char *name)
{
    struct old_wal *wal = context;
    char *end;
    uint64_t first = strtoull(name, &end, 10);
    if (end == name || strcmp(end, ".journal") != 0) {
        return;
    }
    if (wal->count == wal->capacity) {
        wal->capacity = MAX(2 * wal->capacity, (size_t)16);
        wal->firsts = mem_realloc(wal->firsts, wal->capacity * sizeof(*wal->firsts));
    }
    wal->firsts[wal->count++] = first;
}

static int compare_firsts(const void *a, const void *b)
{
    uint64_t left = *(const uint64_t *)a;
    uint64_t right = *(const uint64_t *)b;
    return (left > right) - (left < right);
}

static bool list_segments(struct old_wal *wal)
{
    const struct files *files = wal->rocks->files;
    if (files->list(files, wal->rocks->path, note_segment, wal) != 0) {
        return false;
    }
    if (wal->count > 0) {
        qsort(wal->firsts, wal->count, sizeof(*wal->firsts), compare_firsts);
    }
    return true;
}

static void finish(struct old_wal *wal)
{
    mem_free(wal->firsts);
    buf_finish(&wal->path);
    buf_finish(&wal->bytes);
}

/* Parses the record at `offset`. False: it is not the next record. */
static bool parse_record(const struct old_wal *wal, size_t offset, struct str *out)
{
    size_t left = wal->bytes.len - offset;
    const uint8_t *at = (const uint8_t *)wal->bytes.data + offset;
    if (left < OLD_HEADER_LEN || get_u64_le(at + 8) != (wal->next ^ wal->rocks->identity.seed) ||
        get_u32_le(at + 4) > left - OLD_HEADER_LEN) {
        return false;
    }
    *out = str_make((const char *)at + OLD_HEADER_LEN, get_u32_le(at + 4));
    return libdeflate_crc32(0, at + 4, OLD_HEADER_LEN - 4 + out->len) == get_u32_le(at);
}

static bool damaged(const struct old_wal *wal, struct err *err)
{
    return err_set(err, ERR_INTERNAL,
                   "the write-ahead log in %s is damaged: record %llu is missing", wal->rocks->path,
                   (unsigned long long)wal->next);
}

/* Replays a segment up to the first record of the next one; a record with that number was
 * discarded.
 */
static bool replay_segment(struct old_wal *wal, size_t index, bool is_applied, struct err *err)
{
    uint64_t first = wal->firsts[index];
    bool is_last = index + 1 == wal->count;
    uint64_t until = is_last ? UINT64_MAX : wal->firsts[index + 1];
    if (!is_last && until - 1 <= wal->stored) {
        return true;
    }
    if (first > wal->next) {
        return damaged(wal, err);
    }
    set_path(wal, first);
    if (!files_read_file(wal->rocks->files, wal->path.data, &wal->bytes)) {
        return err_set(err, ERR_INTERNAL, "cannot read %s: %s", wal->path.data, strerror(errno));
    }
    size_t offset = 0;
    struct str record;
    for (wal->next = first; wal->next < until && parse_record(wal, offset, &record); wal->next++) {
        if (is_applied && wal->next > wal->stored &&
            !rocks_apply(wal->rocks, wal->next, record, err)) {
            return false;
        }
        offset += OLD_HEADER_LEN + record.len;
    }
    return is_last || wal->next == until || damaged(wal, err);
}

static bool replay(struct rocks *rocks, uint64_t stored, bool is_applied, struct err *err)
{
    struct old_wal wal = {.rocks = rocks, .stored = stored, .next = stored + 1};
    bool good = list_segments(&wal) ||
                err_set(err, ERR_INTERNAL, "cannot read %s: %s", rocks->path, strerror(errno));
    for (size_t i = 0; good && i < wal.count; i++) {
        good = replay_segment(&wal, i, is_applied, err);
    }
    finish(&wal);
    return good;
}

void rocks_delete_old_wal(struct rocks *rocks)
{
    struct old_wal wal = {.rocks = rocks};
    if (list_segments(&wal)) {
        for (size_t i = 0; i < wal.count; i++) {
            set_path(&wal, wal.firsts[i]);
            rocks->files->unlink(rocks->files, wal.path.data);
        }
    }
    finish(&wal);
}

static bool take_format(struct rocks *rocks, struct str row, struct err *err)
{
    const uint8_t *at = (const uint8_t *)row.data;
    uint32_t version = row.len >= 4 ? get_u32_le(at) : 0;
    if (identity_format_is_readable(version)) {
        return err_set(err, ERR_INTERNAL,
                       "the store in %s is damaged: STORE and STORE.copy are missing; nothing was "
                       "changed; `gramme repair %s %s-repaired` saves what is left",
                       rocks->path, rocks->path, rocks->path);
    }
    if (version != OLD_FORMAT || row.len != FORMAT_ROW_LEN) {
        return err_set(err, ERR_INTERNAL,
                       "the store in %s has format %u, but this version of gramme knows formats %d "
                       "to %d only",
                       rocks->path, version, OLD_FORMAT, STORE_FORMAT);
    }
    identity_make(&rocks->identity, 0);
    rocks->identity.seed = get_u64_le(at + 4);
    return true;
}

static bool read_format(struct rocks *rocks, struct err *err)
{
    char key[STORE_PREFIX_LEN];
    rocks_own_key(key, "format");
    struct str row;
    rocksdb_pinnableslice_t *pin;
    if (rocks_read(rocks, rocks->db, rocks->read_blocking, str_make(key, sizeof(key)), &row,
                   &pin) != READ_OK) {
        return err_set(err, ERR_INTERNAL, "cannot read the store in %s", rocks->path);
    }
    if (pin == NULL) {
        return err_set(
            err, ERR_INTERNAL,
            "%s holds a database that is not gramme's, or has lost what says so; nothing "
            "was changed",
            rocks->path);
    }
    bool good = take_format(rocks, row, err);
    rocksdb_pinnableslice_destroy(pin);
    return good;
}

/* Checks the whole WAL before anything is changed. */
static bool check_old(struct rocks *rocks, struct err *err)
{
    uint64_t stored;
    bool good = rocks_open_read_only(rocks, err) && read_format(rocks, err) &&
                rocks_read_stored(rocks, &stored, err) && replay(rocks, stored, false, err);
    rocks_close_database(rocks);
    return good;
}

bool rocks_upgrade(struct rocks *rocks, struct err *err)
{
    uint64_t stored;
    if (!check_old(rocks, err) || !rocks_open_rocksdb(rocks, err) ||
        !rocks_read_stored(rocks, &stored, err) || !replay(rocks, stored, true, err) ||
        !rocks_write_format_row(rocks, rocks->write_unlogged, err)) {
        return false;
    }
    if (!rocks_flush_memtable(rocks->db)) {
        return err_set(err, ERR_INTERNAL,
                       "cannot upgrade the store in %s: its SST files cannot be "
                       "written",
                       rocks->path);
    }
    assert(rocks->identity.format == STORE_FORMAT);
    if (!rocks_write_identity(rocks, err)) {
        return false;
    }
    log_write(LOG_INFO, "store", "the store in %s was upgraded from format %d to %d", rocks->path,
              OLD_FORMAT, STORE_FORMAT);
    return true;
}
