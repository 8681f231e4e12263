/* engine/copy_internal.h: what copy.c and copy_compare.c share. */
#ifndef GRAMME_ENGINE_COPY_INTERNAL_H
#define GRAMME_ENGINE_COPY_INTERNAL_H

#include "base/buf.h"
#include "engine/copy.h"
#include "engine/engine_internal.h"

enum { CHUNK_ROWS = 512, COUNTERS_AT_ONCE = 64 };

#define SOURCE_UNREADABLE "the source cannot be read"
#define TARGET_UNREADABLE "the target cannot be read"
/* What to do about a target that cannot be used. */
#define EMPTY_AND_COPY                                                                             \
    "empty the target (PostgreSQL: DROP SCHEMA gramme CASCADE; RocksDB: delete the directory) "    \
    "and copy again"

struct copy;

/* Rows that are read, and written, together. */
struct chunk {
    struct copy *copy;
    struct arena arena;
    struct store_range range;
    struct store_update update;
    struct str keys[CHUNK_ROWS];
    struct str values[CHUNK_ROWS];
    size_t count;
    size_t bytes;
    struct str next; /* the first key that is not read; STR_NULL: none */
    bool is_last;
    bool done;
};

struct copy {
    struct store *source;
    struct store *target;
    const struct copy_options *options;
    struct copy_progress progress;
    struct copy_result *result;
    int64_t reported_us;
    struct waiting_mailbox *mailbox;
    struct chunk chunk;
    struct err *err;
};

/* Returns the end of all keys. */
struct str copy_last_key(void);
/* Sets the error; returns false. */
bool copy_fail(struct copy *copy, const char *what);
/* Reports the progress, at most once per interval unless `always`. */
void copy_report_progress(struct copy *copy, bool always);
/* Reads rows from the key `from` on into copy->chunk, without counters and the cursor. */
MUST_USE bool copy_read_chunk(struct copy *copy, struct store *store, struct str from);
/* Reads the first row between two keys into copy->chunk, if there is one. */
MUST_USE bool copy_read_first(struct copy *copy, struct store *store, struct str lo, struct str hi);

/* Some counters, as they are in both stores. */
struct copy_counters {
    struct str keys[COUNTERS_AT_ONCE];
    size_t count;
    struct store_count source[COUNTERS_AT_ONCE];
    struct store_count target[COUNTERS_AT_ONCE];
};
/* Reads the counters of all spaces in groups of at most COUNTERS_AT_ONCE and calls `visit` with
 * each group; stops if it returns false. */
MUST_USE bool copy_each_counter(struct copy *copy,
                                bool (*visit)(struct copy *copy,
                                              const struct copy_counters *counters));

/* copy_compare.c: reads both stores and compares rows, counters, and what each table has. Fills in
 * *out and calls options->table. */
MUST_USE bool copy_compare(struct copy *copy, struct copy_result *out);

#endif
