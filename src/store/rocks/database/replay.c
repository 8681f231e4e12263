/* Connects the SST files with the write-ahead log: each group writes the number of its WAL record
 * (row "journal" of space 0, 8 bytes, little-endian), so the SST files say up to which record they
 * are complete. Opening replays the rest; records that the SST files hold are released. At the
 * start of the store, then with the turn to commit. */
#include "base/bytes.h"
#include "store/rocks/database/database.h"
#include "store/rocks/faults/damage.h"
#include "store/rocks/reads/reads.h"

/* Size of a segment that is not preallocated. It is small, so that a preallocated one soon follows.
 */
static const uint64_t growing_bytes = 2 << 20;

struct wal_options rocks_wal_options(const struct rocks *rocks)
{
    struct wal_options options = {.files = rocks->files,
                                  .directory = rocks->env == NULL ? rocks->path : NULL,
                                  .filled_bytes = SPARE_BYTES,
                                  .growing_bytes = growing_bytes,
                                  .has_thread = true};
    memcpy(options.store_id, rocks->identity.id, STORE_ID_LEN);
    return options;
}

static bool read_number(struct rocks *rocks, uint64_t *out)
{
    char key[STORE_PREFIX_LEN];
    rocks_own_key(key, "journal");
    struct str row;
    rocksdb_pinnableslice_t *pin;
    *out = 0;
    if (rocks_read(rocks, rocks->db, rocks->read_stored, str_make(key, sizeof(key)), &row, &pin) !=
        READ_OK) {
        return false;
    }
    bool good = true;
    if (pin != NULL) {
        good = row.len == 8;
        *out = good ? get_u64_le((const uint8_t *)row.data) : 0;
        rocksdb_pinnableslice_destroy(pin);
    }
    return good;
}

bool rocks_read_stored(struct rocks *rocks, uint64_t *out, struct err *err)
{
    return read_number(rocks, out) || err_set(err, ERR_INTERNAL,
                                              "cannot read from the SST files of the store in %s "
                                              "up to which record of the write-ahead log "
                                              "they reach",
                                              rocks->path);
}

void rocks_release_wal(struct rocks *rocks)
{
    uint64_t stored;
    if (read_number(rocks, &stored)) {
        assert(stored < wal_next(rocks->wal));
        wal_release(rocks->wal, stored);
    }
    atomic_store_explicit(&rocks->wal_bytes, wal_bytes(rocks->wal), memory_order_relaxed);
}

bool rocks_apply(struct rocks *rocks, uint64_t number, struct str record, struct err *err)
{
    rocksdb_writebatch_t *writes = rocksdb_writebatch_create_from(record.data, record.len);
    char *message = NULL;
    rocksdb_write(rocks->db, rocks->write_unlogged, writes, &message);
    rocksdb_writebatch_destroy(writes);
    if (message != NULL) {
        rocks_note_write_failure(rocks, message);
        err_set(err, ERR_INTERNAL,
                "cannot open the store in %s: record %llu of the write-ahead log: %s", rocks->path,
                (unsigned long long)number, message);
        rocksdb_free(message);
        return false;
    }
    return true;
}

static bool apply(void *context, uint64_t number, struct str record, struct err *err)
{
    return rocks_apply(context, number, record, err);
}

bool rocks_replay(struct rocks *rocks, struct err *err)
{
    if (rocks->wal == NULL) {
        struct wal_options options = rocks_wal_options(rocks);
        rocks->wal = wal_create(&options);
    }
    uint64_t stored;
    return rocks_read_stored(rocks, &stored, err) &&
           wal_recover(rocks->wal, stored, apply, rocks, err);
}
