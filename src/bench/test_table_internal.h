/* bench/test_table_internal.h: the table that is measured and what its items look like.
 *
 * Items are numbered. Item n is in partition n / per_partition, has n as its sort key, ten fields
 * of random text as YCSB's records have (one field if it is small), a counter, and for each index
 * an owner; `made` is the sort key of all indexes. Every number in a key is written with a fixed
 * width, so that a prepared request only needs its digits changed. */
#ifndef GRAMME_BENCH_TEST_TABLE_INTERNAL_H
#define GRAMME_BENCH_TEST_TABLE_INTERNAL_H

#include "bench/options_internal.h"
#include "bench/target_internal.h"

enum {
    KEY_WIDTH = 16,
    OWNER_WIDTH = 10,
    SHAPE_GSI_MAX = 10,
};
/* `made` of item n is this plus n, so that it has as many digits for all. */
#define MADE_BASE ((uint64_t)1000000000000000)

struct test_table {
    struct str name;
    uint64_t item_count;
    size_t item_bytes;
    int gsi_count;
    uint64_t per_partition; /* more than 1 MB, so that a page of a partition is full */
    uint64_t owner_count;
    int field_count;
    size_t field_bytes;
};

/* Derives the sizes from the options. The name of the table is allocated from `arena`. */
void test_table_init(struct test_table *table, const struct bench_options *options,
                     struct arena *arena);

/* Creates the table unless it exists, and waits until it is active. */
MUST_USE bool test_table_create(const struct test_table *table, const struct target *target,
                                struct err *err);
/* Deletes the table if it exists, and waits until it is gone. */
MUST_USE bool test_table_delete(const struct test_table *table, const struct target *target,
                                struct err *err);
/* Sets *out: whether the table is loaded, that is, whether item 0 exists: loading writes it
 * last. */
MUST_USE bool test_table_is_loaded(const struct test_table *table, const struct target *target,
                                   bool *out, struct err *err);

#endif
