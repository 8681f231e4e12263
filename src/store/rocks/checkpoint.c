/* Creates a checkpoint: the tables as of one instant, while the store is in use. `gramme backup`
 * copies it. Called on a thread that may block. */
#include <errno.h>

#include "base/mem.h"
#include "store/rocks/rocks.h"
#include "store/rocks/rocks_internal.h"

/* With a log size of 0 RocksDB flushes the memtable first, so that the checkpoint needs no log. The
 * tables contain only whole groups of updates, because each group is one batch. */
static char *create_checkpoint(rocksdb_t *db, const char *directory)
{
    char *message = NULL;
    rocksdb_checkpoint_t *checkpoint = rocksdb_checkpoint_object_create(db, &message);
    if (message == NULL) {
        rocksdb_checkpoint_create(checkpoint, directory, 0, &message);
        rocksdb_checkpoint_object_destroy(checkpoint);
    }
    return message;
}

bool rocks_checkpoint(struct store *store, const char *directory, struct err *err)
{
    struct rocks *rocks = rocks_of(store);
    if (rocks->env != NULL) {
        return err_set(err, ERR_INTERNAL, "a store in memory has no files to copy");
    }
    rocksdb_t *db = gate_enter(&rocks->gate);
    if (db == NULL) {
        return err_set(err, ERR_INTERNAL, "the store cannot be read now");
    }
    char *message = create_checkpoint(db, directory);
    gate_leave(&rocks->gate);
    if (message != NULL) {
        err_set(err, ERR_INTERNAL, "cannot copy the tables: %s", message);
        rocksdb_free(message);
        return false;
    }
    return true;
}
