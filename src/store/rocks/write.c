/* What a group writes goes into the journal first, and once it is on disk there into the database.
 * With it goes the number of its record, so that the tables of the database say how far they
 * reach: the row "journal" of space 0, 8 bytes, little-endian. */
#include <errno.h>

#include "store/rocks/rocks_internal.h"

static void put_number(struct rocks *rocks, rocksdb_writebatch_t *writes)
{
    if (rocks->env != NULL) {
        return; /* in memory, without a journal */
    }
    char key[STORE_PREFIX_LEN];
    rocks_own_key(key, "journal");
    uint64_t number = journal_next(rocks->journal);
    rocksdb_writebatch_put(writes, key, sizeof(key), (const char *)&number, sizeof(number));
}

/* How far the tables reach. False: it cannot be read. */
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
    if (pin != NULL) {
        assert(row.len == sizeof(*out));
        memcpy(out, row.data, sizeof(*out));
        rocksdb_pinnableslice_destroy(pin);
    }
    return true;
}

void rocks_shorten_journal(struct rocks *rocks)
{
    uint64_t stored;
    if (read_number(rocks, &stored)) {
        journal_release(rocks->journal, stored);
    }
}

static enum written cut(struct rocks *rocks)
{
    return journal_cut(rocks->journal) ? NOT_WRITTEN : PERHAPS_WRITTEN;
}

enum written rocks_write(struct rocks *rocks, rocksdb_writebatch_t *writes)
{
    put_number(rocks, writes);
    size_t len;
    const char *data = rocksdb_writebatch_data(writes, &len);
    if (UNLIKELY(!journal_append(rocks->journal, str_make(data, len)))) {
        rocks_journal_failed(rocks, errno);
        return cut(rocks);
    }
    char *message = NULL;
    rocksdb_write(rocks->db, rocks->write_unlogged, writes, &message);
    if (UNLIKELY(message != NULL)) {
        rocks_database_failed(rocks, message);
        return cut(rocks);
    }
    journal_keep(rocks->journal);
    atomic_fetch_add_explicit(&rocks->written, len, memory_order_relaxed);
    rocks_write_succeeded(rocks);
    if (UNLIKELY(journal_has_grown(rocks->journal))) {
        rocks_shorten_journal(rocks);
    }
    return WRITTEN;
}

static bool apply(void *context, struct str record, struct err *err)
{
    struct rocks *rocks = context;
    rocksdb_writebatch_t *writes = rocksdb_writebatch_create_from(record.data, record.len);
    char *message = NULL;
    rocksdb_write(rocks->db, rocks->write_unlogged, writes, &message);
    rocksdb_writebatch_destroy(writes);
    if (message != NULL) {
        err_set(err, ERR_INTERNAL, "cannot open the store in %s: %s", rocks->path, message);
        rocksdb_free(message);
        return false;
    }
    return true;
}

bool rocks_replay(struct rocks *rocks, struct err *err)
{
    if (rocks->journal == NULL) {
        rocks->journal = journal_create(rocks->env == NULL ? rocks->path : NULL);
    }
    uint64_t stored;
    if (!read_number(rocks, &stored)) {
        return err_set(err, ERR_INTERNAL, "cannot read the store in %s", rocks->path);
    }
    return journal_recover(rocks->journal, rocks->store.seed, stored, apply, rocks, err);
}
