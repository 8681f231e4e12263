/* Decides when compactions of level 0 start. A read searches every file of level 0, but only one
 * file of each other level. A compaction writes several times the bytes of the files, so while the
 * write rate is high RocksDB waits for NEWEST_FILES files; while it is low, one is enough. Called
 * by the sweeper. */
#include <stdio.h>

#include "store/rocks/background/background.h"

/* Bytes per second that count as a low write rate. */
static const uint64_t little_bytes = 1 << 20;

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

/* Changing an option delays writers by some milliseconds, so it is done only if there are files to
 * merge. */
void rocks_adapt_compactions(struct rocks *rocks)
{
    uint64_t written = atomic_load_explicit(&rocks->written, memory_order_relaxed);
    bool much = written - rocks->merging.written > little_bytes;
    rocks->merging.written = written;
    rocksdb_t *db = gate_enter(&rocks->gate);
    if (db == NULL) {
        return;
    }
    bool eagerly = !much && (rocks->merging.eagerly || rocks_number(db, ROCKS_NEWEST_FILES) > 0);
    if (eagerly != rocks->merging.eagerly) {
        set_files(db, eagerly ? 1 : NEWEST_FILES);
        rocks->merging.eagerly = eagerly;
    }
    gate_leave(&rocks->gate);
}

/* Largest size of the WAL before the memtable is flushed. Each commit takes at least one block of
 * the WAL, so a single client that writes small items would make the WAL very long before the
 * memtable is full, and a start after a crash would have to read all of it. */
static const uint64_t wal_bytes_max = (uint64_t)256 << 20;

void rocks_limit_wal(struct rocks *rocks)
{
    uint64_t bytes = atomic_load_explicit(&rocks->wal_bytes, memory_order_relaxed);
    if (bytes <= wal_bytes_max || bytes == rocks->merging.flushed_wal_bytes) {
        return;
    }
    rocksdb_t *db = gate_enter(&rocks->gate);
    if (db != NULL) {
        if (rocks_flush_memtable(db)) {
            rocks->merging.flushed_wal_bytes = bytes; /* the next segment releases the old ones */
        }
        gate_leave(&rocks->gate);
    }
}
