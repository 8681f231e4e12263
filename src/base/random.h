/* base/random.h: randomness of two kinds: from the system, for seeds and ids that must not be
 * guessed; and a fast generator that is seeded from it, for request ids and the like. */
#ifndef GRAMME_BASE_RANDOM_H
#define GRAMME_BASE_RANDOM_H

#include "base/base.h"

/* Fills `bytes` from the operating system. */
void random_system(void *bytes, size_t count);

struct random {
    uint64_t state[2];
};

void random_init(struct random *random);
/* Repeats itself for the same seed: for tests. */
void random_init_seed(struct random *random, uint64_t seed);
uint64_t random_next(struct random *random);

#define UUID_TEXT_LEN 36
/* A version 4 UUID in lower case, without a NUL. */
void random_uuid(char out[UUID_TEXT_LEN]);

#endif
