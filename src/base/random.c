/* Random numbers: getrandom() for seeds, ids and secrets, and xorshift128+ for the fast generator,
 * which is not for secrets. Any thread; a fast generator belongs to one thread. */
#include "base/random.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

void random_system(void *bytes, size_t count)
{
    char *at = bytes;
    while (count > 0) {
        ssize_t got = getrandom(at, count, 0);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            perror("gramme: getrandom");
            abort();
        }
        at += got;
        count -= (size_t)got;
    }
}

void random_init(struct random *random)
{
    random_system(random->state, sizeof(random->state));
    random->state[0] |= 1; /* xorshift never leaves the state of all zeros */
}

void random_init_seed(struct random *random, uint64_t seed)
{
    random->state[0] = seed * 0x9E3779B97F4A7C15u + 1;
    random->state[1] = (seed ^ 0xD1B54A32D192ED03u) | 1;
    for (int i = 0; i < 8; i++) {
        random_next(random);
    }
}

/* xorshift128+ */
uint64_t random_next(struct random *random)
{
    uint64_t a = random->state[0];
    uint64_t b = random->state[1];
    random->state[0] = b;
    a ^= a << 23;
    a ^= a >> 17;
    a ^= b ^ (b >> 26);
    random->state[1] = a;
    return a + b;
}

void random_uuid(char out[UUID_TEXT_LEN])
{
    static const char hex[] = "0123456789abcdef";
    uint8_t bytes[16];
    random_system(bytes, sizeof(bytes));
    bytes[6] = (uint8_t)((bytes[6] & 0x0F) | 0x40);
    bytes[8] = (uint8_t)((bytes[8] & 0x3F) | 0x80);
    for (size_t i = 0, at = 0; i < sizeof(bytes); i++) {
        if (i == 4 || i == 6 || i == 8 || i == 10) {
            out[at++] = '-';
        }
        out[at++] = hex[bytes[i] >> 4];
        out[at++] = hex[bytes[i] & 15];
    }
}
