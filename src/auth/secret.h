/* auth/secret.h: memory for secret keys: not in core dumps, not in swap if the system allows, and
 * overwritten before it is freed. */
#ifndef GRAMME_AUTH_SECRET_H
#define GRAMME_AUTH_SECRET_H

#include "base/str.h"

/* An arena of such memory; {0} is an empty one. Belongs to one thread at a time. */
struct secret_block;
struct secret_arena {
    struct secret_block *blocks;
};

/* `size` zeroed bytes, aligned for any type, valid until secret_arena_finish(). */
MUST_USE void *secret_alloc(struct secret_arena *arena, size_t size);
MUST_USE struct str secret_copy(struct secret_arena *arena, struct str text);
/* Overwrites and frees all. */
void secret_arena_finish(struct secret_arena *arena);

/* Overwrites bytes that held a secret. The compiler does not leave it out. */
void secret_erase(void *bytes, size_t size);

/* The value of an environment variable as a copy in `arena`; STR_NULL if it is not set. Overwrites
 * the original, so that neither a core dump nor /proc/PID/environ has it. */
MUST_USE struct str secret_take_environment(struct secret_arena *arena, const char *name);

#endif
