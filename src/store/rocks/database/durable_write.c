/* Writes a group to the write-ahead log and, when it is synced, to the memtable. Each group also
 * writes the number of its WAL record: see replay.c. With the turn to commit. */
#include <errno.h>

#include "base/bytes.h"
#include "store/rocks/database/database.h"
#include "store/rocks/faults/health.h"

static void put_number(struct rocks *rocks, rocksdb_writebatch_t *writes)
{
    if (rocks->env != NULL) {
        return; /* a store in memory has no write-ahead log */
    }
    char key[STORE_PREFIX_LEN];
    rocks_own_key(key, "journal");
    uint8_t row[8];
    put_u64_le(row, wal_next(rocks->wal));
    rocksdb_writebatch_put(writes, key, sizeof(key), (const char *)row, sizeof(row));
}

static enum written discard(struct rocks *rocks)
{
    return wal_discard(rocks->wal) ? NOT_WRITTEN : PERHAPS_WRITTEN;
}

enum written rocks_write(struct rocks *rocks, rocksdb_writebatch_t *writes)
{
    assert(rocks->db != NULL);
    assert(!rocks->health.broken);
    put_number(rocks, writes);
    uint64_t number = wal_next(rocks->wal);
    size_t len;
    const char *data = rocksdb_writebatch_data(writes, &len);
    if (UNLIKELY(!wal_append(rocks->wal, str_make(data, len)))) {
        rocks_wal_failed(rocks, errno);
        return discard(rocks);
    }
    char *message = NULL;
    rocksdb_write(rocks->db, rocks->write_unlogged, writes, &message);
    if (UNLIKELY(message != NULL)) {
        rocks_database_failed(rocks, message);
        return discard(rocks);
    }
    wal_commit(rocks->wal);
    /* The batch names the record that holds it: else a replay would begin at the wrong one. */
    assert(rocks->env != NULL || wal_next(rocks->wal) == number + 1);
    atomic_fetch_add_explicit(&rocks->written, len, memory_order_relaxed);
    rocks_write_succeeded(rocks);
    if (UNLIKELY(wal_has_grown(rocks->wal))) {
        rocks_release_wal(rocks);
    }
    return WRITTEN;
}

bool rocks_write_to_wal(struct rocks *rocks, rocksdb_writebatch_t *writes)
{
    assert(rocks->db == NULL);
    assert(rocks->wal != NULL);
    put_number(rocks, writes);
    size_t len;
    const char *data = rocksdb_writebatch_data(writes, &len);
    if (!wal_append(rocks->wal, str_make(data, len))) {
        return discard(rocks) == WRITTEN;
    }
    wal_commit(rocks->wal);
    return true;
}
