/* Creates a checkpoint: the SST files as of one instant, while the store is in use. `gramme backup`
 * copies it. Called on a thread that may block. */
#include <errno.h>

#include "base/mem.h"
#include "store/rocks/faults/quarantine.h"
#include "store/rocks/rocks.h"
#include "store/rocks/rocks_internal.h"

/* With a WAL size of 0 RocksDB flushes the memtable first, so that the checkpoint needs no WAL. The
 * SST files contain only whole groups of updates, because each group is one batch. */
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

/* Returns the format of the files that the database has now. A list of blocks in quarantine that
 * are all in dropped spaces need not be known. */
static uint32_t format_now(const struct rocks *rocks)
{
    return rocks_quarantine_live_count(rocks) > 0 ? STORE_FORMAT_QUARANTINE : STORE_FORMAT;
}

bool rocks_checkpoint(struct store *store, const char *directory, uint32_t *out_format,
                      struct err *err)
{
    struct rocks *rocks = rocks_of(store);
    assert(rocks->is_open); /* all acknowledged records are in the memtable or in SST files */
    if (rocks->env != NULL) {
        return err_set(err, ERR_INTERNAL, "a store in memory has no files to copy");
    }
    rocksdb_t *db = gate_enter(&rocks->gate);
    if (db == NULL) {
        return err_set(err, ERR_INTERNAL, "the store cannot be read now");
    }
    /* The list does not grow while the gate is open, but spaces may be dropped. */
    *out_format = format_now(rocks);
    char *message = create_checkpoint(db, directory);
    gate_leave(&rocks->gate);
    if (message != NULL) {
        err_set(err, ERR_INTERNAL, "cannot copy the SST files: %s", message);
        rocksdb_free(message);
        return false;
    }
    return true;
}
