/* How eagerly RocksDB merges. A read looks into each file of the newest level, where all the others
 * together are one place to look. To merge a file down costs several times its bytes: while much
 * is written RocksDB waits for a few of them, while little is it need not. */
#include <stdio.h>
#include <stdlib.h>

#include "store/rocks/rocks.h"
#include "store/rocks/rocks_internal.h"

/* By a second, see rocks_sweeper_main(). */
static const uint64_t little_bytes = 1 << 20;

static uint64_t count_newest(rocksdb_t *db)
{
    char *text = rocksdb_property_value(db, "rocksdb.num-files-at-level0");
    uint64_t count = text != NULL ? strtoull(text, NULL, 10) : 0;
    rocksdb_free(text);
    return count;
}

uint64_t rocks_newest_files(struct store *store)
{
    struct rocks *rocks = rocks_of(store);
    uint64_t count = 0;
    rocksdb_t *db = gate_enter(&rocks->gate);
    if (db != NULL) {
        count = count_newest(db);
        gate_leave(&rocks->gate);
    }
    return count;
}

static void set_files(rocksdb_t *db, int count)
{
    const char *key = "level0_file_num_compaction_trigger";
    char text[12];
    snprintf(text, sizeof(text), "%d", count);
    const char *value = text;
    char *message = NULL;
    rocksdb_set_options(db, 1, &key, &value, &message);
    rocks_failed(message, "merge");
}

/* Changing an option holds up writers for a few milliseconds: only if there is something to gain.
 */
void rocks_adapt_merging(struct rocks *rocks)
{
    uint64_t written = atomic_load_explicit(&rocks->written, memory_order_relaxed);
    bool much = written - rocks->merging.written > little_bytes;
    rocks->merging.written = written;
    rocksdb_t *db = gate_enter(&rocks->gate);
    if (db == NULL) {
        return;
    }
    bool eagerly = !much && (rocks->merging.eagerly || count_newest(db) > 0);
    if (eagerly != rocks->merging.eagerly) {
        set_files(db, eagerly ? 1 : NEWEST_FILES);
        rocks->merging.eagerly = eagerly;
    }
    gate_leave(&rocks->gate);
}
