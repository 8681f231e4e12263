/* How eagerly RocksDB merges. A read looks into each file of the newest level, but into only one of
 * each level below. To merge a file down costs several times its bytes: while much
 * is written RocksDB waits for a few of them, while little is it need not. */
#include <stdio.h>

#include "store/rocks/rocks_internal.h"

/* By a second, see rocks_sweeper_main(). */
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

/* To change an option holds up writers for some milliseconds: only if there is something to gain.
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
    bool eagerly = !much && (rocks->merging.eagerly || rocks_number(db, ROCKS_NEWEST_FILES) > 0);
    if (eagerly != rocks->merging.eagerly) {
        set_files(db, eagerly ? 1 : NEWEST_FILES);
        rocks->merging.eagerly = eagerly;
    }
    gate_leave(&rocks->gate);
}

/* Each commit takes at least a block of the log. A store with one client that writes small items
 * would therefore fill it long before it fills a memtable, and a start after a crash would have to
 * read all of it. */
static const uint64_t log_bytes_max = (uint64_t)256 << 20;

void rocks_limit_log(struct rocks *rocks)
{
    uint64_t bytes = atomic_load_explicit(&rocks->log_bytes, memory_order_relaxed);
    if (bytes <= log_bytes_max || bytes == rocks->merging.flushed_log_bytes) {
        return;
    }
    rocksdb_t *db = gate_enter(&rocks->gate);
    if (db != NULL) {
        if (rocks_flush_tables(db)) {
            rocks->merging.flushed_log_bytes = bytes; /* it shrinks when the next segment begins */
        }
        gate_leave(&rocks->gate);
    }
}
