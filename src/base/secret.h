/* base/secret.h: memory for secrets: excluded from core dumps, locked in RAM if the system allows
 * it, and overwritten before it is freed. */
#ifndef GRAMME_BASE_SECRET_H
#define GRAMME_BASE_SECRET_H

#include "base/str.h"

/* An arena of such memory; {0} is an empty one. One thread at a time may use it. */
struct secret_block;
struct secret_arena {
    struct secret_block *blocks;
};

/* Returns `size` zeroed bytes, aligned for any type, valid until secret_arena_finish(). */
MUST_USE void *secret_alloc(struct secret_arena *arena, size_t size);
/* Returns a copy of `text` in the arena, followed by a NUL, valid until secret_arena_finish(). */
MUST_USE struct str secret_copy(struct secret_arena *arena, struct str text);
/* Overwrites and frees all memory of the arena, which is empty afterwards. */
void secret_arena_finish(struct secret_arena *arena);

/* Overwrites bytes that held a secret, in a way that the compiler cannot optimize out. */
void secret_erase(void *bytes, size_t size);

/* Returns a copy of an environment variable's value in `arena`, or STR_NULL if it is not set.
 * Overwrites the original, so that neither a core dump nor /proc/PID/environ contains it. Not
 * safe while another thread reads the environment. */
MUST_USE struct str secret_take_environment(struct secret_arena *arena, const char *name);

#endif
