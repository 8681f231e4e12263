/* bench/tally_internal.h: counts of errors by name. */
#ifndef GRAMME_BENCH_TALLY_INTERNAL_H
#define GRAMME_BENCH_TALLY_INTERNAL_H

#include "base/str.h"

enum { TALLY_KINDS_MAX = 16, TALLY_NAME_MAX = 64 };

struct tally {
    struct {
        char name[TALLY_NAME_MAX];
        uint64_t count;
    } kinds[TALLY_KINDS_MAX];
    size_t kind_count;
};

/* Counts an error. Long names are cut; when there are too many kinds, further ones count as the
 * last one, "others". */
void tally_add(struct tally *tally, struct str name, uint64_t count);
/* Adds all counts of `from` to `into`. */
void tally_merge(struct tally *into, const struct tally *from);
/* Returns the number of errors. */
MUST_USE uint64_t tally_total(const struct tally *tally);

#endif
