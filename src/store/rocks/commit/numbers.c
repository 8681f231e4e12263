/* The numbers that the store keeps in space 0: the newest stamp and the newest time of an update.
 * Each group that has changed one writes it. Loaded when the store is opened, written with the turn
 * to commit. */
#include "base/bytes.h"
#include "store/rocks/commit/commit.h"
#include "store/rocks/commit/commit_group.h"
#include "store/rocks/reads/reads.h"

void rocks_write_number(struct rocks_group *group, const char *name, uint64_t number)
{
    char key[STORE_PREFIX_LEN];
    rocks_own_key(key, name);
    char row[8];
    put_u64_le(row, number);
    rocksdb_writebatch_put(group->writes, key, sizeof(key), row, sizeof(row));
}

/* Reads a number from a row of space 0; 0 if the row is absent. */
static bool load_number(struct rocks *rocks, const char *name, uint64_t *out, struct err *err)
{
    char key[STORE_PREFIX_LEN];
    rocks_own_key(key, name);
    struct str row;
    rocksdb_pinnableslice_t *pin;
    *out = 0;
    if (rocks_read(rocks, rocks->db, rocks->read_blocking, str_make(key, sizeof(key)), &row,
                   &pin) != READ_OK) {
        return err_set(err, ERR_INTERNAL, "cannot read the store in %s", rocks->path);
    }
    if (pin != NULL) {
        assert(row.len == 8);
        *out = get_u64_le(row.data);
        rocksdb_pinnableslice_destroy(pin);
    }
    return true;
}

bool rocks_load_numbers(struct rocks *rocks, struct err *err)
{
    uint64_t time_ns = 0;
    bool ok = load_number(rocks, "stamp", &rocks->last_stamp, err) &&
              load_number(rocks, "time", &time_ns, err);
    rocks->last_time_ns = (int64_t)time_ns;
    return ok;
}
