/* engine/match.h: whether two sets of rows are the same, although they come in different orders and
 * do not fit into memory: the rows that items imply and the rows that are there.
 *
 * In a first pass each side adds a hash of each row to the sum of the bucket of its key. If sums
 * differ, a second pass keeps the rows of those buckets only and compares them one by one. */
#ifndef GRAMME_ENGINE_MATCH_H
#define GRAMME_ENGINE_MATCH_H

#include "base/arena.h"

struct match;
enum match_side { MATCH_EXPECTED, MATCH_FOUND };

/* What the second pass tells of a key. Rows are STR_NULL where that side has none. */
struct match_difference {
    struct str key;
    struct str expected;
    struct str found;
};
typedef void match_report(void *context, const struct match_difference *difference);

MUST_USE struct match *match_create(void);
void match_destroy(struct match *match); /* accepts NULL */
/* A row of one side. In the second pass the same rows must come again. */
void match_add(struct match *match, enum match_side side, struct str key, struct str value);
/* Ends the first pass: whether the sides are equal. */
MUST_USE bool match_is_equal(const struct match *match);
/* Begins the second pass. At most `bytes_max` of rows are kept; of what does not fit nothing is
 * told but match_is_incomplete(). */
void match_start_second_pass(struct match *match, size_t bytes_max);
/* Ends it: reports differences in order of keys. A key that a side has several times is compared in
 * order. */
void match_compare(struct match *match, match_report *report, void *context);
MUST_USE bool match_is_incomplete(const struct match *match);

#endif
