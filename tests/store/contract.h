/* tests/store/contract.h: test cases for the rules at the top of store/store.h, which every store
 * must keep. contract_test.c runs all of them with all variants. */
#ifndef GRAMME_TESTS_STORE_CONTRACT_H
#define GRAMME_TESTS_STORE_CONTRACT_H

#include "support.h"

struct contract_case {
    const char *name; /* NULL ends a list */
    void (*run)(struct fixture *fixture);
};

extern const struct contract_case update_cases[];
extern const struct contract_case read_cases[];
extern const struct contract_case range_cases[];
extern const struct contract_case append_cases[];
extern const struct contract_case drop_cases[];
extern const struct contract_case time_cases[];
extern const struct contract_case life_cases[];

#endif
