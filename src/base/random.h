/* base/random.h: random numbers. random_system() asks the operating system: for seeds and for ids
 * that must not be guessed. struct random is a fast generator seeded from it: for request ids,
 * samples and tests. Not for secrets. */
#ifndef GRAMME_BASE_RANDOM_H
#define GRAMME_BASE_RANDOM_H

#include "base/base.h"

/* Fills `bytes` with random bytes of the operating system. Any thread. */
void random_system(void *bytes, size_t count);

struct random {
    uint64_t state[2];
};

/* Seeds the generator from the operating system. One thread at a time uses a generator. */
void random_init(struct random *random);
/* Seeds the generator so that it repeats the same numbers: for tests. */
void random_init_seed(struct random *random, uint64_t seed);
/* Returns the next 64 random bits. */
uint64_t random_next(struct random *random);

#define UUID_TEXT_LEN 36
/* Writes a version 4 UUID in lower case, without a NUL. */
void random_uuid(char out[UUID_TEXT_LEN]);

#endif
