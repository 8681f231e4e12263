/* engine/verify.h: checks the rows of a whole store against each other: tables and their
 * descriptions, items and what follows from them (index entries, sizes, item collections, expiry),
 * streams, idempotency tokens. For a store that no engine has open.
 *
 * All rows are given in order of their keys: once, and if that shows a difference between items and
 * what follows from them, once more, so that the rows concerned can be named. */
#ifndef GRAMME_ENGINE_VERIFY_H
#define GRAMME_ENGINE_VERIFY_H

#include "base/arena.h"

struct verifier;

/* One finding. Pointers live until the callback returns. */
struct verify_finding {
    bool is_harmless;
    struct str table; /* its name; empty: of no table */
    const char *text; /* a sentence */
    uint64_t count;   /* so many times in all; then `text` is that of the first few */
};
typedef void verify_report(void *context, const struct verify_finding *finding);

struct verify_totals {
    uint64_t rows;
    uint64_t tables;
    uint64_t items;
    uint64_t index_entries;
    uint64_t stream_records;
    uint64_t earlier_versions; /* of items: engine/history.h */
};

MUST_USE struct verifier *verifier_create(uint64_t seed, verify_report *report, void *context);
void verifier_destroy(struct verifier *verifier);
/* The next row. */
void verifier_add(struct verifier *verifier, struct str key, struct str value);
/* After all rows: true if they must all be given again, from the first. After the second time it is
 * always false. */
MUST_USE bool verifier_end_pass(struct verifier *verifier);
/* What the space of a row is for, as far as the rows so far tell: `items of table "orders"`. */
struct str verifier_describe_space(struct verifier *verifier, uint32_t space, struct arena *arena);
void verifier_totals(const struct verifier *verifier, struct verify_totals *out);

#endif
