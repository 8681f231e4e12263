/* bench/limit_rows_internal.h: the rows that a PutItem of a new item writes, written to RocksDB
 * alone: the item, its entry in each index, and two counters for the table and each index, once per
 * commit. See docs/internals/formats.md. */
#ifndef GRAMME_BENCH_LIMIT_ROWS_INTERNAL_H
#define GRAMME_BENCH_LIMIT_ROWS_INTERNAL_H

#include "bench/options_internal.h"

struct limit_rows;

/* Creates a database under options->directory; limit_rows_close() deletes it. */
MUST_USE bool limit_rows_open(const struct bench_options *options, struct limit_rows **out,
                              struct err *err);
/* Closes and deletes the database. Accepts NULL. */
void limit_rows_close(struct limit_rows *rows);
/* Adds one item to the batch. */
void limit_rows_put(struct limit_rows *rows);
/* Writes the batch with one fsync. */
MUST_USE bool limit_rows_commit(struct limit_rows *rows, struct err *err);

#endif
