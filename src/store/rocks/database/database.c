/* Opens and closes RocksDB, at the start and at the end of the store, and when the committer
 * resumes writing after a failure. */
#include "store/rocks/database/database.h"

#include "store/rocks/faults/quarantine.h"

static bool describe(struct rocks *rocks, char *message, struct err *err)
{
    bool in_use = strstr(message, "While lock file") != NULL ||
                  strstr(message, "lock hold by current process") != NULL;
    if (in_use) {
        err_set(err, ERR_INTERNAL, "the store in %s is in use by another server", rocks->path);
    } else if (strstr(message, "Corruption") != NULL) { /* of SST files, or of the manifest */
        rocks_is_damaged(rocks, "RocksDB cannot read its files", message, err);
    } else {
        err_set(err, ERR_INTERNAL, "cannot open the store in %s: %s", rocks->path, message);
    }
    rocksdb_free(message);
    return false;
}

bool rocks_open_rocksdb(struct rocks *rocks, struct err *err)
{
    assert(rocks->db == NULL);
    char *message = NULL;
    rocksdb_t *db = rocksdb_open(rocks->options, rocks->path, &message);
    if (message != NULL) {
        return describe(rocks, message, err);
    }
    rocks->db = db;
    return true;
}

bool rocks_open_read_only(struct rocks *rocks, struct err *err)
{
    char *message = NULL;
    rocks->db = rocksdb_open_for_read_only(rocks->options, rocks->path, 0, &message);
    if (message == NULL) {
        return true;
    }
    rocks->db = NULL;
    rocks_is_damaged(rocks, "RocksDB cannot read its files", message, err);
    rocksdb_free(message);
    return false;
}

/* Opens the database and replays the write-ahead log. A compaction that starts meanwhile may read a
 * bad block, so that RocksDB refuses the replay: then it is opened again. That ends, because each
 * time blocks are put into quarantine, or compactions are turned off, or it is counted that no bad
 * block was found. */
static bool open_and_replay(struct rocks *rocks, struct err *err)
{
    bool again = true;
    while (again) {
        if (rocks->db == NULL && !rocks_open_rocksdb(rocks, err)) {
            return false;
        }
        if (rocks_replay(rocks, err) && rocks_load_quarantine(rocks, err)) {
            return true;
        }
        again = rocks->damage.failure != NULL;
        rocks_close_damaged(rocks);
    }
    return false;
}

bool rocks_open_database(struct rocks *rocks, struct err *err)
{
    if (!open_and_replay(rocks, err)) {
        return false;
    }
    assert(rocks->wal != NULL);
    rocks->merging.eagerly = false;
    gate_open(&rocks->gate, rocks->db);
    return true;
}

void rocks_close_database(struct rocks *rocks)
{
    if (rocks->db != NULL) {
        rocksdb_close(rocks->db);
        rocks->db = NULL;
    }
}
