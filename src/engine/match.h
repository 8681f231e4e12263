/* engine/match.h: compares two sets of rows that come in different orders and do not fit into
 * memory: the rows that are derived from items, and the rows in the store.
 *
 * In a first pass each side adds a hash of each row to the sum of the bucket of its key. If sums
 * differ, a second pass keeps the rows of those buckets only and compares them one by one. */
#ifndef GRAMME_ENGINE_MATCH_H
#define GRAMME_ENGINE_MATCH_H

#include "base/arena.h"

struct match;
enum match_side { MATCH_EXPECTED, MATCH_FOUND };

/* A difference that the second pass reports; a row is STR_NULL if that side has none. */
struct match_difference {
    struct str key;
    struct str expected;
    struct str found;
};
typedef void match_report(void *context, const struct match_difference *difference);

/* Creates an empty comparison. */
MUST_USE struct match *match_create(void);
/* Frees it. Accepts NULL. */
void match_destroy(struct match *match);
/* Adds a row of one side. In the second pass the same rows must be added again. */
void match_add(struct match *match, enum match_side side, struct str key, struct str value);
/* Ends the first pass: returns whether the sides are equal. */
MUST_USE bool match_is_equal(const struct match *match);
/* Begins the second pass. Keeps at most `bytes_max` bytes of rows; rows that do not fit are not
 * compared, and match_is_incomplete() returns true. */
void match_start_second_pass(struct match *match, size_t bytes_max);
/* Ends the second pass: reports differences in the order of keys. Rows of one side with the same
 * key are compared in their order. */
void match_compare(struct match *match, match_report *report, void *context);
/* Returns whether rows were left out of the second pass for lack of memory. */
MUST_USE bool match_is_incomplete(const struct match *match);

#endif
