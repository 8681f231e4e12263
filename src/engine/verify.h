/* engine/verify.h: checks the rows of a whole store for consistency: tables and their descriptions,
 * items and the rows that are derived from them (index entries, sizes, item collections, expiry),
 * streams, idempotency tokens. For a store that no engine uses.
 *
 * The caller adds all rows in the order of their keys: once and, if items and derived rows differ,
 * a second time, so that the rows can be named. */
#ifndef GRAMME_ENGINE_VERIFY_H
#define GRAMME_ENGINE_VERIFY_H

#include "base/arena.h"

struct verifier;

/* One finding. Pointers are valid until the callback returns. */
struct verify_finding {
    bool is_harmless;
    struct str table; /* its name; empty: no table */
    const char *text; /* a sentence */
    uint64_t count;   /* number of occurrences; only the first few are reported one by one */
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

/* Creates a verifier; `seed` is that of the store. */
MUST_USE struct verifier *verifier_create(uint64_t seed, verify_report *report, void *context);
/* Frees it. */
void verifier_destroy(struct verifier *verifier);
/* Adds the next row. */
void verifier_add(struct verifier *verifier, struct str key, struct str value);
/* Ends a pass over all rows. Returns whether a second pass is needed. */
MUST_USE bool verifier_end_pass(struct verifier *verifier);
/* Describes a space for messages, from the rows so far: `items of table "orders"`. */
struct str verifier_describe_space(struct verifier *verifier, uint32_t space, struct arena *arena);
/* Returns the counts so far. */
void verifier_totals(const struct verifier *verifier, struct verify_totals *out);

#endif
