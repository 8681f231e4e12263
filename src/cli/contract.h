/* cli/contract.h: declared access patterns: a file with the access patterns that a program may use,
 * against which a test run is checked. docs/patterns.md describes the file. */
#ifndef GRAMME_CLI_CONTRACT_H
#define GRAMME_CLI_CONTRACT_H

#include <stdio.h>

#include "cli/insight_client.h"

/* One declared pattern. */
struct declared {
    struct str id; /* empty: not given */
    struct str text;
    bool may_scan;
    double units_max;      /* of one call; < 0: no limit, as the next two */
    double items_read_max; /* by one call */
    double read_per_returned_max;
    bool is_seen;    /* a call of it succeeded */
    bool has_failed; /* calls of it were seen, and each failed */
    struct declared *next;
};

struct contract {
    struct declared *patterns;
};

/* The result for one pattern, declared or seen. */
struct verdict {
    struct str table;
    struct str text;
    struct str problem; /* STR_NULL: it is as declared */
    bool is_missing;    /* declared, but not seen */
    struct verdict *next;
};

struct contract_report {
    struct verdict *verdicts;
    size_t count;
    size_t failed_count;
    size_t missing_count;
};

/* Reads the file. ERR_VALIDATION says what is wrong with it. */
MUST_USE bool contract_read(struct contract *contract, struct arena *arena, const char *path,
                            struct err *err);
/* Writes a contract that the seen patterns satisfy. `patterns` is an answer of the insight API. */
void contract_record(const struct json_node *patterns, FILE *out);
/* Compares the seen patterns with the contract. The report lives in `arena`. `table`: `patterns`
 * has only those of this table, and declared patterns of others are left out; NULL: of all tables.
 * `requires_all`: a declared pattern of which no call succeeded is a violation. */
void contract_check(struct contract *contract, const struct json_node *patterns, const char *table,
                    bool requires_all, struct arena *arena, struct contract_report *out);
/* Prints the report as text; `arena` is for texts that a terminal may show. */
void contract_print(const struct contract_report *report, struct arena *arena, FILE *out);
/* Writes the report as JUnit XML to a file. False: *err says why. */
MUST_USE bool contract_write_junit(const struct contract_report *report, const char *path,
                                   struct err *err);

#endif
